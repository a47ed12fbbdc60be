"""Alignment -> Solve: a Cholesky factor of G + shift, made of the rows of A and B without G (src/kernels/cholesky.cpp).

Samples are ordered by nested dissection into a tree of dense fronts. Fronts that do not stand above each other are
eliminated by different threads; a large one that stands alone is shared by all of them, some columns each. What a front
holds does not depend on who made it: the same bits for any number of threads.

On Swiss rolls the factor has as many entries as with METIS' order, and less than half of those that SuperLU keeps.
"""

import logging
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from hne._kernels import Factor
from hne._runtime.progress import step
from hne._runtime.threads import map_blocks
from hne.core.eigen.alignment import Alignment
from hne.core.records import INT32_MAX, FloatArray, Solve

logger = logging.getLogger("hne")

THREAD_NAME = "hne factorization"
PAUSE = 0.1  # seconds between two looks at the other threads
# Samples of a part that is not cut any further: 64, 128 and 200 differ by a tenth on rolls of 1 000 to 20 000 samples.
LEAF = 64
# A subtree is one task if it has at most this share of all operations, and at most, and at least, so many: .01 to .5 s.
TASK_SHARE, TASK_OPERATIONS, MIN_OPERATIONS = 1 / 16, 5e9, 5e7
# Operations of a front that threads share, if nothing else is left to do; columns of a panel, and of a tile.
SHARED_OPERATIONS, PANEL, TILE = 5e7, 48, 8
# Samples up to which one thread is done before others have begun: a solve takes 1 ms.
ALONE = 1_500
# Right sides that a thread solves for at a time.
LANES = 8


class NotPositiveDefiniteError(RuntimeError):
    """The factorization met a pivot that is not positive."""


class Cholesky:
    """An order of the samples, the tree of fronts, and the factor of G + shift once it is made."""

    def __init__(self, alignment: Alignment, n_threads: int) -> None:
        self._n_threads = n_threads
        self._is_given_up = np.zeros(1, dtype=np.int32)
        parts = [part for matrix in (alignment.A, alignment.B) for part in _by_rows_and_columns(matrix)]
        arguments: Any = (alignment.gamma, *parts, LEAF, self._is_given_up)
        self._is_small = alignment.n_samples <= ALONE
        if self._is_small:
            self._factor = Factor(*arguments)
        else:
            with self._threads() as pool:
                self._factor = _awaited(pool.submit(Factor, *arguments))
        n_nodes = self._factor.n_nodes
        self._parents, self._widths, heights = (np.empty(n_nodes, dtype=np.int32) for _ in range(3))
        self._factor.describe(self._parents, self._widths, heights)
        own, rest = self._widths.astype(np.float64), (heights - self._widths).astype(np.float64)
        self.entries = float((own * (own / 2 + rest)).sum())
        self._operations, self._heights = own**3 / 3 + own**2 * rest + own * rest**2, heights

    def factorize(self, shift: float) -> None:
        """Make the factor of G + shift, or raise NotPositiveDefiniteError."""
        step("factorization", 0, 100)
        if self._is_small:
            last = len(self._parents) - 1
            _check(is_positive=self._factor.eliminate(0, last, shift, self._is_given_up))
            return
        tasks = Tasks(self._parents, self._operations)
        running: dict[Future[bool], int] = {}
        with self._threads() as pool:
            while tasks.ready or running:
                if len(tasks.ready) == 1 and not running and tasks.is_shared[tasks.ready[0]]:
                    node = tasks.ready.popleft()
                    tasks.finish(node, is_positive=self._eliminate_together(node, shift, pool))
                while tasks.ready and len(running) < self._n_threads:
                    node = tasks.ready.popleft()
                    begin = int(tasks.first[node])
                    running[pool.submit(self._factor.eliminate, begin, node, shift, self._is_given_up)] = node
                for future in wait(running, PAUSE, FIRST_COMPLETED).done:
                    tasks.finish(running.pop(future), is_positive=future.result())

    def _eliminate_together(self, node: int, shift: float, pool: ThreadPoolExecutor) -> bool:
        """Eliminate one front on all threads."""
        self._factor.assemble(node, shift)
        width, height = int(self._widths[node]), int(self._heights[node])
        packed = np.empty(PANEL * (height + TILE))
        for panel in range(0, width, PANEL):
            if not self._factor.clear(node, panel, packed):
                return False
            rest = height - min(panel + PANEL, width)
            # Columns get shorter: of a triangle, equal areas.
            shares = 1 - np.sqrt(np.linspace(1, 0, 2 * self._n_threads + 1))
            edges = np.unique(np.append(np.round(shares[:-1] * rest / TILE).astype(int) * TILE, rest)).tolist()
            for future in [pool.submit(self._factor.subtract, node, panel, packed, *part) for part in pairwise(edges)]:
                _awaited(future)
        return True

    def keep_factor(self) -> None:
        """Let go of what only another factorization would need."""
        self._factor.keep_factor()

    def solve(self, block: FloatArray) -> FloatArray:
        """(G + shift)^-1 times the block."""
        right = np.ascontiguousarray(block)
        solution = np.empty_like(right)
        starts = range(0, right.shape[1], LANES)
        n_threads = 1 if self._is_small else self._n_threads
        for _ in map_blocks(lambda first: self._factor.solve(right, solution, first), starts, n_threads):
            pass
        return solution

    @contextmanager
    def _threads(self) -> Iterator[ThreadPoolExecutor]:
        """Threads that end at their next panel when an interrupt comes."""
        pool = ThreadPoolExecutor(self._n_threads, THREAD_NAME)
        try:
            yield pool
        except BaseException:
            self._is_given_up[0] = 1
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            self._is_given_up[0] = 0


