"""Factorizations that Ctrl-C ends: C runs in a thread of its own, while this one waits and hears the interrupt.

Python hears of an interrupt when C returns, which a factorization does after minutes. Waiting for another thread is
different: the interrupt arrives at once. MKL then asks, many times a second, whether to go on (except while it orders
the matrix, before the first question); SuperLU never asks, and its thread works to its end with nobody waiting.
"""

import ctypes
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from hne._progress import step

logger = logging.getLogger("hne")

Result = TypeVar("Result")

# Seconds between two looks at the other thread, and those it gets to end after an interrupt.
PAUSE, GRACE = 0.1, 2.0


@dataclass
class Watch:
    """What the thread that waits and the thread that factors know of each other."""

    percent: int | None = None  # None where nobody tells
    given_up: bool = False


def in_background(function: Callable[[], Result]) -> "Future[Result]":
    """Result to come of a function that begins now in a thread of its own.

    The interpreter waits for it at its exit: C that calls back into a Python which is no more would crash.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001, whatever it is, the one who waits gets it
            future.set_exception(error)

    threading.Thread(target=run, name="hne factorization").start()
    return future


def waited(future: "Future[Result]", watch: Watch) -> Result:
    """Result of a factorization in the background, counted while it runs, given up on an interrupt."""
    total = None if watch.percent is None else 100
    step("factorization", 0, total)
    try:
        while not wait([future], timeout=PAUSE).done:
            if watch.percent:
                step("factorization", watch.percent, total)
    except BaseException:
        watch.given_up = True
        if not wait([future], timeout=GRACE).done:
            logger.warning("factorization: interrupted, but its thread has to come to an end by itself")
        raise
    return future.result()


# int progress(int *thread, int *step, char *stage, int length): anything but 0 makes MKL return.
_PROGRESS = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int), ctypes.c_void_p, ctypes.c_int
)
# Who asks: PARDISO itself, in percent, and on all its threads the dense routine that it spends its time in.
_PARDISO, _DENSE = b"Pardiso", b"DPOTRF"


class ProgressHook:
    """MKL's hook for progress, one for the process: set while somebody factors, it finds whom by the calling thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[int, Watch] = {}
        self._function = _PROGRESS(self._asked)
        self._before: Any = None

    @contextmanager
    def watched(self, library: Any, watch: Watch) -> Iterator[None]:
        """Let the watch see what this thread's calls of the library have done, and end them."""
        change = getattr(library, "mkl_set_progress", None)
        if change is None:  # a library that does not ask
            yield
            return
        change.restype, change.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        caller = threading.get_ident()
        with self._lock:
            if not self._watches:
                self._before = change(ctypes.cast(self._function, ctypes.c_void_p))
            self._watches[caller] = watch
        try:
            yield
        finally:
            with self._lock:
                del self._watches[caller]
                if not self._watches:
                    change(self._before)

    def _asked(self, _thread: Any, done: Any, stage: int, length: int) -> int:
        watch, asker = self._watches.get(threading.get_ident()), ctypes.string_at(stage, length)
        if watch is None:
            # A thread of MKL's own would finish its share, as long as all the rest: it ends when nobody waits for any.
            everyone = list(self._watches.values())
            return int(asker.startswith(_DENSE) and bool(everyone) and all(one.given_up for one in everyone))
        if asker.startswith(_PARDISO):
            watch.percent = done[0]
        return int(watch.given_up)


PROGRESS_HOOK = ProgressHook()
