"""The walk over blocks of targets: local sets, local Gram matrices, inner weights, joint weights.

Rows are independent of each other, so the result has the same bits for any block size and any number of
threads. Two kernels compute a block: NumPy batches, and their numba twin for work worth its start.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hne._runtime.progress import track
from hne._runtime.threads import limit_blas_threads, load_unbroken, map_blocks, raise_if_cancelled
from hne.core.records import FloatArray, IndexArray, NeighborGraph, Settings, SparseMatrix, Weights, index_kind
from hne.core.samples.kinds import (
    Samples,
    difference_width,
    gram_of_differences,
    is_dense,
)
from hne.exceptions import InputError

logger = logging.getLogger("hne")

KERNELS = {"numpy": "hne.core.weights.batch", "numba": "hne.core.weights.numba_rows"}
# Work is counted in entries of outer lists, n k^2 (BHNE visits them about three times), near 0.5 us each in
# NumPy: this is where batches take as long as numba does to load from its cache and compute, 0.6 s.
NUMBA_MIN_WORK = 1_200_000
BLOCK_BYTES = 2**24
MAX_BLOCK = 2048
# How many times as wide as there are samples a window may be in which they are marked rather than sorted.
MAX_WINDOW = 8
# An array that is full grows by this factor: larger ones leave more memory unused.
GROWTH = 1.2

# Inner weights (b, k) of a block, and its joint weights: values, columns, number a row.
BlockWeights = tuple[FloatArray, FloatArray, IndexArray, IndexArray]


def layer_weights(
    X: Samples, graph: NeighborGraph, settings: Settings, kernel: str | None = None, n_threads: int = 1
) -> Weights:
    """Weights with which both layers of neighbors rebuild every sample of X."""
    return layer_weights_of_all(X, graph, [settings], kernel, n_threads)[0]


def layer_weights_of_all(
    X: Samples, graph: NeighborGraph, settings: Sequence[Settings], kernel: str | None = None, n_threads: int = 1
) -> list[Weights]:
    """Weights by each of several settings that agree in `include_self`: they share the graph and its Gram matrices."""
    own_rows = np.arange(graph.n_samples)
    left_out = np.full_like(own_rows, -1) if settings[0].include_self else own_rows
    return _weights_of_all(X, X, graph.indices, graph, left_out, settings, kernel, n_threads)


def target_weights(
    X: Samples,
    targets: Samples,
    own: IndexArray,
    graph: NeighborGraph,
    left_out: IndexArray,
    settings: Settings,
    kernel: str | None = None,
    n_threads: int = 1,
) -> Weights:
    """Weights with which both layers of neighbors rebuild each target from the samples of X.

    Parameters
    ----------
    X : (n, D) samples, dense or sparse, or their distances; and `graph` their neighbors.
    targets : (t, D) points to rebuild, or their distances to the samples.
    own : (t, k) neighbors of the targets among the samples, -1 behind the last; both rows of a target without
        any are empty.
    left_out : (t,) sample that a target's outer layer does without, -1 for none.
    kernel : "numpy" or "numba", None to choose by the amount of work.
    """
    return _weights_of_all(X, targets, own, graph, left_out, [settings], kernel, n_threads)[0]


def _weights_of_all(
    X: Samples,
    targets: Samples,
    own: IndexArray,
    graph: NeighborGraph,
    left_out: IndexArray,
    settings: Sequence[Settings],
    kernel: str | None,
    n_threads: int,
) -> list[Weights]:
    """`target_weights` by each of the settings."""
    kernel = kernel or choose_kernel(graph, *settings)
    module = load_unbroken(KERNELS[kernel])
    logger.info("weights: %s kernel, %d targets", kernel, len(own))
    block = block_rows(graph.n_neighbors)

    def rows_of(start: int) -> list[BlockWeights]:
        rows = slice(start, start + block)
        return block_weights(module, X, targets[rows], own[rows], graph.indices, left_out[rows], settings)

    n, t = X.shape[0], len(own)
    gathered = [_Gathered(own, n) for _ in settings]
    starts = range(0, t, block)
    # Matrices of a neighborhood are too small for BLAS to share out: its threads would wait for each other, on a
    # busy machine ten times as long as the work takes.
    mapped = map_blocks(rows_of, starts, n_threads if kernel == "numba" else 1)
    with limit_blas_threads(1), closing(mapped) as blocks:
        for start, parts in zip(starts, track("blocks", blocks, len(starts)), strict=True):
            for all_blocks, part in zip(gathered, parts, strict=True):
                all_blocks.put(slice(start, start + block), part)
    return [one.weights(kernel, each.reg) for one, each in zip(gathered, settings, strict=True)]


class _Gathered:
    """The weights of all blocks by one of the settings."""

    def __init__(self, own: IndexArray, n: int) -> None:
        self._own, self._n = own, n
        self._inner, self._counts = np.empty(own.shape), np.empty(len(own), dtype=np.intp)
        self._values, self._columns = GrowingArray(np.float64), GrowingArray(index_kind(n))

    def put(self, rows: slice, part: BlockWeights) -> None:
        """Add the next block."""
        self._inner[rows], joint, ids, self._counts[rows] = part
        self._values.extend(joint)
        self._columns.extend(ids)

    def weights(self, kernel: str, reg: float) -> Weights:
        """Both matrices."""
        values, columns = self._values.filled(), self._columns.filled()
        check_finite(self._inner, values, reg)
        return weights_from(self._own, self._inner, values, columns, self._counts, self._n, kernel)


def check_finite(inner: FloatArray, joint: FloatArray, reg: float) -> None:
    """Refuse weights that are not numbers."""
    if not (np.isfinite(inner).all() and np.isfinite(joint).all()):
        msg = f"reg must be large enough for finite weights, got reg={reg:g}. Raise reg, or lower n_neighbors."
        raise InputError(msg)


def weights_from(
    own: IndexArray,
    inner: FloatArray,
    values: FloatArray,
    columns: IndexArray,
    counts: IndexArray,
    n: int,
    kernel: str,
) -> Weights:
    """Both matrices of the inner weights (t, k), and of the joint ones, row by row, `counts` a row."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    kind = index_kind(max(n, ends[-1]))
    J = csr_array((values, columns.astype(kind, copy=False), ends.astype(kind)), shape=(len(own), n))
    return Weights(W=inner_matrix(inner, own, n), J=J, kernel=kernel)


