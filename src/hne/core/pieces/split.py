"""NeighborGraph -> Pieces: which samples hang together.

Every sample is in exactly one piece; directions of edges are ignored.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hne.core.neighbors.edges import keep_edges
from hne.core.records import NeighborGraph, Pieces

# A sample is isolated if its edges are this many times as long as those around where they lead, and as all. Measured:
# samples on the fringe of Gaussians, of images, of Student's t with 3 degrees of freedom reach 1 to 7; a point at five
# times the radius of a Swiss roll 37 and more, and three of those spoil its embedding (error 0.99 instead of 0.001).
FAR = 10.0


def connected_pieces(graph: NeighborGraph) -> Pieces:
    """Find the connected pieces of the graph, directions of its edges ignored, the largest first."""
    present, n = graph.indices >= 0, graph.n_samples
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    columns = graph.indices[present]
    adjacency = csr_array((np.ones(len(columns), dtype=np.int8), columns, starts), shape=(n, n))
    # Numbered by their first samples, which the stable sort keeps among equal sizes.
    count, labels = connected_components(adjacency, directed=False)
    sizes = np.bincount(labels, minlength=count)
    largest_first = np.argsort(-sizes, kind="stable")
    rank = np.empty(count, dtype=np.intp)
    rank[largest_first] = np.arange(count)
    return Pieces(labels=rank[labels], sizes=sizes[largest_first].astype(np.intp))


def detach_outliers(graph: NeighborGraph, *, squared: bool = False) -> NeighborGraph:
    """Cut the edges of isolated samples: groups of up to k that only far edges tie to the others.

    A neighbor search gives neighbors to everyone. Those of an outlier are all in one place far from it, which rebuilds
    it badly, and holds that place in turn. An edge is far if it is `FAR` times as long as the k-th edge of the sample
    that it leads to, and as the middle one of all k-th edges: denser spots alone isolate nobody. Larger groups stay
    tied, however far: what hangs by a thread is not to be cut. `squared`: distances are squares of lengths.
    """
    far = FAR**2 if squared else FAR
    # Again where the cut shows who else is isolated.
    while True:
        present = graph.indices >= 0
        farthest = np.where(present, graph.distances, 0.0).max(axis=1)
        reach = np.maximum(farthest, np.median(farthest[farthest > 0]) if farthest.any() else 0.0)
        near = present & (graph.distances <= far * reach[graph.indices])
        if (near == present).all():
            return graph
        islands = connected_pieces(keep_edges(graph, near))
        # The largest stays, however small: someone must be left to be far from.
        is_island = (islands.sizes[islands.labels] <= graph.n_neighbors) & (islands.labels > 0)
        crosses = islands.labels[graph.indices] != islands.labels[:, None]
        cut = present & crosses & (is_island[:, None] | is_island[graph.indices])
        if not cut.any():
            return graph
        graph = keep_edges(graph, present & ~cut)
