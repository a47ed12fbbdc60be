"""Threads: how many, and a map over blocks whose order and bits do not depend on it."""

import importlib
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any, TypeVar

from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

_WORKER = threading.local()  # of a thread of map_blocks: `given_up`, set when nobody waits for it any more


def thread_count(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` stands for, as scikit-learn understands it."""
    if n_jobs == 1:
        return 1
    # What joblib.effective_n_jobs does, for threads: it asks for processes, and warns in those that may have no own.
    backend, default = get_active_backend(prefer="threads")
    return int(backend.effective_n_jobs(default if n_jobs is None else n_jobs))


def checkpoint() -> None:
    """Leave a block here if an interrupt has made its result useless; long blocks come by every second or so."""
    given_up = getattr(_WORKER, "given_up", None)
    if given_up is not None and given_up.is_set():
        raise CancelledError


def map_blocks(task: Callable[[Item], Result], items: Sequence[Item], n_threads: int) -> Generator[Result, None, None]:
    """Results of the task in the order of the items; tasks must not hold Python's lock to gain from threads.

    Whoever leaves it in the middle closes it (`contextlib.closing`), which ends its threads.
    """
    if n_threads == 1 or len(items) <= 1:
        yield from map(task, items)
        return
    given_up = threading.Event()
    pool = ThreadPoolExecutor(min(n_threads, len(items)), initializer=setattr, initargs=(_WORKER, "given_up", given_up))
    try:
        yield from pool.map(task, items)
    finally:
        # An interrupt drops the blocks that have not begun, and those that have at their next checkpoint.
        given_up.set()
        pool.shutdown(cancel_futures=True)


def load_unbroken(module: str) -> ModuleType:
    """Import a module; an interrupt waits until it is whole, because half a numba stays broken for the session."""
    loaded = sys.modules.get(module)
    # Another thread may be in the middle of it: then this one waits for it, as imports do.
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return loaded
    # Interrupts are for the main thread alone.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(importlib.import_module, module).result()


class LibraryThreads:
    """Limits on the threads of BLAS and OpenMP, which the whole process shares.

    Two fits at once would each restore what they found, and the later one would find the earlier one's limit: so the
    smallest limit in force is applied, and what was there before the first is restored after the last.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_force: list[int] = []
        self._first: Any = None
        self._controller: Any = None
        self._n_modules = 0

    @contextmanager
    def at_most(self, n_threads: int) -> Iterator[None]:
        """Keep the libraries to that many threads for a while."""
        self._change(self._in_force.append, n_threads)
        try:
            yield
        finally:
            self._change(self._in_force.remove, n_threads)

    def _change(self, change: Callable[[int], None], n_threads: int) -> None:
        with self._lock:
            before = min(self._in_force, default=None)
            change(n_threads)
            if before is not None and before == min(self._in_force, default=None):
                return
            if self._in_force:
                limits = self._libraries().limit(limits=min(self._in_force))
                self._first = self._first or limits
            else:
                self._first.restore_original_limits()
                self._first = None

    def _libraries(self) -> Any:
        """All libraries with threads; looking for them takes 5 ms, so only where modules have been imported since."""
        if len(sys.modules) != self._n_modules:
            self._controller, self._n_modules = ThreadpoolController(), len(sys.modules)
        return self._controller


_LIBRARIES = LibraryThreads()


def library_threads(n_threads: int) -> AbstractContextManager[None]:
    """Keep BLAS and OpenMP to that many threads; with all of several cores allowed, their own settings stand."""
    # One is one even where there is one core: the environment may have asked for more, and bits would depend on it.
    return _LIBRARIES.at_most(n_threads) if n_threads == 1 or n_threads < cpu_count() else nullcontext()
