"""X -> NeighborGraph: which search runs, and the graph that it found."""

import logging
from importlib.util import find_spec

import numpy as np

from hne._neighbors._approximate import approximate_neighbors, is_worth_an_index
from hne._neighbors._exact import exact_method, nearest
from hne._types import FloatArray, NeighborGraph

logger = logging.getLogger("hne")

# n^2 D from which "auto" looks for another way than brute force: half a minute to a minute (measured: 62 to 102 s for
# 1e12, n = 100 000 and D = 100, where the index takes a quarter of the processor's time or less).
EXACT_MAX_PRODUCTS = 5e11


def knn_graph(
    X: FloatArray, n_neighbors: int, n_threads: int = 1, neighbors: str = "auto", random_state: object = 0
) -> NeighborGraph:
    """Find the `n_neighbors` nearest samples of every sample of X, itself left out."""
    if choose_search(X, n_neighbors, neighbors) == "approximate":
        found = approximate_neighbors(X, n_neighbors, n_threads, random_state)
        return NeighborGraph(found.indices, found.distances, "approximate", found.recall)
    indices, distances, method = nearest(X, X, n_neighbors, np.arange(len(X)), n_threads)
    return NeighborGraph(indices, distances, method)


def choose_search(X: FloatArray, n_neighbors: int, neighbors: str) -> str:
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
