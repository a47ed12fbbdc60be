"""Threads: how many, and a map over blocks whose order and bits do not depend on it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` stands for, as scikit-learn understands it."""
    return int(effective_n_jobs(n_jobs))


def library_threads(n_threads: int) -> AbstractContextManager[object]:
    """Keep BLAS and OpenMP to that many threads; with all cores allowed, their own settings stand."""
    return threadpool_limits(n_threads) if n_threads < cpu_count() else nullcontext()


def map_blocks(task: Callable[[Item], Result], items: Sequence[Item], n_threads: int) -> Iterator[Result]:
    """Results of the task in the order of the items; tasks must not hold Python's lock to gain from threads."""
    if n_threads == 1 or len(items) <= 1:
        yield from map(task, items)
        return
    pool = ThreadPoolExecutor(min(n_threads, len(items)))
    try:
        yield from pool.map(task, items)
    finally:
        # An interrupt drops the blocks that have not begun instead of waiting for them.
        pool.shutdown(cancel_futures=True)
