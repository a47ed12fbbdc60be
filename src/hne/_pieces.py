"""NeighborGraph -> Pieces: which samples hang together, and by which thin links.

Every sample is in exactly one piece; directions of links are ignored.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from hne._types import BoolArray, IndexArray, NeighborGraph, Pieces, SparseMatrix

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


def without_islands(graph: NeighborGraph, *, squared: bool = False) -> NeighborGraph:
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


def thin_links(graph: NeighborGraph) -> IndexArray:
    """Find the bridges: links without which a piece would fall in two, the only link of a sample included.

    Cycle space sampling: each link outside a spanning forest gets a random number, added at its one end and subtracted
    at its other. Summed over a subtree, links inside it cancel, and what is left are those that lead out of it beside
    the link above it: zero if there is none, and otherwise with probability 2**-64.

    Returns
    -------
    IndexArray of shape (m, 2)
        Pairs (smaller, larger) of samples, sorted.
    """
    n = graph.n_samples
    links = _undirected_links(graph)
    parents = _spanning_forest(links, n)
    smaller, larger = links.T
    outside = links[(parents[smaller] != larger) & (parents[larger] != smaller)]
    # The seed is no setting: any labels find the same bridges.
    labels = np.random.default_rng(0).integers(2**64, size=len(outside), dtype=np.uint64)
    sums = np.zeros(n, dtype=np.uint64)
    np.add.at(sums, outside[:, 0], labels)
    np.subtract.at(sums, outside[:, 1], labels)
    below = np.flatnonzero((_subtree_sums(sums, parents) == 0) & (parents >= 0))
    bridges = np.sort(np.column_stack([below, parents[below]]), axis=1)
    return bridges[np.lexsort(bridges.T[::-1])]


def _undirected_links(graph: NeighborGraph) -> IndexArray:
    """Links as pairs (smaller, larger), sorted, each once whether one or both of its ends list the other, (m, 2)."""
    rows, slots = np.nonzero(graph.indices >= 0)
    columns = graph.indices[rows, slots]
    codes = np.sort(np.minimum(rows, columns) * graph.n_samples + np.maximum(rows, columns))
    # What np.unique gives, in a quarter of its 12 s for 8 million codes (NumPy 2.4 hashes them).
    codes = codes[np.diff(codes, prepend=-1) > 0]
    return np.column_stack(np.divmod(codes, graph.n_samples)).astype(np.intp, copy=False)


def _spanning_forest(links: IndexArray, n: int) -> IndexArray:
    """Parents in a breadth-first tree of each piece, -1 for its first sample, (n,)."""
    _, first = np.unique(connected_components(_matrix(links, n), directed=False)[1], return_index=True)
    # SciPy searches from one sample only: one more, linked to a sample of each piece, makes one tree of all.
    to_roots = np.column_stack([first, np.full(len(first), n)])
    _, parents = breadth_first_order(_matrix(np.vstack([links, to_roots]), n + 1), n, directed=False)
    return np.where(parents[:n] == n, -1, parents[:n]).astype(np.intp)


def _matrix(links: IndexArray, n: int) -> SparseMatrix:
    return csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n, n))


def _subtree_sums(values: NDArray[np.uint64], parents: IndexArray) -> NDArray[np.uint64]:
    """Sum the values, modulo 2**64, of each sample and all below it in the forest.

    Reaches twice as deep in each round, so that a line of samples takes no longer than a bush: with `sums` over less
    than s generations, the sums of those just s generations below complete those over less than 2 s.
    """
    sums = values.copy()
    above = parents
    below = np.flatnonzero(above >= 0)
    while len(below):
        np.add.at(sums, above[below], sums[below])
        above = np.where(above >= 0, above[above], -1)
        below = below[above[below] >= 0]
    return sums
