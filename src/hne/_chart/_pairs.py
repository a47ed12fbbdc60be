"""X, Edges or lists -> Pairs: samples within two hops of each other, and how far apart they are."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from hne._circuits import Edges, lengths_of_pairs
from hne._samples import Samples
from hne._types import FloatArray, IndexArray

# Pairs that a chart is fitted to: of more, so many at random. With 60 000 the error of a roll of 3 000 with noise is
# 1.34e-3, with 15 000 1.39e-3, in a sixth of the time.
MAX_PAIRS = 20_000
# Pairs within two hops that a sample begins, about, on surfaces with ten neighbors.
PAIRS_A_SAMPLE = 8
# Squares of shorter lengths are not told from zero, and those of differences in units of them end float64.
SHORTEST = 1e-150
# Pairs so many times as short as most are near-copies: of them, eigenvectors tell less than they are wrong by, and in
# units of their distance that would outweigh all else.
NEAR_COPIES = 1e-3


@dataclass(frozen=True)
class Pairs:
    """Pairs of different samples with their distances, all positive."""

    first: IndexArray  # (p,)
    second: IndexArray  # (p,)
    lengths: FloatArray  # (p,), in the coordinates

    def __len__(self) -> int:
        return len(self.first)

    def ratios(self, vectors: FloatArray) -> FloatArray:
        """Differences of vectors in units of the distance of each pair, (p, m)."""
        differences: FloatArray = (vectors[self.first] - vectors[self.second]) / self.lengths[:, None]
        return differences


def near_pairs(X: Samples, edges: Edges) -> Pairs:
    """Pairs within two hops in the graph, or some of them where they are many, in order."""
    n = edges.n_samples
    starts, columns, _ = edges.entries(np.ones(len(edges), dtype=bool))
    adjacency = csr_array((np.ones(len(columns), dtype=np.int32), columns, starts), shape=(n, n))
    draw = np.random.RandomState(0)
    rows = np.arange(n)
    # Drawn by samples first, so that no more than is needed is made of large graphs.
    if n * PAIRS_A_SAMPLE > 2 * MAX_PAIRS:
        rows = np.sort(draw.choice(n, 2 * MAX_PAIRS // PAIRS_A_SAMPLE, replace=False))
    within = csr_array(adjacency[rows] + adjacency[rows] @ adjacency)
    first = np.repeat(rows, np.diff(within.indptr))
    second = within.indices.astype(np.intp)
    # A pair whose other end is not drawn is seen from here alone; else from its smaller end.
    is_drawn = np.zeros(n, dtype=bool)
    is_drawn[rows] = True
    once = (first < second) | ~is_drawn[second]
    once &= first != second
    first, second = first[once], second[once]
    order = np.lexsort((second, first))
    if len(order) > MAX_PAIRS:
        order = order[np.sort(draw.choice(len(order), MAX_PAIRS, replace=False))]
    first, second = first[order], second[order]
    return _apart(X, first, second)


def listed_pairs(X: Samples, lists: IndexArray) -> Pairs:
    """The same for more samples than edges are made of: some of those that a sample or its neighbors list."""
    n, k = lists.shape
    draw = np.random.RandomState(0)
    rows = np.sort(draw.choice(n, min(n, 2 * MAX_PAIRS // PAIRS_A_SAMPLE), replace=False))
    near = lists[rows]
    far = np.where((near >= 0)[:, :, None], lists[near], -1).reshape(len(rows), k * k)
    first, second = np.repeat(rows, k + k * k), np.column_stack([near, far]).ravel()
    known = (second >= 0) & (second != first)
    codes = np.unique(first[known] * n + second[known])
    if len(codes) > MAX_PAIRS:
        codes = np.sort(draw.choice(codes, MAX_PAIRS, replace=False))
    return _apart(X, *np.divmod(codes, n))


def _apart(X: Samples, first: IndexArray, second: IndexArray) -> Pairs:
    """Those pairs whose distance is known and not next to zero, nor to that of others."""
    lengths = lengths_of_pairs(X, first, second)
    apart = lengths > SHORTEST
    if apart.any():
        apart &= lengths > NEAR_COPIES * np.median(lengths[apart])
    return Pairs(first[apart], second[apart], lengths[apart])
