"""NeighborGraph -> Pieces: which samples hang together, every sample in exactly one piece."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hne._types import NeighborGraph, Pieces


def connected_pieces(graph: NeighborGraph) -> Pieces:
    """Find the connected pieces of the graph, directions of its links ignored, the largest first."""
    n, k = graph.indices.shape
    links = np.ones(n * k, dtype=np.int8)
    adjacency = csr_array((links, graph.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    count, found = connected_components(adjacency, directed=False)
    sizes = np.bincount(found, minlength=count)
    largest_first = np.argsort(-sizes, kind="stable")
    rank = np.empty(count, dtype=np.intp)
    rank[largest_first] = np.arange(count)
    return Pieces(labels=rank[found], sizes=sizes[largest_first].astype(np.intp))
