"""X -> NeighborGraph: which search runs, and the graph that it found; or the graph that was given."""

import logging
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
from scipy.sparse import issparse

from hne.core.neighbors.approximate import approximate_neighbors, is_worth_an_index
from hne.core.neighbors.exact import exact_method
from hne.core.neighbors.metric import estimated_params, in_metric, links_measured, listed, nearest_by, searchable
from hne.core.records import NeighborGraph, Settings, UniqueSamples, is_euclidean
from hne.core.samples.check import check_places
from hne.core.samples.kinds import Distances, Samples, shortest_edges
from hne.core.samples.scaling import InputScaling, check_told_apart
from hne.core.samples.unique import unique_samples

logger = logging.getLogger("hne")

# n^2 D from which "auto" looks for another way than brute force: half a minute to a minute (measured: 62 to 102 s for
# 1e12, n = 100 000 and D = 100, where the index takes a quarter of the processor's time or less).
EXACT_MAX_PRODUCTS = 5e11


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
    if _can_be_approximate(X, metric, metric_params):
        points = searchable(X, metric)
        if choose_search(points, n_neighbors, neighbors) == "approximate":
            found = approximate_neighbors(points, n_neighbors, n_threads, random_state)
            return NeighborGraph(found.indices, in_metric(found.distances, metric), "approximate", found.recall)
    everyone = np.arange(X.shape[0])
    return NeighborGraph(*nearest_by(metric, metric_params, X, X, n_neighbors, everyone, n_threads))


def given_graph(
    X: Samples,
    given: NeighborGraph,
    distinct: UniqueSamples,
    n_neighbors: int,
    metric: object = "euclidean",
    metric_params: object = None,
) -> NeighborGraph:
    """Graph over places from one given over samples: a place has the nearest neighbors of all its samples.

    Copies of a sample count as one neighbor, and a sample's own copies as none. Where all given distances are equal,
    as in a graph that only tells who is a neighbor, distances are those of X by the metric.
    """
    if n_neighbors < given.n_others:
        logger.info("neighbors: given, the nearest %d of up to %d of each sample", n_neighbors, given.n_others)
    else:
        logger.info("neighbors: given, all of them, up to %d of each sample", given.n_others)
    present = given.indices >= 0
    rows = distinct.inverse[np.nonzero(present)[0]]
    places, lengths = distinct.inverse[given.indices[present]], given.distances[present]
    others = places != rows
    rows, places, lengths = rows[others], places[others], lengths[others]
    # Of a place that is listed more than once, the nearest counts.
    rows, places, lengths = shortest_edges(rows, places, lengths)
    if len(lengths) and (lengths == lengths[0]).all():
        lengths = links_measured(metric, metric_params, X, rows, places)
    found, ordered = listed(rows, places, lengths, distinct.n_places, n_neighbors)
    return NeighborGraph(found, ordered, "given")


def _can_be_approximate(X: Samples, metric: object, metric_params: object) -> bool:
    """Whether the approximate search knows samples of this kind and this metric."""
    return not isinstance(X, Distances) and not issparse(X) and is_euclidean(metric, metric_params)


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
    if find_spec("faiss") is None:
        logger.warning(
            "neighbors: exact search of n = %d with %d features takes a while; pip install faiss-cpu for an "
            "approximate one",
            n,
            n_features,
        )
        return "exact"
    return "approximate"


def canonicalize(X: Samples, settings: Settings) -> tuple[UniqueSamples, InputScaling, Samples, Settings]:
    """Which samples are distinct, those in the units of the walk, and settings with what they tell of the metric."""
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
    given = settings.neighbors
    if isinstance(given, NeighborGraph):
        return given_graph(X, given, distinct, settings.n_neighbors, settings.metric, settings.metric_params)
    return searched_graph(X, settings, n_threads)


def searched_graph(X: Samples, settings: Settings, n_threads: int) -> NeighborGraph:
    """The graph over samples that are all different."""
    metric, params = settings.metric, settings.metric_params
    return knn_graph(X, settings.n_neighbors, n_threads, settings.neighbors, settings.random_state, metric, params)