def inner_matrix(inner: FloatArray, own: IndexArray, n: int) -> SparseMatrix:
    """W (t, n) of the weights (t, k): nothing is stored for an absent neighbor, a weight of zero is."""
    t, k = own.shape
    ends = np.arange(0, t * k + 1, k)
    # A short row has -1 in the last column: where there is none, nothing of the size of `own` is made.
    if own[:, -1].min(initial=0) < 0:
        present = own >= 0
        ends = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        inner, own = inner[present], own[present]
    kind = index_kind(max(n, ends[-1]))
    # A copy of `own`: sorting W below must not reorder the neighbors, whose order BHNE's rounds follow.
    values = inner.ravel()
    if not values.flags.writeable:  # on disk
        values = values.copy()
    W = csr_array((np.asarray(values), own.astype(kind).ravel(), ends.astype(kind)), shape=(t, n))
    W.sort_indices()
    return W


class GrowingArray:
    """An array that blocks are added to, without a moment at which they and the whole exist twice."""

    def __init__(self, kind: type) -> None:
        self._array: NDArray[Any] = np.empty(0, dtype=kind)
        self._size = 0

    def extend(self, part: NDArray[Any]) -> None:
        """Put a block behind the others."""
        end = self._size + len(part)
        if end > len(self._array):
            self._array.resize(max(end, int(GROWTH * len(self._array))), refcheck=False)
        self._array[self._size : end] = part
        self._size = end

    def filled(self) -> NDArray[Any]:
        """What has been put in."""
        return self._array[: self._size]


def choose_kernel(graph: NeighborGraph, *settings: Settings) -> str:
    """Name the kernel that finishes first, the start of numba included."""
    rounds = sum(2 + each.n_rounds if each.variant == "bhne" else 1 for each in settings)
    work = graph.n_samples * graph.n_neighbors**2 * rounds
    return "numba" if work >= NUMBA_MIN_WORK else "numpy"


