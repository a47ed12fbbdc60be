"""NeighborGraph -> Pieces: which samples hang together.

Every sample is in exactly one piece; directions of links are ignored.
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hne.core.records import BoolArray, NeighborGraph, Pieces

# A sample is isolated if its links are this many times as long as those around where they lead, and as all. Measured:
# samples on the fringe of Gaussians, of images, of Student's t with 3 degrees of freedom reach 1 to 7; a point at five
# times the radius of a Swiss roll 37 and more, and three of those spoil its embedding (error 0.99 instead of 0.001).
FAR = 10.0


def connected_pieces(graph: NeighborGraph) -> Pieces:
    """Find the connected pieces of the graph, directions of its links ignored, the largest first."""
    present = graph.indices >= 0
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    columns = graph.indices[present]
    n = graph.n_samples
    adjacency = csr_array((np.ones(len(columns), dtype=np.int8), columns, starts), shape=(n, n))
    # Numbered by their first samples, which the stable sort keeps among equal sizes.
    count, found = connected_components(adjacency, directed=False)
    sizes = np.bincount(found, minlength=count)
    largest_first = np.argsort(-sizes, kind="stable")
    rank = np.empty(count, dtype=np.intp)
    rank[largest_first] = np.arange(count)
    return Pieces(labels=rank[found], sizes=sizes[largest_first].astype(np.intp))


def detach_outliers(graph: NeighborGraph, *, squared: bool = False) -> NeighborGraph:
    """Cut the links of isolated samples, and again where the cut shows who else is: see `_without_far_islands`."""
    cut = _without_far_islands(graph, squared=squared)
    while cut is not graph:
        graph, cut = cut, _without_far_islands(cut, squared=squared)
    return graph


def _without_far_islands(graph: NeighborGraph, *, squared: bool) -> NeighborGraph:
    """Cut the links of isolated samples: groups of up to k that only far links tie to the others.

    A neighbor search gives neighbors to everyone. Those of an outlier are all in one place far from it, which rebuilds
    it badly, and holds that place in turn. A link is far if it is `FAR` times as long as the k-th link of the sample
    that it leads to, and as the middle one of all k-th links: denser spots alone isolate nobody. Larger groups stay
    tied, however far: what hangs by a thread is not to be cut. `squared`: distances are squares of lengths.
    """
    far = FAR**2 if squared else FAR
    present = graph.indices >= 0
    farthest = np.where(present, graph.distances, 0.0).max(axis=1)
    reach = np.maximum(farthest, np.median(farthest[farthest > 0]) if farthest.any() else 0.0)
    near = present & (graph.distances <= far * reach[graph.indices])
    if (near == present).all():
        return graph
    islands = connected_pieces(_with_links_of(graph, near))
    is_island = islands.sizes[islands.labels] <= graph.n_neighbors
    # The largest stays, however small: someone must be left to be far from.
    is_island &= islands.labels > 0
    crosses = islands.labels[graph.indices] != islands.labels[:, None]
    cut = crosses & (is_island[:, None] | is_island[graph.indices])
    return _with_links_of(graph, present & ~cut) if (cut & present).any() else graph


def _with_links_of(graph: NeighborGraph, kept: BoolArray) -> NeighborGraph:
    """The graph with these links alone, each row closed up."""
    order = np.argsort(~kept, axis=1, kind="stable")
    kept = np.take_along_axis(kept, order, axis=1)
    indices = np.where(kept, np.take_along_axis(graph.indices, order, axis=1), -1)
    return replace(
        graph, indices=indices, distances=np.where(kept, np.take_along_axis(graph.distances, order, axis=1), np.inf)
    )
