"""X -> NeighborGraph: which search runs, and the graph that it found; or the graph that was given."""

import logging
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from hne._runtime.store import is_on_disk
from hne.core.neighbors.approximate import approximate_neighbors, is_worth_an_index
from hne.core.neighbors.blocked import cut_into_blocks, nearest_in_blocks
from hne.core.neighbors.exact import exact_method
from hne.core.neighbors.metric import (
    Nearest,
    edge_lengths,
    estimated_params,
    in_metric,
    lists_of_edges,
    nearest_in_memory,
    searchable,
)
from hne.core.records import IndexArray, NeighborGraph, Settings, UniqueSamples, is_euclidean
from hne.core.samples.check import check_places
from hne.core.samples.kinds import Distances, Samples, is_dense, shortest_edges
from hne.core.samples.scaling import InputScaling, check_told_apart
from hne.core.samples.unique import unique_samples

logger = logging.getLogger("hne")

# n^2 D from which "auto" looks for another way than brute force: half a minute to a minute (measured: 62 to 102 s for
# 1e12, n = 100 000 and D = 100, where the index takes a quarter of the processor's time or less).
EXACT_MAX_PRODUCTS = 5e11
# Samples on disk that are searched in memory all the same, and blocks of those that are not.
MAX_BYTES, BLOCK_BYTES = 2**28, 2**26


def canonicalize(X: Samples, settings: Settings) -> tuple[UniqueSamples, InputScaling, Samples, Settings]:
    """Which samples are distinct, those in units that float64 bears, and settings with what they tell of the metric."""
    distinct = unique_samples(X)
    check_places(distinct, settings)
    X = X.of(distinct) if isinstance(X, Distances) else X[distinct.index]
    units = InputScaling.fit(X, moved=settings.metric == "euclidean")
    inside = units.transform(X)
    if units.scale != 1.0 or units.origin is not None:
        check_told_apart(distinct.n_places, unique_samples(inside).n_places)
    params = estimated_params(settings.metric, settings.metric_params, inside)
    return distinct, units, inside, replace(settings, metric_params=params)


def neighbor_graph(X: Samples, settings: Settings, distinct: UniqueSamples, n_threads: int) -> NeighborGraph:
    """The graph over places: searched, or as given."""
    if isinstance(settings.neighbors, NeighborGraph):
        return _given_graph(X, settings.neighbors, distinct, settings)
    return searched_graph(X, settings, n_threads)


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
        points = searchable(X, metric)
        if choose_search(points, n_neighbors, neighbors) == "approximate":
            graph = approximate_neighbors(points, n_neighbors, n_threads, random_state)
            return replace(graph, distances=in_metric(graph.distances, metric))
    everyone = np.arange(X.shape[0])
    return NeighborGraph(*nearest_in_memory(metric, metric_params, X, X, n_neighbors, everyone, n_threads))


def choose_search(X: Samples, n_neighbors: int, neighbors: str) -> str:
    """Name the search that the parameter `neighbors` stands for with these samples: "exact" or "approximate"."""
    n, n_features = X.shape
    if neighbors == "approximate":
        if is_worth_an_index(n, n_neighbors):
            return "approximate"
        logger.info("neighbors: exact, because n = %d is too small for an index with k = %d", n, n_neighbors)
        return "exact"
    is_affordable = exact_method(X) == "tree" or float(n) ** 2 * n_features <= EXACT_MAX_PRODUCTS
    if neighbors == "exact" or is_affordable or not is_worth_an_index(n, n_neighbors):
        return "exact"
    if find_spec("faiss") is not None:
        return "approximate"
    remedy = "pip install faiss-cpu for an approximate one"
    logger.warning("neighbors: exact search of n = %d with %d features takes a while; %s", n, n_features, remedy)
    return "exact"


def _given_graph(X: Samples, graph: NeighborGraph, distinct: UniqueSamples, settings: Settings) -> NeighborGraph:
    """Graph over places from one given over samples: a place has the nearest neighbors of all its samples.

    Copies of a sample count as one neighbor, and a sample's own copies as none. Where all given distances are equal,
    as in a graph that only tells who is a neighbor, distances are those of X by the metric.
    """
    k = settings.n_neighbors
    which = f"the nearest {k} of" if k < graph.n_others else "all of them,"
    logger.info("neighbors: given, %s up to %d of each sample", which, graph.n_others)
    present = graph.indices >= 0
    rows, places = distinct.inverse[np.nonzero(present)[0]], distinct.inverse[graph.indices[present]]
    others = places != rows
    # Of a place that is listed more than once, the nearest counts.
    rows, places, lengths = shortest_edges(rows[others], places[others], graph.distances[present][others])
    if len(lengths) and (lengths == lengths[0]).all():
        lengths = edge_lengths(settings.metric, settings.metric_params, X, rows, places)
    return NeighborGraph(*lists_of_edges(rows, places, lengths, distinct.n_places, k), "given")


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
    if not is_on_disk(X) or X.nbytes <= MAX_BYTES:
        return nearest_in_memory(metric, params, X, targets, n_neighbors, leave_out, n_threads)
    starts = np.arange(0, X.shape[0], max(1, BLOCK_BYTES // (8 * X.shape[1])))
    blocks = cut_into_blocks(X, starts, metric, params)
    return nearest_in_blocks(blocks, targets, n_neighbors, leave_out, n_threads)
