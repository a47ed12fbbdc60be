"""Samples and a metric -> nearest samples: through Euclidean search where the metric allows it, else by all distances.

Cosine and correlation distances are half the squared Euclidean distance of directions. Every other metric of
scikit-learn, or a function of two samples, is computed for all pairs, a block of targets at a time.
"""

import warnings
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from hne._runtime.progress import track
from hne._runtime.threads import limit_blas_threads, map_blocks
from hne.core.neighbors.exact import nearest, rounded
from hne.core.records import DIRECTIONAL, FloatArray, IndexArray, is_euclidean
from hne.core.samples.kinds import Distances, Samples, is_dense, lengths_between, row_lengths, width
from hne.exceptions import InputError, refuse

# Distances of a block of targets to all samples, in memory at once.
BLOCK_BYTES = 2**25
# Directions shorter than this have lost their digits: they are as good as none.
SMALLEST_DIRECTION = 1e-300

Nearest = tuple[IndexArray, FloatArray, str]
# Takes targets and the sample that each may not have as a neighbor; gives their distances (t, n) to the samples.
DistancesOf = Callable[[Any, IndexArray | None], FloatArray]


def estimated_params(metric: Any, params: Any, X: Samples) -> Any:
    """Parameters of the metric with what it takes from the samples, once for all searches among any of them."""
    known = {} if params is None else dict(params)
    if is_dense(X):
        with limit_blas_threads(1):
            if metric == "seuclidean" and "V" not in known:
                return known | {"V": np.var(X, axis=0, ddof=1)}
            if metric == "mahalanobis" and not known.keys() & {"V", "VI"}:
                return known | {"VI": np.linalg.pinv(np.atleast_2d(np.cov(X.T)))}
    return params


def is_squared(metric: Any) -> bool:
    """Whether distances of the metric grow with the square of how far samples are apart."""
    return metric in (*DIRECTIONAL, "sqeuclidean")


def nearest_in_memory(
    metric: Any,
    params: Any,
    X: Samples,
    targets: Samples,
    n_neighbors: int,
    leave_out: IndexArray | None = None,
    n_threads: int = 1,
) -> Nearest:
    """Nearest samples of X to each target by a metric, their distances, and the method; see `nearest`.

    Where fewer are known than asked for, a row ends in index -1 and distance inf.
    """
    if isinstance(targets, Distances):
        return *_nearest_known(targets, n_neighbors, leave_out), "precomputed"
    if _has_searchable(X, metric, params):
        points = searchable(X, metric)
        others = points if targets is X else searchable(targets, metric)
        indices, lengths, method = nearest(points, others, n_neighbors, leave_out, n_threads)
        return indices, in_metric(lengths, metric), method
    return *nearest_by_all_distances(metric, params, X, targets, n_neighbors, leave_out, n_threads), "metric"


def nearest_by_all_distances(
    metric: Any,
    params: Any,
    X: Samples,
    targets: Samples,
    n_neighbors: int,
    leave_out: IndexArray | None = None,
    n_threads: int = 1,
) -> tuple[IndexArray, FloatArray]:
    """Nearest samples by any metric, and their distances; `leave_out[i]` is -1 where target i may have anybody.

    Where a row needs the one that it may not have to be full, it comes last, at distance inf.
    """
    distances_of = _pairwise(metric, params, X)
    return _nearest_of_blocks(distances_of, targets, X.shape[0], n_neighbors, leave_out, n_threads)


def _nearest_known(targets: Distances, n_neighbors: int, leave_out: IndexArray | None) -> tuple[IndexArray, FloatArray]:
    """The smallest distances of each target."""
    matrix, (t, n) = targets.matrix, targets.shape
    if targets.is_complete:
        return _nearest_of_blocks(lambda block, _: block, matrix, n, n_neighbors, leave_out, 1)
    rows = np.repeat(np.arange(t), np.diff(matrix.indptr))
    lengths, columns = matrix.data, matrix.indices
    if leave_out is not None:
        others = columns != leave_out[rows]
        rows, lengths, columns = rows[others], lengths[others], columns[others]
    return lists_of_edges(rows, columns, lengths, t, n_neighbors)


