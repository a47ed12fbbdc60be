"""Stages tell how far they are; whoever listens shows it.

A stage counts what it has done with `track` or `step`, from the thread that drives it. Listeners belong to the
context of one fit, so that fits in several threads do not hear each other; where nobody listens, telling costs nothing.
"""

import logging
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, TypeVar

logger = logging.getLogger("hne")
# A child, so that who logs can tell advice from all else.
advice = logging.getLogger("hne.advice")

Item = TypeVar("Item")
Record = TypeVar("Record")
Value = TypeVar("Value")

# Seconds between two counters of a task: a terminal writes over the last one, a log file keeps each.
TERMINAL_PAUSE, LOG_PAUSE = 0.2, 10.0
# Seconds of a task before its pace is worth extrapolating.
SETTLED = 1.0
# Characters of a bar on a terminal.
BAR_LENGTH = 20


class Listener:
    """Someone to tell: of each stage its begin, its tasks as they are counted, and its end with what it made."""

    def begin(self, stage: str) -> None:
        """A stage begins."""

    def step(self, task: str, done: int, total: int | None) -> None:
        """`done` of `total` steps of a task are done, None where nobody knows how many; 0 begins a task."""

    def end(self, stage: str, result: str, seconds: float) -> None:
        """The stage has made its result, in a few words, in that time."""


# What a stage has to say besides what it made; what is said outside of any is lost.
_REMARKS: ContextVar[list[str]] = ContextVar("hne_remarks", default=[])  # noqa: B039, shared by nobody who reads it
_LISTENERS: ContextVar[tuple[Listener, ...]] = ContextVar("hne_listeners", default=())
_ADVISED: ContextVar[tuple[Callable[[str], None], ...]] = ContextVar("hne_advised", default=())