class Tasks:
    """Which nodes can be eliminated: whole subtrees that are small, and above them one by one."""

    def __init__(self, parents: NDArray[np.int32], operations: FloatArray) -> None:
        self._parents, self._operations, self._done = parents, operations, 0.0
        total, has_parent = float(operations.sum()), parents >= 0
        below, self.first = operations.copy(), np.arange(len(operations))
        for node in np.flatnonzero(has_parent):
            below[parents[node]] += below[node]
            self.first[parents[node]] = min(self.first[parents[node]], self.first[node])
        is_whole = below <= max(MIN_OPERATIONS, min(TASK_OPERATIONS, TASK_SHARE * total))
        is_task = ~is_whole | ~has_parent | ~is_whole[np.where(has_parent, parents, -1)]
        self._share = np.where(is_whole, below, operations) / total
        self.first[~is_whole] = np.flatnonzero(~is_whole)
        self.is_shared = ~is_whole & (operations >= SHARED_OPERATIONS)
        self._pending = np.zeros(len(operations), dtype=np.int64)
        np.add.at(self._pending, parents[is_task & has_parent], 1)
        self.ready = deque(np.flatnonzero(is_task & (is_whole | (self._pending == 0))).tolist())

    def finish(self, node: int, *, is_positive: bool) -> None:
        """Tell of a task that has ended; the one above it may be ready then."""
        _check(is_positive=is_positive)
        self._done += self._share[node]
        step("factorization", min(100, round(100 * self._done)), 100)
        parent = int(self._parents[node])
        if parent >= 0:
            self._pending[parent] -= 1
            if self._pending[parent] == 0:
                # Soon, because what its children leave is held until then.
                self.ready.appendleft(parent)


def inverted(alignment: Alignment, shifts: tuple[float, ...], n_threads: int) -> Solve:
    """A solver with G + shift, for the smallest shift, in scales of G, with which its factorization succeeds."""
    cholesky, scale = Cholesky(alignment, n_threads), float(alignment.diagonal().max())
    logger.info("factorization: n = %d, %.1e entries", alignment.n_samples, cholesky.entries)
    for shift in shifts:
        try:
            cholesky.factorize(shift * scale)
            break
        except NotPositiveDefiniteError:
            logger.info("eigenpairs: a shift of %g of the scale of G is too small", shift)
            if shift == shifts[-1]:
                raise
    cholesky.keep_factor()
    return cholesky.solve


def _by_rows_and_columns(matrix: Any) -> tuple[Any, ...]:
    """Pattern by rows, and all of it by columns, as the kernel takes them."""
    if 2 * matrix.nnz > INT32_MAX:
        msg = f"{matrix.nnz} entries are more than the factorization can number"
        raise MemoryError(msg)
    columns = csc_array(matrix)
    parts = (matrix.indptr, matrix.indices, columns.indptr, columns.indices)
    return (*(np.ascontiguousarray(part, dtype=np.int32) for part in parts), columns.data)


def _check(*, is_positive: bool) -> None:
    if not is_positive:
        msg = "a pivot is not positive"
        raise NotPositiveDefiniteError(msg)


def _awaited(future: "Future[Any]") -> Any:
    """What comes of it; an interrupt is heard meanwhile."""
    while not wait([future], PAUSE).done:
        pass
    return future.result()
