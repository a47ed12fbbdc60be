"""Blocks of targets -> their weights: local sets, local Gram matrices, inner weights, joint weights; J -> X rebuilt.

Rows are independent of each other, so the result has the same bits for any block size and any number of threads. Of
dense samples one kernel makes all of it, a target at a time; of others Gram matrices come from here.
"""

import logging
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from hne import _kernels
from hne._runtime.progress import track
from hne._runtime.threads import limit_blas_threads, map_blocks, raise_if_cancelled
from hne.core.records import FloatArray, IndexArray, NeighborGraph, SparseMatrix, Weights, index_kind
from hne.core.samples.kinds import (
    Distances,
    Samples,
    difference_width,
    gram_of_differences,
    gram_of_distances,
    is_dense,
    row_lengths,
    width,
)
from hne.exceptions import InputError
from hne.settings import VARIANTS, Settings

logger = logging.getLogger("hne")

BLOCK_BYTES = 2**24
MAX_BLOCK = 2048
# Entries of outer lists, n k^2, below which a second thread takes as long to start as it saves.
THREADED_MIN_WORK = 20_000
# How many times as wide as there are samples a window may be in which they are looked up rather than searched.
MAX_WINDOW = 8
# An array that is full grows by this factor: larger ones leave more memory unused.
GROWTH = 1.2

# Inner weights (b, k) of a block, and its joint weights: values, columns, number a row.
BlockWeights = tuple[FloatArray, FloatArray, IndexArray, IndexArray]


def layer_weights(X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int = 1) -> Weights:
    """Weights with which both layers of neighbors rebuild every sample of X."""
    rows = np.arange(graph.n_samples)
    left_out = np.full_like(rows, -1) if settings.include_self else rows
    return target_weights(X, X, graph.indices, graph, left_out, settings, n_threads)


