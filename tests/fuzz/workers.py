"""Numbers of cases -> outcomes, in processes of their own: ended if a case takes too long, begun anew if they die."""

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.fuzz.cases import KINDS, make_case
from tests.fuzz.verdict import OTHER, Outcome, outcome_of

# Importing hne and its libraries, and compiling what is not in numba's cache.
START_SECONDS = 60


def kind_of(number: int) -> str:
    """Kinds take turns."""
    return KINDS[number % len(KINDS)]


def run(seed: int, number: int) -> Outcome:
    """Run one case, in this process."""
    return outcome_of(make_case(kind_of(number), seed, number))


def _work(seed: int, pipe: Connection) -> None:
    """Run the cases that come through the pipe, until it is closed."""
    pipe.send(None)
    while True:
        try:
            number = pipe.recv()
        except EOFError:
            return
        pipe.send(run(seed, number))


@dataclass
class _Worker:
    """A process and the case that it is at."""

    seed: int
    limit: float
    number: int | None = None
    process: Any = field(init=False)
    pipe: Connection = field(init=False)
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(self.seed, theirs), daemon=True)
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


def outcomes(seed: int, numbers: list[int], n_processes: int, limit: float) -> Iterator[tuple[int, Outcome]]:
    """Run the cases; yields number and outcome as they come in, no case longer than `limit` seconds."""
    todo = iter(numbers)
    workers = [_Worker(seed, limit) for _ in range(n_processes)]
    try:
        while workers:
            ready = wait([worker.pipe for worker in workers], timeout=0.5)
            for worker in list(workers):
                story = None
                if worker.pipe in ready:
                    try:
                        outcome = worker.pipe.recv()
                    except (EOFError, ConnectionError):
                        worker.process.join()
                        story = f"the interpreter died with exit status {worker.process.exitcode}"
                elif time.monotonic() > worker.deadline:
                    story = f"no end within {limit:g} s"
                else:
                    continue
                number = worker.number
                if story is not None:
                    workers.remove(worker)
                    worker.stop()
                    worker = _Worker(seed, limit)  # noqa: PLW2901
                    workers.append(worker)
                    outcome = Outcome(OTHER, story)
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
