"""Numbers of cases -> outcomes, in processes of their own: ended if a case takes too long, begun anew if they die."""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.fuzz.cases import KINDS, make_case
from tests.fuzz.file_cases import FILE_KINDS, make_file_case
from tests.fuzz.verdict import CRASH, HANG, Outcome, outcome_of

# Bytes of addresses that a worker may have: most of it libraries.
MEMORY = 6 * 2**30
# Importing hne and its libraries, and compiling what is not in numba's cache.
START_SECONDS = 60


# Kinds of what is tried, by its name.
TARGETS = {"inputs": KINDS, "files": FILE_KINDS, **{kind: (kind,) for kind in FILE_KINDS}}


def kind_of(number: int, target: str = "inputs") -> str:
    """Kinds take turns."""
    return TARGETS[target][number % len(TARGETS[target])]


def run(seed: int, number: int, target: str = "inputs") -> Outcome:
    """Run one case, in this process."""
    kind = kind_of(number, target)
    if target == "inputs":
        return outcome_of(make_case(kind, seed, number))
    from tests.fuzz.file_verdict import file_outcome

    return file_outcome(make_file_case(kind, seed, number))


def _work(seed: int, target: str, pipe: Connection) -> None:
    """Run the cases that come through the pipe, until it is closed."""
    if target != "inputs":
        with suppress(ImportError):  # Windows has no limits
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pipe.send(None)
    while True:
        try:
            number = pipe.recv()
        except EOFError:
            return
        pipe.send(run(seed, number, target))


@dataclass
class _Worker:
    """A process and the case that it is at."""

    seed: int
    target: str
    limit: float
    number: int | None = None
    process: Any = field(init=False)
    pipe: Connection = field(init=False)
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(self.seed, self.target, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.deadline = time.monotonic() + START_SECONDS

    def take(self, number: int) -> None:
        self.number, self.deadline = number, time.monotonic() + self.limit
        self.pipe.send(number)

    def stop(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def outcomes(
    seed: int, numbers: list[int], n_processes: int, limit: float, target: str = "inputs"
) -> Iterator[tuple[int, Outcome]]:
    """Run the cases; yields number and outcome as they come in, no case longer than `limit` seconds."""
    todo = iter(numbers)
    workers = [_Worker(seed, target, limit) for _ in range(n_processes)]
    try:
        while workers:
            ready = wait([worker.pipe for worker in workers], timeout=0.5)
            for worker in list(workers):
                story, label = None, CRASH
                if worker.pipe in ready:
                    try:
                        outcome = worker.pipe.recv()
                    except (EOFError, ConnectionError):
                        worker.process.join()
                        story = f"the interpreter died with exit status {worker.process.exitcode}"
                elif time.monotonic() > worker.deadline:
                    story, label = f"no end within {limit:g} s", HANG
                else:
                    continue
                number = worker.number
                if story is not None:
                    workers.remove(worker)
                    worker.stop()
                    worker = _Worker(seed, target, limit)  # noqa: PLW2901
                    workers.append(worker)
                    outcome = Outcome(label, story)
                    if number is None:
                        raise RuntimeError(f"a worker did not start: {story}")
                    yield number, outcome
                    continue
                if number is not None:
                    yield number, outcome
                following = next(todo, None)
                if following is None:
                    workers.remove(worker)
                    worker.stop()
                else:
                    worker.take(following)
    finally:
        for worker in workers:
            worker.stop()
