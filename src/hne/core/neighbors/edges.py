"""NeighborGraph -> Edges, each pair of neighbors once, whoever lists whom; and graphs with more or fewer of them."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from hne._kernels import fill_rows, list_edges
from hne.core.records import BoolArray, FloatArray, IndexArray, NeighborGraph, SparseMatrix


@dataclass(frozen=True)
class Edges:
    """Pairs of neighbors, sorted by their ends; one or both of the ends list the other."""

    smaller: IndexArray  # (e,)
    larger: IndexArray  # (e,)
    is_listed: BoolArray  # (e, 2), whether the smaller lists the larger, and the other way round
    n_samples: int

    def __len__(self) -> int:
        return len(self.smaller)

    @property
    def pairs(self) -> IndexArray:
        """Both ends, (e, 2)."""
        return np.column_stack([self.smaller, self.larger])

    def chosen(self, which: BoolArray | IndexArray) -> "Edges":
        """Some of the edges."""
        return Edges(self.smaller[which], self.larger[which], self.is_listed[which], self.n_samples)

    def with_pairs(self, pairs: IndexArray) -> "Edges":
        """These edges and others, (p, 2), which nobody lists."""
        ends = np.concatenate([self.pairs, np.sort(pairs, axis=1)])
        order = np.lexsort(ends.T[::-1])
        listed = np.concatenate([self.is_listed, np.zeros((len(pairs), 2), dtype=bool)])
        return Edges(ends[order, 0], ends[order, 1], listed[order], self.n_samples)

    def entries(self, which: BoolArray) -> tuple[IndexArray, IndexArray, IndexArray]:
        """Some edges as rows of a symmetric matrix: where rows begin, columns, and the numbers of the edges."""
        numbers = np.flatnonzero(which)
        starts, columns, of_edges = (
            np.empty(size, dtype=np.intp) for size in (self.n_samples + 1, *[2 * len(numbers)] * 2)
        )
        fill_rows(self.smaller[numbers], self.larger[numbers], numbers, starts, columns, of_edges)
        return starts, columns, of_edges

    @cached_property
    def all_entries(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        """Entries of all edges."""
        return self.entries(np.ones(len(self), dtype=bool))

    def matrix(self, lengths: FloatArray, which: BoolArray) -> SparseMatrix:
        """Symmetric matrix of the lengths of some edges."""
        starts, columns, numbers = self.entries(which)
        return csr_array((lengths[numbers], columns, starts), shape=(self.n_samples, self.n_samples))

    def between(self, one: IndexArray, other: IndexArray) -> IndexArray:
        """Numbers of the edges between samples that are neighbors."""
        n = self.n_samples
        codes = self.smaller * n + self.larger
        return np.searchsorted(codes, np.minimum(one, other) * n + np.maximum(one, other))


def edges_of(graph: NeighborGraph) -> Edges:
    """The edges of a graph."""
    n_listed = int(np.count_nonzero(graph.indices >= 0))
    smaller, larger = np.empty(n_listed, dtype=np.intp), np.empty(n_listed, dtype=np.intp)
    is_listed = np.empty((n_listed, 2), dtype=bool)
    count = list_edges(np.ascontiguousarray(graph.indices, dtype=np.intp), smaller, larger, is_listed)
    return Edges(smaller[:count], larger[:count], is_listed[:count], graph.n_samples)


def keep_edges(graph: NeighborGraph, kept: BoolArray, rows: IndexArray | slice = slice(None)) -> NeighborGraph:
    """The graph with these of its edges alone, each row closed up; `kept` is of some rows, and all others stay."""
    order = np.argsort(~kept, axis=1, kind="stable")
    kept = np.take_along_axis(kept, order, axis=1)
    indices, distances = graph.indices.copy(), graph.distances.copy()
    indices[rows] = np.where(kept, np.take_along_axis(indices[rows], order, axis=1), -1)
    distances[rows] = np.where(kept, np.take_along_axis(distances[rows], order, axis=1), np.inf)
    return replace(graph, indices=indices, distances=distances)


def without_edges(graph: NeighborGraph, pairs: IndexArray) -> NeighborGraph:
    """The graph without the edges between these pairs, (p, 2), whoever lists whom."""
    n = graph.n_samples
    one, other = pairs.T
    both = np.concatenate([one * n + other, other * n + one])
    touched = np.unique(pairs)
    near = graph.indices[touched]
    return keep_edges(graph, (near >= 0) & ~np.isin(touched[:, None] * n + near, both), touched)


def with_edges(graph: NeighborGraph, pairs: IndexArray, lengths: FloatArray) -> NeighborGraph:
    """The graph with edges added, in both directions, to the neighbor lists of their ends.

    Rows widen where they must; each stays ascending by distance, then index, and lists a neighbor once. An end that has
    got as many edges as the graph is wide gets no more, for time grows with the fourth power of the widest row: the
    other end lists it, which connects the two as well.
    """
    ends, others, lengths = pairs.T.ravel(), pairs[:, ::-1].T.ravel(), np.tile(lengths, 2)
    order = np.lexsort((others, lengths, ends))
    rank = np.empty(len(ends), dtype=np.intp)
    rank[order] = np.arange(len(ends)) - np.searchsorted(ends[order], ends[order])
    # An edge between two ends that have enough is kept at its first.
    over = (rank >= graph.n_neighbors).reshape(2, -1)
    over[0] &= ~over[1]
    added = ~over.ravel()
    touched = np.unique(pairs)
    place, slots = np.nonzero(graph.indices[touched] >= 0)
    listed = touched[place]
    rows = np.concatenate([listed, ends[added]])
    columns = np.concatenate([graph.indices[listed, slots], others[added]])
    lengths = np.concatenate([graph.distances[listed, slots], lengths[added]])
    # The first of each (row, column) is the one that the graph has already.
    _, once = np.unique(rows * graph.n_samples + columns, return_index=True)
    order = once[np.lexsort((columns[once], lengths[once], rows[once]))]
    rows, columns, lengths = rows[order], columns[order], lengths[order]
    slots = np.arange(len(rows)) - np.searchsorted(rows, rows)
    wider = ((0, 0), (0, max(0, int(slots.max(initial=-1)) + 1 - graph.n_neighbors)))
    indices = np.pad(graph.indices, wider, constant_values=-1)
    distances = np.pad(graph.distances, wider, constant_values=np.inf)
    indices[rows, slots], distances[rows, slots] = columns, lengths
    return replace(graph, indices=indices, distances=distances)
