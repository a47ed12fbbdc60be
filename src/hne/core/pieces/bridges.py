"""NeighborGraph -> Bridges: what a piece would fall in two without, an edge or all edges of one sample to a part.

Both are read off the blocks of the graph, sets of edges any two of which lie on one circle: a block of one edge is a
bridge, and a sample with edges of several blocks is all that holds these together.
"""

from dataclasses import dataclass

import numpy as np

from hne._kernels import fill_blocks
from hne.core.neighbors.edges import edges_of
from hne.core.records import BoolArray, IndexArray, NeighborGraph


@dataclass(frozen=True)
class Bridges:
    """The thin edges of a graph, and what hangs by one sample."""

    pairs: IndexArray  # (m, 2), pairs (smaller, larger) of samples, sorted
    n_hanging: int  # samples of the largest part that one sample holds to a larger one; 0 where none does


@dataclass(frozen=True)
class Tree:
    """A spanning forest: of each sample its parent, and how many it is above, itself too."""

    parents: IndexArray  # -1 for the first sample of a piece
    sizes: IndexArray


def find_bridges(graph: NeighborGraph) -> Bridges:
    """Find the edges without which a piece would fall in two, and those of samples without which it would.

    Of a sample, only parts larger than a neighborhood count that hang together by it alone: its edges to all of them
    are thin but to that to which it has the most.
    """
    edges, n = edges_of(graph), graph.n_samples
    tree, blocks = Tree(np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)), np.empty(len(edges), dtype=np.intp)
    n_blocks = fill_blocks(*edges.all_entries, tree.parents, tree.sizes, blocks)
    if n_blocks <= 1 < len(edges):
        return Bridges(edges.pairs[:0], 0)
    is_thin = np.bincount(blocks, minlength=n_blocks)[blocks] == 1
    by_sample, n_hanging = _of_hinges(edges.pairs, blocks, tree, graph.n_neighbors)
    return Bridges(edges.pairs[is_thin | by_sample], n_hanging)


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
