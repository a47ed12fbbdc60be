"""The walk over blocks of targets: local sets, local Gram matrices, inner weights, joint weights.

Rows are independent of each other, so the result has the same bits for any block size and any number of
threads. Two kernels compute a block: NumPy batches, and their numba twin for work worth its start.
"""

import logging
from collections.abc import Iterator
from contextlib import closing
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from hne._progress import counted
from hne._samples import Distances, Samples, gram_of_distances, gram_of_sparse, width
from hne._threads import checkpoint, library_threads, load_unbroken, map_blocks
from hne._types import FloatArray, IndexArray, NeighborGraph, Settings, SparseMatrix, Weights, index_kind
from hne.exceptions import InputError

logger = logging.getLogger("hne")

KERNELS = {"numpy": "hne._weights._batch", "numba": "hne._weights._compiled"}
# Work is counted in entries of outer lists, n k^2 (BHNE visits them about three times), near 0.5 us each in
# NumPy: this is where batches take as long as numba does to load from its cache and compute, 0.6 s.
NUMBA_MIN_WORK = 1_200_000
BLOCK_BYTES = 2**24
MAX_BLOCK = 2048
# An array that is full grows by this factor: larger ones leave more memory unused.
GROWTH = 1.2


def layer_weights(
    X: Samples, graph: NeighborGraph, settings: Settings, kernel: str | None = None, n_threads: int = 1
) -> Weights:
    """Weights with which both layers of neighbors rebuild every sample of X."""
    own_rows = np.arange(graph.n_samples)
    left_out = np.full_like(own_rows, -1) if settings.include_self else own_rows
    return target_weights(X, X, graph.indices, graph, left_out, settings, kernel, n_threads)


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
    kernel = kernel or choose_kernel(graph, settings)
    module = load_unbroken(KERNELS[kernel])
    logger.info("weights: %s kernel, %d targets", kernel, len(own))
    block = block_rows(graph.n_neighbors)

    def rows_of(start: int) -> tuple[FloatArray, FloatArray, IndexArray, IndexArray]:
        rows = slice(start, start + block)
        return _block_weights(module, X, targets[rows], own[rows], graph.indices, left_out[rows], settings)

    n, (t, k) = X.shape[0], own.shape
    inner, counts = np.empty((t, k)), np.empty(t, dtype=np.intp)
    values, columns = GrowingArray(np.float64), GrowingArray(index_kind(n))
    starts = range(0, t, block)
    # Matrices of a neighborhood are too small for BLAS to share out: its threads would wait for each other, on a
    # busy machine ten times as long as the work takes.
    mapped = map_blocks(rows_of, starts, n_threads if kernel == "numba" else 1)
    with library_threads(1), closing(mapped) as blocks:
        for start, (w, joint, ids, number) in zip(starts, counted("blocks", blocks, len(starts)), strict=True):
            inner[start : start + block], counts[start : start + block] = w, number
            values.extend(joint)
            columns.extend(ids)
    if not (np.isfinite(inner).all() and np.isfinite(values.filled()).all()):
        msg = f"reg must be large enough for finite weights, got reg={settings.reg:g}. Raise reg, or lower n_neighbors."
        raise InputError(msg)
    ends = np.concatenate([[0], np.cumsum(counts)])
    kind = index_kind(max(n, ends[-1]))
    J = csr_array((values.filled(), columns.filled().astype(kind, copy=False), ends.astype(kind)), shape=(t, n))
    return Weights(W=_inner_matrix(inner, own, n), J=J, kernel=kernel)


def _inner_matrix(inner: FloatArray, own: IndexArray, n: int) -> SparseMatrix:
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
    W = csr_array((inner.ravel(), own.astype(kind).ravel(), ends.astype(kind)), shape=(t, n))
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


def choose_kernel(graph: NeighborGraph, settings: Settings) -> str:
    """Name the kernel that finishes first, the start of numba included."""
    rounds = 2 + settings.n_rounds if settings.variant == "bhne" else 1
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


def _block_weights(
    kernels: ModuleType,
    X: Samples,
    targets: Samples,
    own: IndexArray,
    lists: IndexArray,
    left_out: IndexArray,
    settings: Settings,
) -> tuple[FloatArray, FloatArray, IndexArray, IndexArray]:
    """Inner weights (b, k) of a block, and its joint weights: values, columns, number a row."""
    ids, inner_slots, outer_slots = kernels.local_sets(own, lists, left_out)
    rounds = (settings.n_rounds,) if settings.variant == "bhne" else ()
    outer = getattr(kernels, settings.variant)
    w, joint = np.zeros(own.shape), np.zeros(ids.shape)
    for size, rows in _batches((ids >= 0).sum(axis=1), 1 if isinstance(X, Distances) else width(X)):
        checkpoint()
        K = _local_gram(kernels, X, targets[rows], ids[rows, :size])
        inner, outside = inner_slots[rows], outer_slots[rows]
        w[rows] = kernels.inner_weights(K, inner, settings.reg)
        joint[rows, :size] = outer(K, w[rows], inner, outside, settings.effective_outer_reg, *rounds)
    # Slots of the inner layer alone, slots behind the last sample and rows without any hold an exact zero.
    used = joint != 0
    return w, joint[used], ids[used], used.sum(axis=1)


def _local_gram(kernels: ModuleType, X: Samples, targets: Samples, ids: IndexArray) -> FloatArray:
    """Gram matrices K (b, m, m) of the differences from each target, whatever the samples are known by."""
    if isinstance(X, Distances):
        return gram_of_distances(X, targets, ids)[0]
    gram: FloatArray = gram_of_sparse(X, targets, ids) if issparse(X) else kernels.local_gram(X, targets, ids)
    return gram
