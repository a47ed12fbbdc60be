"""X -> the neighbors of every sample, and the weights W with which they rebuild it: plain LLE, HNE's inner layer."""

from dataclasses import replace

from hne._neighbors import knn_graph
from hne._types import FloatArray, NeighborGraph, Settings, SparseMatrix
from hne._weights import layer_weights


def lle_weights(X: FloatArray, settings: Settings, n_threads: int = 1) -> tuple[NeighborGraph, SparseMatrix]:
    """Find the neighbors among these samples and their weights, a row for each sample."""
    graph = knn_graph(X, settings.n_neighbors, n_threads, "exact")
    # Both layers come together; of the outer ones, which nobody uses here, these are the quickest.
    return graph, layer_weights(X, graph, replace(settings, variant="ihne"), None, n_threads).W
