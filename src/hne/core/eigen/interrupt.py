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
from typing import Any, TypeVar

import numpy as np

from hne._runtime.progress import step

logger = logging.getLogger("hne")

Result = TypeVar("Result")

# Seconds between two looks at the other thread, and those it gets to end after an interrupt.
PAUSE, GRACE = 0.1, 2.0


class Watch:
    """What the thread that waits and the thread that factors know of each other."""

    def __init__(self, *, counts: bool = False) -> None:
        self.counts = counts  # whether it will be told a percentage
        self.state = np.zeros(2, dtype=np.int32)  # given up, percent done

    @property
    def percent(self) -> int:
        """How much is done."""
        return int(self.state[1])

    def give_up(self) -> None:
        """Ask the other thread to end."""
        self.state[0] = 1


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
    total = 100 if watch.counts else None
    step("factorization", 0, total)
    try:
        while not wait([future], timeout=PAUSE).done:
            if watch.percent:
                step("factorization", watch.percent, total)
    except BaseException:
        watch.give_up()
        if not wait([future], timeout=GRACE).done:
            logger.warning("factorization: interrupted, but its thread has to come to an end by itself")
        raise
    return future.result()


_HOOK_IN_USE = threading.Lock()


@contextmanager
def watched_by_mkl(library: Any, watch: Watch) -> Iterator[None]:
    """Let the watch see what MKL's factorization has done, and end it. The hook is one for the process.

    A second factorization at the same time is not watched; it ends with the first one if that is interrupted.
    """
    change = getattr(library, "mkl_set_progress", None)
    if change is None or not _HOOK_IN_USE.acquire(blocking=False):
        yield
        return
    # numba, which is loaded by now for matrices that are worth watching.
    from hne.core.eigen.mkl_hook import STATE, answer  # noqa: PLC0415

    change.restype, change.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    STATE[:], watch.state = watch.state, STATE
    before = change(answer.address)
    try:
        yield
    finally:
        change(before)
        watch.state = STATE.copy()
        _HOOK_IN_USE.release()
