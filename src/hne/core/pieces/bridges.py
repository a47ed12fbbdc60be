"""NeighborGraph -> Bridges: what a piece would fall in two without, an edge or all edges of one sample to a part.

Both are read off the blocks of the graph, sets of edges any two of which lie on one circle: a block of one edge is a
bridge, and a sample with edges of several blocks is all that holds these together. Blocks are found as in R. Tarjan and
U. Vishkin, An efficient parallel biconnectivity algorithm, SIAM J. Computing 1985: no step goes sample by sample.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from hne.core.neighbors.edges import edges_of
from hne.core.records import BoolArray, IndexArray, NeighborGraph, SparseMatrix


@dataclass(frozen=True)
class Bridges:
    """The thin edges of a graph, and what hangs by one sample."""

    pairs: IndexArray  # (m, 2), pairs (smaller, larger) of samples, sorted
    n_hanging: int  # samples of the largest part that one sample holds to a larger one; 0 where none does


@dataclass(frozen=True)
class Tree:
    """A spanning forest: of each sample its parent, its number in preorder, and how many it is above, itself too."""

    parents: IndexArray  # -1 for the first sample of a piece
    numbers: IndexArray
    sizes: IndexArray


def find_bridges(graph: NeighborGraph) -> Bridges:
    """Find the edges without which a piece would fall in two, and those of samples without which it would.

    Of a sample, only parts larger than a neighborhood count that hang together by it alone: its edges to all of them
    are thin but to that to which it has the most.
    """
    edges = edges_of(graph).pairs
    if not len(edges):
        return Bridges(edges, 0)
    tree = _spanning_forest(edges, graph.n_samples)
    # Of both ends of an edge, the later one in preorder is below it in the tree, or beside the other.
    later = np.where(tree.numbers[edges[:, 0]] > tree.numbers[edges[:, 1]], edges[:, 0], edges[:, 1])
    blocks = _blocks(edges, tree)[later]
    is_thin = np.bincount(blocks, minlength=graph.n_samples)[blocks] == 1
    by_sample, n_hanging = _of_hinges(edges, blocks, tree, graph.n_neighbors)
    return Bridges(edges[is_thin | by_sample], n_hanging)


def _of_hinges(edges: IndexArray, blocks: IndexArray, tree: Tree, k: int) -> tuple[BoolArray, int]:
    """Which edges are thin because one of their ends is all that holds parts of more than k samples together."""
    n, m = len(tree.parents), len(edges)
    # Each edge counts at both of its ends: a part is an end and a block. Few samples have edges of several blocks.
    ends, of_edge = edges.T.ravel(), np.tile(np.arange(m), 2)
    last_block = np.zeros(n, dtype=np.intp)
    last_block[ends] = blocks[of_edge]
    has_several = np.zeros(n, dtype=bool)
    has_several[ends[last_block[ends] != blocks[of_edge]]] = True
    ends, of_edge = ends[has_several[ends]], of_edge[has_several[ends]]
    is_thin = np.zeros(m, dtype=bool)
    if not len(ends):
        return is_thin, 0
    codes, part, n_edges = np.unique(ends * n + blocks[of_edge], return_inverse=True, return_counts=True)
    samples, part_blocks = np.divmod(codes, n)
    sizes = _part_sizes(samples, part_blocks, edges, blocks, tree)
    is_large = sizes > k
    is_hinge = np.bincount(samples[is_large], minlength=n) > 1
    # The part that most edges lead to, then the largest, is what the others hang by.
    order = np.lexsort((sizes, n_edges, is_large, samples))
    is_last = np.append(samples[order][1:] != samples[order][:-1], True)
    hangs = np.zeros(len(codes), dtype=bool)
    hangs[order[~is_last]] = True
    hangs &= is_large & is_hinge[samples]
    is_thin[of_edge[hangs[part]]] = True
    held = np.zeros(n, dtype=np.intp)
    held[samples[order[is_last]]] = sizes[order[is_last]]
    return is_thin, int(np.minimum(sizes, held[samples])[hangs].max(initial=0))


def _part_sizes(
    samples: IndexArray, part_blocks: IndexArray, edges: IndexArray, blocks: IndexArray, tree: Tree
) -> IndexArray:
    """Samples that each sample's edges of a block lead to, once it is gone: a size for each pair of the two."""
    n = len(tree.parents)
    # Edges of the tree lead to a child from its parent.
    of_tree, side = np.nonzero(tree.parents[edges] == edges[:, ::-1])
    child = edges[of_tree, side]
    block_above = np.full(n, -1)
    block_above[child] = blocks[of_tree]
    # Below a sample, a part is all that is below its children of that block; above it, all that is left.
    below = np.unique(tree.parents[child] * n + block_above[child], return_inverse=True)
    totals = np.bincount(below[1], tree.sizes[child], minlength=len(below[0])).astype(np.intp)
    sizes = np.zeros(len(samples), dtype=np.intp)
    is_below = block_above[samples] != part_blocks
    sizes[is_below] = totals[np.searchsorted(below[0], samples[is_below] * n + part_blocks[is_below])]
    # A child's block may be the sample's own: it is then a part of what is above.
    parts_below = np.bincount(samples[is_below], sizes[is_below], minlength=n).astype(np.intp)
    # The first sample of the piece of each.
    root = np.where(tree.parents >= 0, tree.parents, np.arange(n))
    while (root[root] != root).any():
        root = root[root]
    whole = tree.sizes[root]
    sizes[~is_below] = (whole - 1 - parts_below)[samples[~is_below]]
    return sizes


