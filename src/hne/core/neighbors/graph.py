"""X -> NeighborGraph: which search runs, and the graph that it found; or the graph that was given.

Cosine and correlation distances are half the squared Euclidean distance of directions. Every other metric of
scikit-learn, or a function of two samples, is computed for all pairs, a block of targets at a time.
"""

import logging
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from hne._runtime.progress import track
from hne._runtime.threads import map_blocks
from hne.core.neighbors.approximate import approximate_neighbors, is_worth_an_index
from hne.core.neighbors.exact import exact_method, nearest, rounded
from hne.core.records import DIRECTIONAL, FloatArray, IndexArray, NeighborGraph, UniqueSamples, is_euclidean
from hne.core.samples.kinds import Distances, Samples, is_dense, lengths_between, row_lengths, shortest_edges, width
from hne.exceptions import InputError, refuse
from hne.settings import Settings

logger = logging.getLogger("hne")

# n^2 D from which "auto" looks for another way than brute force: half a minute (measured: 5e11, n = 100 000 and D = 50,
# take 22 s of one processor).
EXACT_MAX_PRODUCTS = 1.5e12
# Samples on disk that are searched in memory all the same, and blocks of those that are not.
MAX_BYTES, DISK_BLOCK_BYTES = 2**28, 2**26
# Distances of a block of targets to all samples, in memory at once.
BLOCK_BYTES = 2**25
# Directions shorter than this have lost their digits: they are as good as none.
SMALLEST_DIRECTION = 1e-300

Nearest = tuple[IndexArray, FloatArray, str]
# Takes targets, and the entries (rows, columns) that nobody will look at; gives the distances (t, n) to the samples.
DistancesOf = Callable[[Any, tuple[IndexArray, IndexArray]], FloatArray]


def neighbor_graph(X: Samples, settings: Settings, distinct: UniqueSamples, n_threads: int) -> NeighborGraph:
    """The graph over places: searched, or made of one given over samples.

    A place then has the nearest neighbors of all its samples. Copies of a sample count as one neighbor, and a sample's
    own copies as none. Where all given distances are equal, as in a graph that only tells who is a neighbor, distances
    are those of X by the metric.
    """
    graph, k = settings.neighbors, settings.n_neighbors
    if not isinstance(graph, NeighborGraph):
        return searched_graph(X, settings, n_threads)
    which = f"the nearest {k} of" if k < graph.n_others else "all of them,"
    logger.info("neighbors: given, %s up to %d of each sample", which, graph.n_others)
    present = graph.indices >= 0
    rows, places = distinct.inverse[np.nonzero(present)[0]], distinct.inverse[graph.indices[present]]
    others = places != rows
    # Of a place that is listed more than once, the nearest counts.
    rows, places, lengths = shortest_edges(rows[others], places[others], graph.distances[present][others])
    if len(lengths) and (lengths == lengths[0]).all():
        lengths = _edge_lengths(settings.metric, settings.metric_params, X, rows, places)
    return NeighborGraph(*_lists_of_edges(rows, places, lengths, distinct.n_places, k), "given")


def searched_graph(X: Samples, settings: Settings, n_threads: int) -> NeighborGraph:
    """The graph over samples that are all different."""
    metric, params = settings.metric, settings.metric_params
    return knn_graph(X, settings.n_neighbors, n_threads, settings.neighbors, settings.random_state, metric, params)


def knn_graph(
    X: Samples,
    n_neighbors: int,
    n_threads: int = 1,
    neighbors: str = "auto",
    random_state: object = 0,
    metric: object = "euclidean",
    metric_params: object = None,
) -> NeighborGraph:
    """Find the `n_neighbors` nearest samples of every sample of X, itself left out."""
    if is_dense(X) and is_euclidean(metric, metric_params):
        # Directions have a coordinate more.
        n_features = X.shape[1] + (metric in DIRECTIONAL)
        if choose_search(X.shape[0], n_features, n_neighbors, neighbors) == "approximate":
            graph = approximate_neighbors(searchable(X, metric), n_neighbors, n_threads, random_state)
            return replace(graph, distances=in_metric(graph.distances, metric))
    everyone = np.arange(X.shape[0])
    return NeighborGraph(*nearest_by(metric, metric_params, X, X, n_neighbors, everyone, n_threads))


def choose_search(n: int, n_features: int, n_neighbors: int, neighbors: str) -> str:
    """Name the search that the parameter `neighbors` stands for with so many points: "exact" or "approximate"."""
    if neighbors == "approximate":
        if is_worth_an_index(n, n_neighbors):
            return "approximate"
        logger.info("neighbors: exact, because n = %d is too small for an index with k = %d", n, n_neighbors)
        return "exact"
    is_affordable = exact_method(n_features) == "tree" or float(n) ** 2 * n_features <= EXACT_MAX_PRODUCTS
    if neighbors == "exact" or is_affordable or not is_worth_an_index(n, n_neighbors):
        return "exact"
    if find_spec("faiss") is not None:
        return "approximate"
    remedy = "pip install faiss-cpu for an approximate one"
    logger.warning("neighbors: exact search of n = %d with %d features takes a while; %s", n, n_features, remedy)
    return "exact"