def target_weights(
    X: Samples,
    targets: Samples,
    neighbors: IndexArray,
    graph: NeighborGraph,
    left_out: IndexArray,
    settings: Settings,
    n_threads: int = 1,
) -> Weights:
    """Weights with which both layers of neighbors rebuild each target from the samples of X.

    Parameters
    ----------
    X : (n, D) samples, dense or sparse, or their distances; and `graph` their neighbors.
    targets : (t, D) points to rebuild, or their distances to the samples.
    neighbors : (t, k) neighbors of the targets among the samples, -1 behind the last; both rows of a target without
        any are empty.
    left_out : (t,) sample that a target's outer layer does without, -1 for none.
    """
    n, (t, k) = X.shape[0], neighbors.shape
    if t * k * k < THREADED_MIN_WORK:
        n_threads = 1
    step = max(1, min(_block_rows(k), -(-t // n_threads)))

    def rows_of(start: int) -> BlockWeights:
        rows = slice(start, start + step)
        return block_weights(X, targets[rows], neighbors[rows], graph.indices, left_out[rows], settings)

    inner, counts = np.empty((t, k)), np.empty(t, dtype=np.intp)
    values, columns = GrowingArray(np.float64), GrowingArray(index_kind(n))
    starts = range(0, t, step)
    # Matrices of a neighborhood are too small for BLAS to share out: its threads would wait for each other, on a
    # busy machine ten times as long as the work takes.
    with limit_blas_threads(1), closing(map_blocks(rows_of, starts, n_threads)) as blocks:
        for start, made in zip(starts, track("blocks", blocks, len(starts)), strict=True):
            rows = slice(start, start + step)
            inner[rows], some_values, some_columns, counts[rows] = made
            values.extend(some_values)
            columns.extend(some_columns)
    return weights_from(neighbors, inner, values.filled(), columns.filled(), counts, n)


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


def weights_from(
    neighbors: IndexArray,
    inner: FloatArray,
    values: FloatArray,
    columns: IndexArray,
    counts: IndexArray,
    n: int,
) -> Weights:
    """Both matrices of the inner weights (t, k), and of the joint ones, row by row, `counts` a row."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    kind = index_kind(max(n, ends[-1]))
    J = csr_array((values, columns.astype(kind, copy=False), ends.astype(kind)), shape=(len(neighbors), n))
    return Weights(W=inner_matrix(inner, neighbors, n), J=J)


def inner_matrix(inner: FloatArray, neighbors: IndexArray, n: int) -> SparseMatrix:
    """W (t, n) of the weights (t, k): nothing is stored for an absent neighbor, a weight of zero is."""
    t, k = neighbors.shape
    ends = np.arange(0, t * k + 1, k)
    # A short row has -1 in the last column: where there is none, nothing of the size of `neighbors` is made.
    if neighbors[:, -1].min(initial=0) < 0:
        present = neighbors >= 0
        ends = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        inner, neighbors = inner[present], neighbors[present]
    kind = index_kind(max(n, ends[-1]))
    values = inner.ravel()
    if not values.flags.writeable:  # on disk
        values = values.copy()
    # A copy of `neighbors`: sorting W must not reorder them, whose order BHNE's rounds follow.
    W = csr_array((np.asarray(values), neighbors.astype(kind).ravel(), ends.astype(kind)), shape=(t, n))
    W.sort_indices()
    return W


def rows_within(bytes_a_row: int) -> int:
    """How many rows are dealt with at once, so that their arrays stay small together."""
    return int(np.clip(BLOCK_BYTES // bytes_a_row, 1, MAX_BLOCK))


def _block_rows(n_neighbors: int) -> int:
    """Targets a block: its lists of samples within two hops stay small, whatever k."""
    return rows_within(5 * 8 * n_neighbors * (n_neighbors + 1))


def _batches(sizes: IndexArray, n_features: int) -> Iterator[tuple[int, IndexArray]]:
    """Rows with equally many slots, a bounded number at a time; rows without any are left out.

    Padding rows to a common length instead would let them decide about each other's bits.
    """
    for size in np.unique(sizes[sizes > 0]):
        rows = np.flatnonzero(sizes == size)
        # Differences and Gram matrices stay small, whatever m and D.
        step = rows_within(8 * int(size) * (n_features + int(size)))
        for start in range(0, len(rows), step):
            yield int(size), rows[start : start + step]


def block_weights(
    X: Samples,
    targets: Samples,
    neighbors: IndexArray,
    neighbor_indices: IndexArray,
    left_out: IndexArray,
    settings: Settings,
) -> BlockWeights:
    """The weights of a block."""
    raise_if_cancelled()
    b, k = neighbors.shape
    lists = np.ascontiguousarray(neighbors), np.ascontiguousarray(neighbor_indices), left_out
    if not is_dense(X):
        return _block_by_gram(X, targets, lists, settings)
    inner, values = np.zeros((b, k)), np.empty(b * k * (k + 1))
    columns, counts = np.empty(len(values), dtype=np.int64), np.empty(b, dtype=np.int64)
    given, made = (np.ascontiguousarray(X), np.ascontiguousarray(targets), *lists), (inner, values, columns, counts)
    arguments: Any = (*given, *_numbers(settings), *made)
    _check(_kernels.dense_weights(*arguments), settings)
    return inner, values[: counts.sum()], columns[: counts.sum()], counts


def _block_by_gram(
    X: Samples, targets: Samples, lists: tuple[IndexArray, IndexArray, IndexArray], settings: Settings
) -> BlockWeights:
    """The same for samples that are not dense: Gram matrices of targets with equally many slots at a time."""
    b, k = lists[0].shape
    ids, sizes = np.empty((b, k * (k + 1)), dtype=np.int64), np.empty(b, dtype=np.int64)
    inner_slots, outer_slots = np.empty((b, k), dtype=np.int64), np.empty((b, k, k), dtype=np.int64)
    _kernels.local_sets(*lists, ids, inner_slots, outer_slots, sizes)
    inner, joint = np.zeros((b, k)), np.zeros(ids.shape)
    for size, rows in _batches(sizes, difference_width(X)):
        raise_if_cancelled()
        K = gram_of_differences(X, targets[rows], ids[rows, :size])[0]
        some = np.empty((len(rows), k)), np.empty((len(rows), size))
        _check(_kernels.gram_weights(K, inner_slots[rows], outer_slots[rows], *_numbers(settings), *some), settings)
        inner[rows], joint[rows, :size] = some
    used = joint != 0
    return inner, joint[used], ids[used], used.sum(axis=1)


def _numbers(settings: Settings) -> tuple[int, int, float, float]:
    """What of the settings the kernels take."""
    regs = float(settings.reg), float(settings.effective_outer_reg)
    return VARIANTS.index(settings.variant), int(settings.n_rounds), *regs


def _check(is_finite: bool, settings: Settings) -> None:
    if not is_finite:
        rule, remedy = "must be large enough for finite weights", "Raise reg, or lower n_neighbors"
        raise InputError(parameter="reg", rule=rule, value=settings.reg, remedy=remedy)


def row_weights(
    X: Samples, neighbor_indices: IndexArray, start: int, stop: int, settings: Settings
) -> tuple[BlockWeights, IndexArray, IndexArray]:
    """Weights of the samples from `start` to `stop`, to the bit those of `layer_weights`.

    Besides, the samples that they reach, and the columns of joint weights numbered among those. Of X and of the
    neighbor lists, rows within two hops are read, which may lie on disk.
    """
    neighbors, targets = np.asarray(neighbor_indices[start:stop]), np.arange(start, stop)
    near = _each_once(neighbors[neighbors >= 0])
    of_near = np.asarray(neighbor_indices[near])
    reached = _each_once(np.concatenate([targets, near, of_near[of_near >= 0]]))
    n, names = len(neighbor_indices), np.arange(X.shape[0])
    if is_dense(X):
        # Numbered in the order of all samples: lists stay sorted as they were, and sums run in the same order.
        X, names = np.asarray(X[reached]), reached
        neighbor_indices = np.full((len(reached), neighbors.shape[1]), -1, dtype=np.intp)
        neighbor_indices[_numbered(near, reached)] = _numbered(of_near, reached)
        neighbors, targets = _numbered(neighbors, reached), _numbered(targets, reached)
    left_out = np.full_like(targets, -1) if settings.include_self else targets
    step = _block_rows(neighbors.shape[1])
    parts: list[BlockWeights] = []
    with limit_blas_threads(1):
        for first in range(0, len(neighbors), step):
            rows = slice(first, first + step)
            block = (X[targets[rows]], neighbors[rows], neighbor_indices, left_out[rows])
            parts.append(block_weights(X, *block, settings))
    inner, values, columns, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    return (inner, values, names[columns].astype(index_kind(n)), counts), reached, columns


def _each_once(samples: IndexArray) -> IndexArray:
    """Ascending and without repeats: what np.unique gives, which hashes millions in four times the time of a sort."""
    ascending = np.sort(samples)
    return ascending[np.diff(ascending, prepend=-1) > 0]


def _numbered(samples: IndexArray, reached: IndexArray) -> IndexArray:
    """The samples by their places among those reached; -1 stays."""
    first, window = int(reached[0]), int(reached[-1] - reached[0]) + 1
    if window > MAX_WINDOW * samples.size:
        return np.where(samples >= 0, np.searchsorted(reached, samples), -1)
    places = np.full(window + 1, -1, dtype=np.intp)
    places[reached - first] = np.arange(len(reached))
    # The last place is for those who are absent.
    return places[np.where(samples >= 0, samples - first, window)]


def reconstruct(X: FloatArray | SparseMatrix, J: SparseMatrix) -> FloatArray | SparseMatrix:
    """Rebuild targets (t, D) from the samples X by weights J (t, n), whose rows sum to one."""
    if issparse(X):
        return J @ X
    # J X = mean + J (X - mean), which keeps the digits of data far from the origin.
    center = X.mean(axis=0)
    return J @ (X - center) + center


def reconstruction_errors(X: Samples, J: SparseMatrix, targets: IndexArray | None = None) -> FloatArray:
    """Length of x_i - sum_j J_ij x_j for each sample, the error of the paper's tables; NaN where row i is empty.

    Rows of J are those of `targets` among the samples, None for all of them.
    """
    if isinstance(X, Distances):
        errors = _errors_from_distances(X, J)
    else:
        errors = np.empty(J.shape[0])
        targets = np.arange(len(errors)) if targets is None else targets
        centered = X if issparse(X) else X - X.mean(axis=0)
        step = rows_within(8 * width(X) * (max(1, J.nnz // J.shape[0]) if issparse(X) else 1))
        for start in range(0, len(errors), step):
            rows = slice(start, start + step)
            errors[rows] = row_lengths(centered[targets[rows]] - J[rows] @ centered)
    errors[np.diff(J.indptr) == 0] = np.nan
    return errors


def _errors_from_distances(X: Distances, J: SparseMatrix) -> FloatArray:
    """|x - J x|^2 = v' K v with K the Gram matrix of the differences from x, for rows with equally many weights."""
    errors = np.zeros(X.shape[0])
    for size, rows in _batches(np.diff(J.indptr), 0):
        entries = J.indptr[rows][:, None] + np.arange(size)
        ids, v = J.indices[entries].astype(np.intp), J.data[entries]
        K, unit = gram_of_distances(X, X[rows], ids)
        errors[rows] = unit * np.sqrt(np.maximum(np.einsum("bi,bij,bj->b", v, K, v), 0.0))
    return errors
