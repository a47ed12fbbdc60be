"""NeighborGraph -> Edges: each pair of neighbors once, whoever lists whom."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from hne.core.records import BoolArray, FloatArray, IndexArray, NeighborGraph, SparseMatrix, index_kind


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
        rows = np.concatenate([self.smaller[numbers], self.larger[numbers]])
        columns = np.concatenate([self.larger[numbers], self.smaller[numbers]])
        order = np.lexsort((columns, rows))
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.n_samples))])
        return starts, columns[order], np.tile(numbers, 2)[order]

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
    n = graph.n_samples
    rows, slots = np.nonzero(graph.indices >= 0)
    columns = graph.indices[rows, slots]
    codes = np.minimum(rows, columns) * n + np.maximum(rows, columns)
    order = np.argsort(codes, kind="stable")
    codes, is_by_smaller = codes[order], (rows < columns)[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1) > 0)
    listed = [np.maximum.reduceat(way, starts) if len(starts) else way for way in (is_by_smaller, ~is_by_smaller)]
    smaller, larger = np.divmod(codes[starts], n)
    return Edges(smaller.astype(np.intp), larger.astype(np.intp), np.column_stack(listed), n)


def without_edges(graph: NeighborGraph, cut: Edges) -> NeighborGraph:
    """The graph without these edges, each row closed up."""
    n = graph.n_samples
    both = np.concatenate([cut.smaller * n + cut.larger, cut.larger * n + cut.smaller])
    touched = np.unique(cut.pairs)
    codes = touched[:, None] * n + graph.indices[touched]
    kept = (graph.indices[touched] >= 0) & ~np.isin(codes, both)
    order = np.argsort(~kept, axis=1, kind="stable")
    kept = np.take_along_axis(kept, order, axis=1)
    indices, distances = graph.indices.copy(), graph.distances.copy()
    indices[touched] = np.where(kept, np.take_along_axis(indices[touched], order, axis=1), -1)
    distances[touched] = np.where(kept, np.take_along_axis(distances[touched], order, axis=1), np.inf)
    return replace(graph, indices=indices, distances=distances)


def spanning_forest(edges: Edges, is_suspect: BoolArray, suspicion: FloatArray) -> BoolArray:
    """Which suspects are needed, the least suspicious first, to keep together what the graph keeps together."""
    needed = np.zeros(len(edges), dtype=bool)
    n = edges.n_samples
    count, labels = connected_components(edges.matrix(np.ones(len(edges)), ~is_suspect), directed=False)
    suspects = np.flatnonzero(is_suspect)
    ends = np.sort(labels[edges.pairs[suspects]], axis=1).astype(np.int64)
    across = ends[:, 0] != ends[:, 1]
    suspects, ends = suspects[across], ends[across]
    if not len(suspects):
        return needed
    # Ranks are unequal where suspicions tie, so that the forest is one and the same.
    order = np.lexsort((suspects, suspicion[suspects]))
    suspects, codes = suspects[order], ends[order, 0] * n + ends[order, 1]
    _, first = np.unique(codes, return_index=True)
    # SciPy 1.15 has this for indices of 32 bits alone, and keeps those it is given.
    rows, columns = (ends.astype(index_kind(count)) for ends in np.divmod(codes[first], n))
    forest = minimum_spanning_tree(csr_array((first + 1.0, (rows, columns)), shape=(count, count)))
    needed[suspects[forest.data.astype(np.intp) - 1]] = True
    return needed