def block_rows(n_neighbors: int) -> int:
    """Targets a block, so that its lists of samples within two hops stay small, whatever k."""
    bytes_a_row = 5 * 8 * n_neighbors * (n_neighbors + 1)
    return int(np.clip(BLOCK_BYTES // bytes_a_row, 1, MAX_BLOCK))


def batch_rows(n_slots: int, n_features: int) -> int:
    """Targets a batch, so that its differences and its Gram matrices stay small, whatever m and D."""
    return int(np.clip(BLOCK_BYTES // (8 * n_slots * (n_features + n_slots)), 1, MAX_BLOCK))


def _batches(sizes: IndexArray, n_features: int) -> Iterator[tuple[int, IndexArray]]:
    """Rows with equally many slots, a bounded number at a time; rows without any are left out.

    Padding rows to a common length instead would let them decide about each other's bits.
    """
    for size in np.unique(sizes[sizes > 0]):
        rows = np.flatnonzero(sizes == size)
        step = batch_rows(int(size), n_features)
        for start in range(0, len(rows), step):
            yield int(size), rows[start : start + step]


def block_weights(
    kernels: ModuleType,
    X: Samples,
    targets: Samples,
    own: IndexArray,
    lists: IndexArray,
    left_out: IndexArray,
    settings: Sequence[Settings],
) -> list[BlockWeights]:
    """The weights of a block by each of the settings: of reg alone, the inner ones; of Gram matrices, none."""
    ids, inner_slots, outer_slots = kernels.local_sets(own, lists, left_out)
    joints = [np.zeros(ids.shape) for _ in settings]
    w = {each.reg: np.zeros(own.shape) for each in settings}
    for size, rows in _batches((ids >= 0).sum(axis=1), difference_width(X)):
        K = _local_gram(kernels, X, targets[rows], ids[rows, :size])
        inner, outside = inner_slots[rows], outer_slots[rows]
        for reg, weights in w.items():
            raise_if_cancelled()
            weights[rows] = kernels.inner_weights(K, inner, reg)
        for joint, each in zip(joints, settings, strict=True):
            raise_if_cancelled()
            rounds = (each.n_rounds,) if each.variant == "bhne" else ()
            outer = getattr(kernels, each.variant)
            joint[rows, :size] = outer(K, w[each.reg][rows], inner, outside, each.effective_outer_reg, *rounds)
    # Slots of the inner layer alone, slots behind the last sample and rows without any hold an exact zero.
    used = [joint != 0 for joint in joints]
    return [
        (w[each.reg], joint[stored], ids[stored], stored.sum(axis=1))
        for each, joint, stored in zip(settings, joints, used, strict=True)
    ]


def _local_gram(kernels: ModuleType, X: Samples, targets: Samples, ids: IndexArray) -> FloatArray:
    """Gram matrices K (b, m, m) of the differences from each target, whatever the samples are known by."""
    gram: FloatArray = kernels.local_gram(X, targets, ids) if is_dense(X) else gram_of_differences(X, targets, ids)[0]
    return gram


def row_weights(
    X: Samples, lists: IndexArray, start: int, stop: int, settings: Settings, kernel: str
) -> tuple[BlockWeights, IndexArray, IndexArray]:
    """Weights of the samples from `start` to `stop`, to the bit those of `layer_weights`.

    Besides, the samples that they reach, and the columns of joint weights numbered among those.

    Of X and of the neighbor lists, rows within two hops are read, which may lie on disk.
    """
    n, own, targets = len(lists), np.asarray(lists[start:stop]), np.arange(start, stop)
    reached, near_lists = _within_two_hops(lists, own, start, stop)
    if isinstance(X, np.ndarray):
        # Numbered in the order of all samples: lists stay sorted as they were, and sums run in the same order.
        X, lists = np.asarray(X[reached]), near_lists
        own, targets = _numbered(own, reached), _numbered(targets, reached)
    everyone = reached if isinstance(X, np.ndarray) else np.arange(X.shape[0])
    left_out = np.full_like(targets, -1) if settings.include_self else targets
    module, step = load_unbroken(KERNELS[kernel]), block_rows(lists.shape[1])
    parts = []
    with limit_blas_threads(1):
        for first in range(0, len(own), step):
            rows = slice(first, first + step)
            found = block_weights(module, X, X[targets[rows]], own[rows], lists, left_out[rows], [settings])
            parts.append(found[0])
    inner, values, columns, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    check_finite(inner, values, settings.reg)
    return (inner, values, everyone[columns].astype(index_kind(n)), counts), reached, columns


def _within_two_hops(lists: IndexArray, own: IndexArray, start: int, stop: int) -> tuple[IndexArray, IndexArray]:
    """Samples that the rows reach in two hops, themselves included, ascending, and the lists of the nearer ones."""
    neighbors = _each_once(own[own >= 0])
    theirs = np.asarray(lists[neighbors])
    reached = _each_once(np.concatenate([np.arange(start, stop), neighbors, theirs[theirs >= 0]]))
    near_lists = np.full((len(reached), lists.shape[1]), -1, dtype=np.intp)
    near_lists[_numbered(neighbors, reached)] = _numbered(theirs, reached)
    return reached, near_lists


def _numbered(samples: IndexArray, reached: IndexArray) -> IndexArray:
    """The samples by their places among those reached; -1 stays."""
    first, window = int(reached[0]), int(reached[-1] - reached[0]) + 1
    if window > MAX_WINDOW * samples.size:
        return np.where(samples >= 0, np.searchsorted(reached, samples), -1)
    places = np.full(window + 1, -1, dtype=np.intp)
    places[reached - first] = np.arange(len(reached))
    # The last place is for those who are absent.
    return places[np.where(samples >= 0, samples - first, window)]


def _each_once(samples: IndexArray) -> IndexArray:
    """Ascending and without repeats: what np.unique gives, which hashes millions in four times the time of a sort."""
    if not samples.size:
        return samples
    first = int(samples.min())
    window = int(samples.max()) - first + 1
    if window > MAX_WINDOW * samples.size:
        ascending = np.sort(samples)
        return ascending[np.diff(ascending, prepend=-1) > 0]
    # Samples of a block lie close together, being in the order of their first coordinate: no sort is needed.
    is_there = np.zeros(window, dtype=bool)
    is_there[samples - first] = True
    return np.flatnonzero(is_there) + first
