"""Eigenvectors V (n, m), Pairs -> B (m, d): the map Y = V B that keeps local lengths and spreads the most.

Of all maps that keep the lengths of near pairs, the unfolded one has the largest variance. Within the span of a few
eigenvectors that is a small convex problem (Weinberger, Sha, Zhu and Saul 2006), without a start, folds or landmarks:
with a_e = (v_i - v_j) / d_e for the pair e, over positive semidefinite P = B B' (m, m),

    minimize  mean_e (a_e' P a_e - 1)^2 / 2  -  lambda (trace of P in units of the columns)

by ADMM. Then B is polished: the mean of (|B' a_e| - 1)^2, the stress of near pairs, falls by majorization (SMACOF).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from hne.core.neighbors.edges import Edges
from hne.core.records import FloatArray, IndexArray
from hne.core.samples.kinds import Samples
from hne.core.short_circuits.cut import lengths_of_pairs

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
# How much spreading counts beside lengths: .03 and .3 do nearly the same after polishing, .001 and 1 fail.
SPREADING = 0.1
ADMM_STEPS, POLISHING_STEPS = 400, 60
# What the penalty of ADMM is, in mean eigenvalues of the quadratic form.
PENALTY = 0.1
# ADMM has come to rest when its iterates move by less than this share of themselves.
AT_REST = 1e-6
# Columns whose slopes are below this share of the steepest are rounding.
FLAT = 1e-10
# Ridge of a normal matrix, in shares of its trace.
RIDGE = 1e-12
TINY = 1e-12
# Pairs whose products are held at once: 7 MB for twenty eigenvectors.
BLOCK_PAIRS = 4096


@dataclass(frozen=True)
class Pairs:
    """Pairs of different samples with their distances, all positive."""

    first: IndexArray  # (p,)
    second: IndexArray  # (p,)
    lengths: FloatArray  # (p,), in the coordinates

    def ratios(self, vectors: FloatArray) -> FloatArray:
        """Differences of vectors in units of the distance of each pair, (p, m)."""
        return (vectors[self.first] - vectors[self.second]) / self.lengths[:, None]


def near_pairs(X: Samples, edges: Edges, max_pairs: int = MAX_PAIRS, pairs_a_sample: int = PAIRS_A_SAMPLE) -> Pairs:
    """Pairs within two hops in the graph, or some of them where they are many, in order."""
    n = edges.n_samples
    starts, columns, _ = edges.entries(np.ones(len(edges), dtype=bool))
    adjacency = csr_array((np.ones(len(columns), dtype=np.int32), columns, starts), shape=(n, n))
    draw = np.random.RandomState(0)
    rows = np.arange(n)
    # Drawn by samples first, so that no more than is needed is made of large graphs.
    if n * pairs_a_sample > 2 * max_pairs:
        rows = np.sort(draw.choice(n, 2 * max_pairs // pairs_a_sample, replace=False))
    within = csr_array(adjacency[rows] + adjacency[rows] @ adjacency)
    first = np.repeat(rows, np.diff(within.indptr))
    second = within.indices.astype(np.intp)
    # A pair whose other end is not drawn is seen from here alone; else from its smaller end.
    is_drawn = np.zeros(n, dtype=bool)
    is_drawn[rows] = True
    once = ((first < second) | ~is_drawn[second]) & (first != second)
    first, second = first[once], second[once]
    order = np.lexsort((second, first))
    if len(order) > max_pairs:
        order = order[np.sort(draw.choice(len(order), max_pairs, replace=False))]
    return _pairs_apart(X, first[order], second[order])


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
    return Pairs(first[apart], second[apart], lengths[apart])


def unfold(ratios: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """B (m, d), the leading eigenvectors of P times the roots of their eigenvalues, and all of these, descending."""
    slopes = np.sqrt((ratios**2).mean(axis=0))
    # A column that is flat wherever pairs are tells nothing of lengths.
    scale = np.where(slopes > FLAT * slopes.max(), 1 / np.maximum(slopes, np.finfo(np.float64).tiny), 0.0)
    scaled = ratios * scale
    rows, columns = np.triu_indices(scaled.shape[1])
    # Products off the diagonal stand for two entries of the matrix.
    double = np.where(rows == columns, 1.0, np.sqrt(2.0))
    form, pull = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
    for start in range(0, len(scaled), BLOCK_PAIRS):
        some = scaled[start : start + BLOCK_PAIRS]
        products = some[:, rows] * some[:, columns] * double
        form += products.T @ products / len(scaled)
        pull += products.sum(axis=0) / len(scaled)
    pull[rows == columns] += SPREADING * (scale / scale.max()) ** 2
    Q = _minimize(form, pull, rows, columns, double)
    values, vectors = np.linalg.eigh(scale[:, None] * Q * scale)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    return vectors[:, :n_components] * np.sqrt(values[:n_components]), values


def _minimize(
    form: FloatArray, pull: FloatArray, rows: IndexArray, columns: IndexArray, double: FloatArray
) -> FloatArray:
    """The positive semidefinite Q with the least q' form q / 2 - pull' q, q being its triangle."""
    m = int(rows.max()) + 1
    penalty = PENALTY * np.trace(form) / len(form)
    lower = np.linalg.cholesky(form + penalty * np.eye(len(form)))
    inverse_lower = np.linalg.solve(lower, np.eye(len(form)))
    inverse = inverse_lower.T @ inverse_lower
    Q, feasible, lag = np.zeros((m, m)), np.zeros(len(form)), np.zeros(len(form))
    for _ in range(ADMM_STEPS):
        free = inverse @ (pull + penalty * (feasible - lag))
        Q[rows, columns] = Q[columns, rows] = (free + lag) / double
        values, vectors = np.linalg.eigh(Q)
        Q = (vectors * np.maximum(values, 0.0)) @ vectors.T
        before, feasible = feasible, Q[rows, columns] * double
        lag += free - feasible
        moved = max(np.linalg.norm(feasible - before), np.linalg.norm(free - feasible))
        if moved <= AT_REST * np.linalg.norm(feasible):
            break
    return Q


def polish(ratios: FloatArray, B: FloatArray) -> FloatArray:
    """The map nearby with the least stress of near pairs."""
    normal = ratios.T @ ratios
    normal += RIDGE * np.trace(normal) * np.eye(len(normal))
    lower = np.linalg.cholesky(normal)
    for _ in range(POLISHING_STEPS):
        images = ratios @ B
        images /= np.maximum(np.sqrt(np.einsum("ij,ij->i", images, images)), TINY)[:, None]
        B = np.linalg.solve(lower.T, np.linalg.solve(lower, ratios.T @ images))
    return B


def stress_of(images: FloatArray) -> float:
    """Mean of (|y_i - y_j| / d_ij - 1)^2 over pairs, given (y_i - y_j) / d_ij."""
    return float(np.mean((np.sqrt(np.einsum("ij,ij->i", images, images)) - 1) ** 2))
