"""Eigenvectors V (n, m) -> maps Y = V B, B (m, d), that keep the lengths of near pairs.

Of all maps that keep the lengths of near pairs, the unfolded one has the largest variance. Within the span of a few
eigenvectors that is a small convex problem (Weinberger, Sha, Zhu and Saul 2006), without a start, folds or landmarks:
with a_e = (v_i - v_j) / d_e for the pair e, over positive semidefinite P (m, m),

    minimize  mean_e (a_e' P a_e - 1)^2 / 2  -  lambda (trace of P in units of the columns)

It is solved over P = B B' with some columns more than coordinates, which has no other minima (Burer and Monteiro 2003).
Then the first d are polished: the mean of (|B' a_e| - 1)^2, the stress of near pairs, is lowered by some steps.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from hne import _kernels
from hne.core.neighbors.edges import Edges
from hne.core.records import FloatArray, IndexArray
from hne.core.samples.kinds import Samples
from hne.core.short_circuits.cut import lengths_of_pairs

# Pairs that a chart is fitted to: of more, about so many at random. With 60 000 the error of a roll of 3 000 with noise
# is 1.34e-3, with 15 000 1.39e-3.
MAX_PAIRS = 20_000
# Pairs that unfold, at least, and of how many one: what they miss, polishing with all of them finds most of. Errors of
# 200 surfaces are about as with all pairs, those of bands 1.2 times as large. And those, some blocks, that begin it.
FEW_PAIRS, FEW_OF, FEWEST_PAIRS = 2000, 4, 496
# Pairs within two hops that a sample begins, about, on surfaces with ten neighbors.
PAIRS_A_SAMPLE = 8
# Squares of shorter lengths are not told from zero, and those of differences in units of them end float64.
SHORTEST = 1e-150
# Pairs so many times as short as most are near-copies: of them, eigenvectors tell less than they are wrong by, and in
# units of their distance that would outweigh all else.
NEAR_COPIES = 1e-3
# How much spreading counts beside lengths: .03 and .3 do nearly the same after polishing, .001 and 1 fail.
SPREADING = 0.1
# Columns of B beyond coordinates, and how large those begin. With one, a noisy roll (a single one was looked at) ends
# .2 % above the least value, with two less than .01 %.
MORE_COLUMNS, WIGGLE = 2, 0.1
# Most steps, and the share of the value below which a step gains too little to go on: bands of 25 to 1 need 200 until
# they are told from bent ones, rolls 50.
UNFOLDING_STEPS, NEARLY, UNFOLDED_TO = 400, 1e-4, 1e-7
# With momentum: so many go as far as 60 plain ones along what pairs hardly tell, and no farther, for at the least
# stress bands of 25 to 1 are bent (errors of .1 instead of .005).
POLISHING_STEPS = 16
# Columns whose slopes are below this share of the steepest are rounding.
FLAT = 1e-10
# Ridge of a normal matrix, in shares of its trace.
RIDGE = 1e-12
# Pairs in a block of the kernels.
LANES = 8


@dataclass(frozen=True)
class Pairs:
    """Pairs of different samples with their distances, all positive."""

    first: IndexArray  # (p,)
    second: IndexArray  # (p,)
    lengths: FloatArray  # (p,), in the coordinates

    def chosen(self, which: IndexArray) -> "Pairs":
        """Some of them."""
        return Pairs(self.first[which], self.second[which], self.lengths[which])

    def times(self, Y: FloatArray) -> FloatArray:
        """How many times as long as it is each is drawn, (p,)."""
        return lengths_of_pairs(Y, self.first, self.second) / self.lengths


def near_pairs(X: Samples, edges: Edges, max_pairs: int = MAX_PAIRS, pairs_a_sample: int = PAIRS_A_SAMPLE) -> Pairs:
    """Pairs within two hops in the graph, or about so many of them where they are many, in order."""
    n = edges.n_samples
    starts, columns, _ = edges.entries(np.ones(len(edges), dtype=bool))
    draw, rows = np.random.RandomState(0), np.arange(n)
    # Drawn by samples first, so that no more than is needed is made of large graphs.
    if n * pairs_a_sample > 2 * max_pairs:
        rows = np.sort(draw.choice(n, 2 * max_pairs // pairs_a_sample, replace=False))
    first, second = np.empty((2, _kernels.most_pairs(starts, columns, rows)), dtype=np.intp)
    count = _kernels.list_pairs(starts, columns, rows, first, second)
    which = slice(count) if count <= max_pairs else np.flatnonzero(draw.random_sample(count) < max_pairs / count)
    return _pairs_apart(X, first[which], second[which])


def listed_pairs(X: Samples, neighbor_indices: IndexArray) -> Pairs:
    """The same for more samples than edges are made of: some of those that a sample or its neighbors list."""
    n, k = neighbor_indices.shape
    draw = np.random.RandomState(0)
    rows = np.sort(draw.choice(n, min(n, 2 * MAX_PAIRS // PAIRS_A_SAMPLE), replace=False))
    near = neighbor_indices[rows]
    far = np.where((near >= 0)[:, :, None], neighbor_indices[near], -1).reshape(len(rows), k * k)
    first, second = np.repeat(rows, k + k * k), np.column_stack([near, far]).ravel()
    known = (second >= 0) & (second != first)
    codes = np.unique(first[known] * n + second[known])
    if len(codes) > MAX_PAIRS:
        codes = np.sort(draw.choice(codes, MAX_PAIRS, replace=False))
    return _pairs_apart(X, *np.divmod(codes, n))


def _pairs_apart(X: Samples, first: IndexArray, second: IndexArray) -> Pairs:
    """Those pairs whose distance is known and not next to zero, nor to that of others."""
    lengths = lengths_of_pairs(X, first, second)
    apart = lengths > SHORTEST
    if apart.any():
        apart &= lengths > NEAR_COPIES * np.median(lengths[apart])
    return Pairs(first, second, lengths) if apart.all() else Pairs(first[apart], second[apart], lengths[apart])


@dataclass(frozen=True)
class Ratios:
    """Differences a_e (m,) of vectors over pairs, in units of the distance of each."""

    pairs: Pairs
    vectors: FloatArray  # (n, m)

    @cached_property
    def blocks(self) -> FloatArray:
        """All of them, (b, m, LANES), zeros behind the last."""
        blocks = np.zeros((-(-len(self.pairs.first) // LANES), self.vectors.shape[1], LANES))
        vectors = np.ascontiguousarray(self.vectors)
        _kernels.pack_ratios(vectors, self.pairs.first, self.pairs.second, self.pairs.lengths, blocks)
        return blocks

    @cached_property
    def few(self) -> "Ratios":
        """Those over some of the pairs, drawn at random."""
        count = len(self.pairs.first)
        if count <= FEW_PAIRS:
            return self
        drawn = np.random.RandomState(0).permutation(count)[: max(FEW_PAIRS, count // FEW_OF)]
        return Ratios(self.pairs.chosen(drawn), self.vectors)

    @cached_property
    def scale(self) -> FloatArray:
        """One over the root mean square of each column of a few, (m,); zero where that tells nothing of lengths."""
        slopes = np.sqrt(np.diagonal(self.normal))
        return np.where(slopes > FLAT * slopes.max(), 1 / np.maximum(slopes, np.finfo(np.float64).tiny), 0.0)

    @cached_property
    def normal(self) -> FloatArray:
        """The mean of a_e a_e' over a few, (m, m)."""
        rows = self.few.blocks.transpose(1, 0, 2).reshape(self.vectors.shape[1], -1)
        return rows @ rows.T / len(self.few.pairs.first)

    @cached_property
    def root(self) -> FloatArray:
        """R (m, m), R R' the inverse of that."""
        values, vectors = np.linalg.eigh(self.scale[:, None] * self.normal * self.scale)
        return self.scale[:, None] * vectors / np.sqrt(np.maximum(values, 0.0) + RIDGE * len(values))

    @cached_property
    def inverse(self) -> FloatArray:
        """That inverse."""
        return self.root @ self.root.T

    def stress(self, B: FloatArray) -> float:
        """Mean of (|B' a_e| - 1)^2."""
        return polish(self, B, 0)[1]


