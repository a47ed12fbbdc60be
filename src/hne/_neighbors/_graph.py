"""X -> NeighborGraph: which search runs, and the graph that it found; or the graph that was given."""

import logging
from importlib.util import find_spec

import numpy as np
from scipy.sparse import issparse

from hne._neighbors._approximate import approximate_neighbors, is_worth_an_index
from hne._neighbors._exact import exact_method
from hne._neighbors._metric import in_metric, links_measured, listed, nearest_by, searchable
from hne._samples import Distances, Samples, shortest_links
from hne._types import Distinct, NeighborGraph, is_euclidean

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
    distinct: Distinct,
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
    rows = distinct.place[np.nonzero(present)[0]]
    places, lengths = distinct.place[given.indices[present]], given.distances[present]
    others = places != rows
    rows, places, lengths = rows[others], places[others], lengths[others]
    # Of a place that is listed more than once, the nearest counts.
    rows, places, lengths = shortest_links(rows, places, lengths)
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