def _blocks(edges: IndexArray, tree: Tree) -> IndexArray:
    """Number of the block of the tree's edge above each sample, (n,); the first sample of a piece has one for itself.

    Edges above v and w are of one block if an edge leads between v and w that are not above each other, and those
    above w and its parent if an edge leads from below w to beyond what is below the parent.
    """
    n, numbers, parents = len(tree.parents), tree.numbers, tree.parents
    beside = (parents[edges] != edges[:, ::-1]).all(axis=1)
    earlier, later = np.sort(numbers[edges[beside]], axis=1).T
    at = np.argsort(numbers)
    first, last = numbers.copy(), numbers.copy()
    for one, other in (edges[beside].T, edges[beside].T[::-1]):
        np.minimum.at(first, one, numbers[other])
        np.maximum.at(last, one, numbers[other])
    first, last = _over_subtrees(np.minimum, first, parents), _over_subtrees(np.maximum, last, parents)
    below = np.flatnonzero((parents >= 0) & (parents[parents] >= 0))
    above = parents[below]
    leaves = (first[below] < numbers[above]) | (last[below] >= numbers[above] + tree.sizes[above])
    # In a breadth-first tree no edge leads to an ancestor beside those of the tree.
    same = np.vstack([np.column_stack([at[earlier], at[later]]), np.column_stack([below, above])[leaves]])
    return connected_components(_matrix(same, n), directed=False)[1].astype(np.intp)


def _spanning_forest(edges: IndexArray, n: int) -> Tree:
    """A breadth-first tree of each piece."""
    _, first = np.unique(connected_components(_matrix(edges, n), directed=False)[1], return_index=True)
    # SciPy searches from one sample only: one more, linked to a sample of each piece, makes one tree of all.
    to_roots = np.column_stack([first, np.full(len(first), n)])
    _, parents = breadth_first_order(_matrix(np.vstack([edges, to_roots]), n + 1), n, directed=False)
    parents = np.where(parents[:n] == n, -1, parents[:n]).astype(np.intp)
    sizes = _over_subtrees(np.add, np.ones(n, dtype=np.intp), parents)
    # In preorder, a sample stands after its parent and all that is below those of its siblings that come before it.
    order = np.argsort(parents, kind="stable")
    before = np.cumsum(sizes[order]) - sizes[order]
    begins = np.append(True, parents[order][1:] != parents[order][:-1])
    numbers = np.empty(n, dtype=np.intp)
    numbers[order] = before - np.maximum.accumulate(np.where(begins, before, 0)) + (parents[order] >= 0)
    above = parents
    while (above >= 0).any():
        numbers = np.where(above >= 0, numbers + numbers[above], numbers)
        above = np.where(above >= 0, above[above], -1)
    return Tree(parents, numbers, sizes)


def _matrix(edges: IndexArray, n: int) -> SparseMatrix:
    return csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))


def _over_subtrees(join: np.ufunc, values: IndexArray, parents: IndexArray) -> IndexArray:
    """Sum, or whatever joins two values, of those of each sample and all below it in the forest.

    Reaches twice as deep in each round, so that a line of samples takes no longer than a bush: with what is joined over
    less than s generations, that of those just s generations below completes that over less than 2 s.
    """
    joined = values.copy()
    above = parents
    below = np.flatnonzero(above >= 0)
    while len(below):
        join.at(joined, above[below], joined[below])
        above = np.where(above >= 0, above[above], -1)
        below = below[above[below] >= 0]
    return joined