def _nearest_of_blocks(
    distances_of: DistancesOf, targets: Samples, n: int, n_neighbors: int, leave_out: IndexArray | None, n_threads: int
) -> tuple[IndexArray, FloatArray]:
    """Nearest samples by all distances (b, n) of a block of targets at a time."""
    block = max(1, BLOCK_BYTES // (8 * n))

    def search(start: int) -> tuple[IndexArray, FloatArray]:
        banned = None if leave_out is None else leave_out[start : start + block]
        return _smallest(distances_of(targets[start : start + block], banned), n_neighbors, banned)

    starts = range(0, targets.shape[0], block)
    with closing(map_blocks(search, starts, n_threads)) as results:
        blocks = list(track("search", results, len(starts)))
    return np.concatenate([one[0] for one in blocks]), np.concatenate([one[1] for one in blocks])


def _smallest(distances: FloatArray, count: int, banned: IndexArray | None) -> tuple[IndexArray, FloatArray]:
    """The `count` smallest of each row, by distance, then index; a banned column is none of them."""
    if banned is not None:
        distances = np.array(distances)
        distances[_entries(banned)] = np.inf
    limit = np.partition(distances, count - 1, axis=1)[:, count - 1 : count]
    # All that are as near as the last: an order by index among them does not depend on how they were found.
    rows, columns = np.nonzero(distances <= limit)
    return lists_of_edges(rows, columns, distances[rows, columns], len(distances), count)


def _entries(banned: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Rows and columns of the banned, -1 where nobody is."""
    rows = np.flatnonzero(banned >= 0)
    return rows, banned[rows]


def lists_of_edges(
    rows: IndexArray, columns: IndexArray, lengths: FloatArray, n_rows: int, n_neighbors: int
) -> tuple[IndexArray, FloatArray]:
    """Neighbor lists from edges in any order: by distance, then index, the nearest `n_neighbors` of each row."""
    order = np.lexsort((columns, lengths, rows))
    rows, columns, lengths = rows[order], columns[order], lengths[order]
    counts = np.bincount(rows, minlength=n_rows)
    position = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = position < n_neighbors
    # One column at the least, of nobody, where there is no edge at all.
    k = max(1, int(min(n_neighbors, counts.max(initial=0))))
    indices, distances = np.full((n_rows, k), -1, dtype=np.intp), np.full((n_rows, k), np.inf)
    indices[rows[kept], position[kept]] = columns[kept]
    distances[rows[kept], position[kept]] = lengths[kept]
    return indices, distances


def _has_searchable(X: Samples, metric: Any, params: Any) -> bool:
    """Whether there are points for the metric; those of correlation would make sparse samples dense."""
    return is_euclidean(metric, params) and not (metric == "correlation" and issparse(X))


def searchable(X: Samples, metric: Any) -> Samples:
    """Points whose Euclidean distances are in the order of the metric: the samples, or their directions."""
    if metric not in DIRECTIONAL:
        return X
    if metric == "correlation":
        X = X - X.mean(axis=1, keepdims=True)
    lengths = row_lengths(X)
    has_direction = lengths > SMALLEST_DIRECTION
    scale = 1.0 / np.where(has_direction, lengths, 1.0)
    # A sample without direction is at distance 1 of all that have one, as in scikit-learn: it gets an axis of its own.
    nowhere = np.where(has_direction, 0.0, 1.0)[:, None]
    if issparse(X):
        directions = hstack([X.multiply(scale[:, None]), csr_array(nowhere)], format="csr")
        directions.indices, directions.indptr = directions.indices.astype(np.int32), directions.indptr.astype(np.int32)
        return csr_array(directions)
    return np.hstack([X * scale[:, None], nowhere])


def in_metric(lengths: FloatArray, metric: Any) -> FloatArray:
    """Euclidean lengths between searchable points as distances of the metric."""
    if not is_squared(metric):
        return lengths
    return lengths**2 / 2 if metric in DIRECTIONAL else lengths**2


def edge_lengths(metric: Any, params: Any, X: Samples, rows: IndexArray, others: IndexArray) -> FloatArray:
    """Distances by the metric between pairs of samples, `rows` ascending."""
    if isinstance(X, Distances):
        known = X.at(rows, others)
        # Edges that nobody can measure come last; weights will miss their distances, and say so.
        return np.where(np.isnan(known), np.nanmax(known, initial=0.0), known)
    if _has_searchable(X, metric, params):
        points = searchable(X, metric)
        step = max(1, BLOCK_BYTES // (8 * width(points)))
        blocks = (slice(start, start + step) for start in range(0, len(rows), step))
        parts = [rounded(lengths_between(points, points[rows[few]], others[few, None]))[:, 0] for few in blocks]
        return in_metric(np.concatenate(parts), metric)
    distances_of, lengths = _pairwise(metric, params, X), np.empty(len(rows))
    step = max(1, BLOCK_BYTES // (8 * X.shape[0]))
    for start in range(0, X.shape[0], step):
        few = slice(*np.searchsorted(rows, [start, start + step]))
        if few.stop > few.start:
            lengths[few] = distances_of(X[start : start + step], None)[rows[few] - start, others[few]]
    return lengths


def _pairwise(metric: Any, params: Any, X: Samples) -> DistancesOf:
    """The function that gives the distances (t, n) of targets to the samples."""
    # A second to load, and Euclidean distances need none of it.
    from sklearn.metrics import pairwise_distances  # noqa: PLC0415
    from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS  # noqa: PLC0415

    is_boolean = metric in PAIRWISE_BOOLEAN_FUNCTIONS and not issparse(X)
    X = X != 0 if is_boolean else X
    name = repr(metric) if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)

    def distances_of(targets: Samples, banned: IndexArray | None) -> FloatArray:
        targets = targets != 0 if is_boolean else targets
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                away = np.array(pairwise_distances(targets, X, metric=metric, n_jobs=1, **(params or {})), np.float64)
        except Exception as error:
            reason = str(error).split(". ")[0].splitlines()[0].rstrip(".:") if str(error) else "no reason given"
            msg = (
                f"metric={name} must give the distances of X, got {type(error).__name__}: {reason}. "
                "Choose another, or other metric_params."
            )
            raise InputError(msg) from error
        if banned is not None:
            # What a metric makes of a sample and itself, 0 / 0 in some, is nobody's concern.
            away[_entries(banned)] = 0.0
        largest = float(np.abs(away).max(initial=0.0))
        if not np.isfinite(largest) or away.min(initial=0.0) < -1e-9 * max(1.0, largest):
            worst = away.min() if np.isfinite(largest) else away[~np.isfinite(away)][0]
            rule = "must give finite distances of zero and more"
            refuse(f"metric={name}", rule, f"{worst:.3g}", "Check it on these samples")
        return np.maximum(away, 0.0)

    return distances_of