def nearest_by(
    metric: Any,
    params: Any,
    X: Samples,
    targets: Samples,
    n_neighbors: int,
    leave_out: IndexArray | None = None,
    n_threads: int = 1,
) -> Nearest:
    """Nearest samples of X to each target by a metric, their distances, and the method; see `nearest`.

    Samples on disk are searched block by block. Where fewer are known than asked for, a row ends in index -1 and
    distance inf.
    """
    if isinstance(targets, Distances):
        return *_nearest_known(targets, n_neighbors, leave_out), "precomputed"
    if isinstance(X, np.memmap) and X.nbytes > MAX_BYTES:
        from hne.core.neighbors.blocked import cut_into_blocks, nearest_in_blocks  # noqa: PLC0415, it needs this module

        starts = np.arange(0, X.shape[0], max(1, DISK_BLOCK_BYTES // (8 * X.shape[1])))
        return nearest_in_blocks(cut_into_blocks(X, starts, metric, params), targets, n_neighbors, leave_out, n_threads)
    if not _has_searchable(X, metric, params):
        distances_of = pairwise(metric, params, X)
        return *smallest(distances_of, targets, X.shape[0], n_neighbors, leave_out, n_threads), "metric"
    points = searchable(X, metric)
    others = points if targets is X else searchable(targets, metric)
    method = exact_method(points.shape[1], is_sparse=issparse(X))
    logger.info("neighbors: %s search, n = %d, %d features", method, *points.shape)
    indices, lengths, _ = nearest(points, others, n_neighbors, leave_out, n_threads)
    return indices, in_metric(lengths, metric), method


def _nearest_known(targets: Distances, n_neighbors: int, leave_out: IndexArray | None) -> tuple[IndexArray, FloatArray]:
    matrix, (t, n) = targets.matrix, targets.shape
    if targets.is_complete:
        return smallest(lambda block, _: block, matrix, n, n_neighbors, leave_out, 1)
    rows = np.repeat(np.arange(t), np.diff(matrix.indptr))
    lengths, columns = matrix.data, matrix.indices
    if leave_out is not None:
        others = columns != leave_out[rows]
        rows, lengths, columns = rows[others], lengths[others], columns[others]
    return _lists_of_edges(rows, columns, lengths, t, n_neighbors)


def smallest(
    distances_of: DistancesOf, targets: Samples, n: int, n_neighbors: int, leave_out: IndexArray | None, n_threads: int
) -> tuple[IndexArray, FloatArray]:
    """Nearest samples by all distances (b, n) of a block of targets at a time, by distance, then index.

    `leave_out[i]` is -1 where target i may have anybody. Where a row needs the one that it may not have to be full, it
    comes last, at distance inf.
    """
    block = max(1, BLOCK_BYTES // (8 * n))

    def search(start: int) -> tuple[IndexArray, FloatArray]:
        banned = np.empty(0, dtype=np.intp) if leave_out is None else leave_out[start : start + block]
        entries = np.flatnonzero(banned >= 0), banned[banned >= 0]
        distances = distances_of(targets[start : start + block], entries)
        if banned.size:
            distances = np.array(distances)
            distances[entries] = np.inf
        limit = np.partition(distances, n_neighbors - 1, axis=1)[:, n_neighbors - 1 : n_neighbors]
        # All that are as near as the last: an order by index among them does not depend on how they were found.
        rows, columns = np.nonzero(distances <= limit)
        return _lists_of_edges(rows, columns, distances[rows, columns], len(distances), n_neighbors)

    starts = range(0, targets.shape[0], block)
    with closing(map_blocks(search, starts, n_threads)) as results:
        blocks = list(track("search", results, len(starts)))
    return np.concatenate([one[0] for one in blocks]), np.concatenate([one[1] for one in blocks])


def _lists_of_edges(
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


def is_squared(metric: Any) -> bool:
    """Whether distances of the metric grow with the square of how far samples are apart."""
    return metric in (*DIRECTIONAL, "sqeuclidean")


def in_metric(lengths: FloatArray, metric: Any) -> FloatArray:
    """Euclidean lengths between searchable points as distances of the metric."""
    if not is_squared(metric):
        return lengths
    return lengths**2 / 2 if metric in DIRECTIONAL else lengths**2


def _has_searchable(X: Samples, metric: Any, params: Any) -> bool:
    """Whether there are points for the metric; those of correlation would make sparse samples dense."""
    return is_euclidean(metric, params) and not (metric == "correlation" and issparse(X))


def _edge_lengths(metric: Any, params: Any, X: Samples, rows: IndexArray, others: IndexArray) -> FloatArray:
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
    distances_of, lengths = pairwise(metric, params, X), np.empty(len(rows))
    step, nobody = max(1, BLOCK_BYTES // (8 * X.shape[0])), np.empty(0, dtype=np.intp)
    for start in range(0, X.shape[0], step):
        few = slice(*np.searchsorted(rows, [start, start + step]))
        if few.stop > few.start:
            lengths[few] = distances_of(X[start : start + step], (nobody, nobody))[rows[few] - start, others[few]]
    return lengths


def pairwise(metric: Any, params: Any, X: Samples) -> DistancesOf:
    """The function that gives the distances (t, n) of targets to the samples."""
    # A second to load, and Euclidean distances need none of it.
    from sklearn.metrics import pairwise_distances  # noqa: PLC0415
    from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS  # noqa: PLC0415

    is_boolean = metric in PAIRWISE_BOOLEAN_FUNCTIONS and not issparse(X)
    X = X != 0 if is_boolean else X
    name = repr(metric) if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)

    def distances_of(targets: Samples, ignored: tuple[IndexArray, IndexArray]) -> FloatArray:
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
        # What a metric makes of a sample and itself, 0 / 0 in some, is nobody's concern.
        away[ignored] = 0.0
        largest = float(np.abs(away).max(initial=0.0))
        if not np.isfinite(largest) or away.min(initial=0.0) < -1e-9 * max(1.0, largest):
            worst = away.min() if np.isfinite(largest) else away[~np.isfinite(away)][0]
            rule = "must give finite distances of zero and more"
            refuse(f"metric={name}", rule, f"{worst:.3g}", "Check it on these samples")
        return np.maximum(away, 0.0)

    return distances_of
