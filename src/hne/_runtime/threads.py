"""Threads: how many, and a map over blocks whose order and bits do not depend on it."""

import importlib
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any, TypeVar

from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

# threadpoolctl 3.8 lets only the first thread that asks set OpenBLAS, in silence; this method ends its privilege. In
# between, another thread may ask: it will have finished soon.
RELEASE, TRIES = "clear_controlling_thread", 100

# Rows of a block whose kernel takes longer than a thread does to begin, and blocks for each thread of a long call.
ROWS_AT_ONCE, MOST_BLOCKS = 2048, 8

COMPILED = tuple(EXTENSION_SUFFIXES)  # how names of files end that bring libraries with them

_WORKER = threading.local()  # of a thread of map_blocks: `given_up`, set when nobody waits for it any more


def thread_count(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` stands for; None for all cores, or the several of joblib's context."""
    if n_jobs == 1:
        return 1
    # What joblib.effective_n_jobs does, for threads: it asks for processes, and warns in those that may have no own.
    backend, in_context = get_active_backend(prefer="threads")
    if n_jobs is None:
        # joblib says 1 outside of any context, and within one that says 1.
        n_jobs = -1 if in_context in {None, 1} else in_context
    return int(backend.effective_n_jobs(n_jobs))


def raise_if_cancelled() -> None:
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


def map_rows(fill: Callable[[int, int], None], n_rows: int, n_threads: int, at_once: int | None = None) -> None:
    """Let a kernel fill the rows from one number to another, in blocks where there are many."""
    starts = range(0, n_rows, max(at_once or ROWS_AT_ONCE, -(-n_rows // (MOST_BLOCKS * n_threads))))
    for _ in map_blocks(lambda start: fill(start, min(start + starts.step, n_rows)), starts, n_threads):
        pass


@contextmanager
def row_workers(n_threads: int) -> Iterator[Callable[[Callable[[int, int], None], int, int], None]]:
    """Yield a `map_rows` for many short calls in a row, whose threads start once.

    Arguments are the kernel, the number of rows, and the smallest number of rows that is worth a thread.
    """
    with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:

        def run(fill: Callable[[int, int], None], n_rows: int, at_least: int) -> None:
            step = max(at_least, -(-n_rows // n_threads))
            if pool is None or step >= n_rows:
                fill(0, n_rows)
                return
            starts = range(0, n_rows, step)
            for future in [pool.submit(fill, start, min(start + step, n_rows)) for start in starts]:
                future.result()

        yield run


def begun(task: Callable[[], Result], n_threads: int) -> Callable[[], Result]:
    """What gives the task's result: with several threads it begins at once in one of its own, else when asked."""
    if n_threads == 1:
        return task
    pool = ThreadPoolExecutor(1)
    future = pool.submit(task)
    pool.shutdown(wait=False)
    return future.result


def load_unbroken(module: str) -> ModuleType:
    """Import a module; an interrupt waits until it is whole, because half of UMAP's numba stays broken."""
    loaded = sys.modules.get(module)
    # Another thread may be in the middle of it: then this one waits for it, as imports do.
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return loaded
    # Interrupts are for the main thread alone.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(importlib.import_module, module).result()


class LibraryThreads:
    """Limits on the threads of BLAS and OpenMP, most of which the whole process shares.

    Two fits at once would each restore what they found, and the later one would find the earlier one's limit: so the
    smallest limit in force is applied, and what was there before the first is restored after the last. OpenMP counts
    for each thread on its own: there, a thread restores what it found itself.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_force: list[int] = []
        self._shared: list[tuple[Any, int]] = []  # libraries, with their threads before the first limit
        self._libraries: list[Any] = []
        self._modules: set[str] = set()

    def look(self) -> None:
        """Look for the libraries, 10 ms at first and 2 later: where compiled modules have been imported."""
        if len(sys.modules) == len(self._modules):
            return
        new = sys.modules.keys() - self._modules
        if any(str(getattr(sys.modules[name], "__file__", "")).endswith(COMPILED) for name in new):
            self._libraries = ThreadpoolController().lib_controllers
        self._modules |= new

    @contextmanager
    def at_most(self, n_threads: int, *, openmp: bool = True) -> Iterator[None]:
        """Keep the libraries to that many threads for a while; `openmp=False` leaves those that count by thread."""
        with self._lock:
            self.look()
            by_thread = [(one, one.num_threads) for one in self._libraries if _counts_by_thread(one)]
            # Those that were loaded under a limit too.
            known = {one.filepath for one, _ in self._shared}
            new = [one for one in self._libraries if not _counts_by_thread(one) and one.filepath not in known]
            self._shared += [(one, one.num_threads) for one in new]
            self._in_force.append(n_threads)
            self._apply()
        try:
            for library, count in by_thread if openmp else []:
                library.set_num_threads(min(count, n_threads))
            yield
        finally:
            for library, count in by_thread if openmp else []:
                library.set_num_threads(count)
            with self._lock:
                self._in_force.remove(n_threads)
                self._apply()
                if not self._in_force:
                    self._shared = []

    def _apply(self) -> None:
        """Set the shared libraries to the smallest limit in force, or to what they were."""
        limit = min(self._in_force, default=None)
        for library, count in self._shared:
            wanted = count if limit is None else limit
            release = getattr(library, RELEASE, lambda **_: None)
            for _ in range(TRIES):
                if library.num_threads == wanted:
                    break
                release(force=True)
                library.set_num_threads(wanted)
                # Not to stand in the way of others, who restore what they found.
                release(force=True)


def _counts_by_thread(library: Any) -> bool:
    """Whether a limit on the library holds for the thread that sets it: OpenMP, but for Microsoft's."""
    on_openmp = getattr(library, "threading_layer", None) == "openmp" and hasattr(library, RELEASE)
    return on_openmp or (library.user_api == "openmp" and library.prefix != "vcomp")


_LIBRARIES = LibraryThreads()
look_for_libraries = _LIBRARIES.look


def limit_blas_threads(n_threads: int) -> AbstractContextManager[None]:
    """Keep BLAS and OpenMP to that many threads; with all of several cores allowed, their own settings stand."""
    # One is one even where there is one core: the environment may have asked for more, and bits would depend on it.
    return _LIBRARIES.at_most(n_threads) if n_threads == 1 or n_threads < cpu_count() else nullcontext()


def one_blas_thread() -> AbstractContextManager[None]:
    """Keep BLAS to one thread around a call that does so itself and restores what it found, and leave OpenMP.

    Without it, another fit might find the limit of that call, and restore it for good.
    """
    return _LIBRARIES.at_most(1, openmp=False)