@contextmanager
def bound(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Give the variable this value until the block ends."""
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)


def listening(*listeners: Listener) -> AbstractContextManager[None]:
    """Let these listeners hear, besides those who do already, what this thread's stages tell for a while."""
    return bound(_LISTENERS, (*_LISTENERS.get(), *listeners))


def mute_progress() -> AbstractContextManager[None]:
    """Let nobody hear what is told for a while: of many small problems, only how many are done is of interest."""
    return bound(_LISTENERS, ())


@contextmanager
def show_progress(verbose: int) -> Iterator[None]:
    """Show the stages on standard error: 0 not at all, 1 a line each, 2 also a line for each of their tasks."""
    if not verbose or sys.stderr is None:
        yield
        return
    lines = Lines(sys.stderr, tasks=verbose > 1)
    try:
        with listening(lines):
            yield
    finally:
        lines.close()


@contextmanager
def stage(name: str) -> Iterator[Callable[[Record], Record]]:
    """Tell of a stage, and log it: what it makes is passed through the function that this yields.

    >>> with stage("counting") as done:
    ...     numbers = done([1, 2])
    """
    listeners = _LISTENERS.get()
    for listener in listeners:
        listener.begin(name)
    start = time.perf_counter()
    remarks: list[str] = []
    records: list[Any] = [None]

    def done(record: Record) -> Record:
        records[0] = record
        return record

    with bound(_REMARKS, remarks):
        yield done
    seconds = time.perf_counter() - start
    # Records say what they are, long ones in a summary; of an array, the number of rows tells more.
    record = records[0]
    described = getattr(record, "summary", "done" if record is None else str(record))
    if hasattr(record, "shape"):
        described = f"{record.shape[0]} samples"
    result = ", ".join([described, *remarks])
    logger.info("%s: %.3f s, %s", name, seconds, result)
    for listener in listeners:
        listener.end(name, result, seconds)


def run_stage(name: str, function: Callable[..., Record], *arguments: Any) -> Record:
    """What the function makes of its arguments, as a stage."""
    with stage(name) as done:
        return done(function(*arguments))


def remark(text: str) -> None:
    """Add a few words to what is told of the stage that runs, once."""
    if text not in _REMARKS.get():
        _REMARKS.get().append(text)


def advise(text: str) -> None:
    """Log what is worth knowing and nothing wrong, and tell those who want to hear it."""
    advice.warning(text)
    for hear in _ADVISED.get():
        hear(text)


def advised(hear: Callable[[str], None]) -> AbstractContextManager[None]:
    """Let somebody hear this thread's advice for a while: at a terminal, it is read."""
    return bound(_ADVISED, (*_ADVISED.get(), hear))


def step(task: str, done: int, total: int | None = None) -> None:
    """Tell that so many steps of a task are done."""
    for listener in _LISTENERS.get():
        listener.step(task, done, total)


def track(task: str, items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """Pass the items on, and tell each time one has been dealt with."""
    step(task, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        step(task, done, total)


class Stopwatch(Listener):
    """Listener that keeps the seconds of each stage, in the order in which they ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def end(self, stage: str, result: str, seconds: float) -> None:  # noqa: ARG002
        """Add the time of the stage to what it took before."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds


class Lines(Listener):
    """A line a stage with what it made and its time; while it runs, a counter with the time that is left.

    A terminal shows one counter and writes over it; elsewhere, counters come as lines, ten seconds apart.
    """

    def __init__(self, stream: TextIO, *, tasks: bool = False) -> None:
        self._stream, self._tasks = stream, tasks
        self._is_terminal = stream.isatty()
        self._stage = self._task = self._count = ""
        self._task_began = self._last_shown = 0.0
        self._overwritten = 0

    def begin(self, stage: str) -> None:
        """Name the stage, where its line can be written over."""
        self._stage, self._last_shown = stage, time.perf_counter()
        if self._is_terminal:
            self._show_counter("...")

    def step(self, task: str, done: int, total: int | None) -> None:
        """Show the counter, unless the last one was shown a moment ago."""
        now = time.perf_counter()
        # A task goes on where one within it has ended.
        begins = done == 0 or task != self._task
        if begins:
            self._end_task(now)
            self._task, self._task_began = task, now
        self._count = f"{done} of {total}" if total else f"{done or '...'}"
        pause = TERMINAL_PAUSE if self._is_terminal else LOG_PAUSE
        if now - self._last_shown >= pause or (begins and self._is_terminal):
            self._last_shown = now
            bar, remaining = _bar(done, total, now - self._task_began) if total else ("", "")
            self._show_counter(f"{bar if self._is_terminal else ''}{task} {self._count}{remaining}")

    def end(self, stage: str, result: str, seconds: float) -> None:  # noqa: ARG002, the stage that began
        """Show the stage's line."""
        self._end_task(time.perf_counter())
        self._show_line(result, seconds)

    def close(self) -> None:
        """Leave no counter behind on the terminal, whether the fit ended well or not."""
        if self._overwritten:
            self._write("", "\r")

    def _end_task(self, now: float) -> None:
        if self._tasks and self._task:
            self._show_line(f"{self._task} {self._count}", now - self._task_began)
        self._task = ""

    def _show_counter(self, counter: str) -> None:
        text = f"hne: {self._stage:<11} {counter}"
        # A line that wraps cannot be written over.
        most = shutil.get_terminal_size().columns - 1 if self._is_terminal else len(text)
        self._write(text[:most], "" if self._is_terminal else "\n")

    def _show_line(self, text: str, seconds: float) -> None:
        # A name that is longer takes its room from what stands behind it.
        named = f"{self._stage:<11} {text}"
        self._write(f"hne: {named:<64} {duration(seconds):>10}", "\n")

    def _write(self, text: str, end: str) -> None:
        """Write over what the terminal shows; `end` is empty for what will be written over itself."""
        text = one_line(text)
        back = "\r" if self._is_terminal else ""
        self._stream.write(f"{back}{text.ljust(self._overwritten)}{end}")
        self._stream.flush()
        self._overwritten = len(text) if not end else 0


def _bar(done: int, total: int, seconds: float) -> tuple[str, str]:
    """A bar as full as the task is done; the share done, and the time left at the pace so far.

    >>> _bar(5, 10, 3.0)
    ('[##########----------] ', ', 50 %, 3.0 s left')
    """
    full = BAR_LENGTH * min(done, total) // total
    left = f", {duration(seconds * (total - done) / done)} left" if done and seconds >= SETTLED else ""
    return f"[{'#' * full}{'-' * (BAR_LENGTH - full)}] ", f", {100 * done // total} %{left}"


def one_line(text: str) -> str:
    r"""The text without line breaks and other control characters, which a file may have smuggled in.

    >>> one_line("a\x1b[31m\nb")
    'a [31m b'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(0.62), duration(3725)
    ('0.6 s', '62 min 05 s')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
