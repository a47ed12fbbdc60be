"""X -> a patch of it: a connected part that is as dense as the whole, to tune on where the whole is too much."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from hne.core.neighbors.graph import searched_graph
from hne.core.records import IndexArray, NeighborGraph, Settings
from hne.core.samples.kinds import Samples

# Neighbors by which a patch grows.
PATCH_NEIGHBORS = 8


def patch(X: Samples, settings: Settings, size: int, n_threads: int) -> IndexArray:
    """Rows of a patch, ascending: those fewest steps away from a sample in a region of usual density.

    A random choice of samples would thin them out, and settings suit a density.
    """
    graph = searched_graph(X, replace(settings, n_neighbors=PATCH_NEIGHBORS, neighbors="auto"), n_threads)
    return grown(graph, size)


def grown(graph: NeighborGraph, size: int) -> IndexArray:
    """Rows that are fewest steps in the graph away from the sample whose farthest neighbor is at the usual distance."""
    n = graph.n_samples
    reach = graph.distances[:, -1]
    order = np.argsort(reach, kind="stable")
    present = graph.indices >= 0
    ends = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    links = csr_array((np.ones(int(ends[-1])), graph.indices[present], ends), shape=(n, n))
    found: IndexArray = np.empty(0, dtype=np.intp)
    # From the middle of the order outwards, until there are enough: a start may sit in a small piece.
    for start in order[np.argsort(np.abs(np.arange(n) - n // 2), kind="stable")]:
        if len(found) >= size:
            break
        if not np.isin(start, found):
            near = breadth_first_order(links, int(start), directed=False, return_predecessors=False)
            found = np.concatenate([found, near[~np.isin(near, found)]])
    return np.sort(found[:size])