def unfold(ratios: Ratios, d: int, first: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """B (m, d), the leading eigenvectors of P times the roots of their eigenvalues, and all of these, descending.

    `first` (d, d) is the same of the first d vectors, if it is known.
    """
    few, m = ratios.few, ratios.vectors.shape[1]
    if m <= d:
        B = ratios.root / np.sqrt(m)
    else:
        if first is None:
            first, _ = unfold(Ratios(few.pairs, few.vectors[:, :d]), d)
        B = ratios.root @ _wiggle(m, min(m, d + MORE_COLUMNS))
        B[:d, :d] += first
    pull = SPREADING / ratios.scale.max() ** 2
    count = len(few.pairs.first)
    if count >= FEW_PAIRS:
        # Drawn in no order: from far away, the first of them show the way.
        _kernels.descend_spread(few.blocks, FEWEST_PAIRS, pull, ratios.inverse, B, UNFOLDING_STEPS, NEARLY)
    _kernels.descend_spread(few.blocks, count, pull, ratios.inverse, B, UNFOLDING_STEPS, UNFOLDED_TO)
    left, lengths, _ = np.linalg.svd(B, full_matrices=False)
    return left[:, :d] * lengths[:d], np.pad(lengths**2, (0, m - len(lengths)))


@cache
def _wiggle(m: int, columns: int) -> FloatArray:
    """What a start is disturbed by, so that no column of it stays zero."""
    size = (m, columns)
    return WIGGLE / np.sqrt(m * columns) * np.random.RandomState(0).standard_normal(size)


def polish(ratios: Ratios, B: FloatArray, steps: int = POLISHING_STEPS) -> tuple[FloatArray, float]:
    """The map nearby with the least stress of near pairs, and that stress."""
    B = np.array(B, order="C")
    return B, _kernels.descend_stress(ratios.blocks, len(ratios.pairs.first), ratios.inverse, B, steps)
