"""Eigenvectors V (n, m) -> maps Y = V B, B (m, d), that keep lengths: of near pairs, or of ways along the graph.

**Unfolding.** Of all maps that keep the lengths of near pairs, the unfolded one has the largest variance. Within the
span of a few eigenvectors that is a small convex problem (Weinberger, Sha, Zhu and Saul 2006), without a start, folds
or landmarks: with a_e = (v_i - v_j) / d_e for the pair e, over positive semidefinite P = B B' (m, m),

    minimize  mean_e (a_e' P a_e - 1)^2 / 2  -  lambda (trace of P in units of the columns)

by ADMM. Then B is polished: the mean of (|B' a_e| - 1)^2, the stress of near pairs, falls by majorization (SMACOF).

**Ways along the graph**, where local lengths fit into no plane. Some landmarks, each as far as can be from those
before; D_li, the shortest way from landmark l to sample i; and

    minimize  sum_li (|y_l - y_i| - D_li)^2 / D_li

over B with Y = V B, by majorization from where landmark MDS is nearest in the span; or, from there, over Y itself.
D is the way along the graph, the straight line, or the geometric mean of both.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from hne.core.neighbors.edges import Edges
from hne.core.records import ALONG_GRAPH, BETWEEN, FIRST_EIGENVECTORS, STRAIGHT, FloatArray, IndexArray, SparseMatrix
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


# Landmarks, and numbers in their matrix of ways that are not exceeded for many samples.
LANDMARKS, MOST_WAYS, FEWEST_LANDMARKS = 100, 4_000_000, 12
STEPS = 60
# Steps over Y itself go half of the way.
FREE_SHARE = 0.5
# Samples nearer than this share of the longest way lie at one place.
SAME_PLACE = 1e-12
# Ways shorter than this share of the longest count no more for it: those to near-copies would outweigh all others.
SHORTEST_WAY = 1e-4
# Free steps from the span of the eigenvectors: without any, groups of samples are drawn as lines; with more than the
# second number, what the span smooths is lost.
FEW_STEPS, MORE_STEPS = 3, 10
# A picture is crowded where a hundredth of it, 4 of 20 x 20 cells, holds more than a third of the samples.
CELLS, FULLEST, CROWDED = 20, 4, 1 / 3


@dataclass(frozen=True)
class Ways:
    """Shortest ways along the graph from some landmarks to all samples."""

    landmarks: IndexArray  # (l,)
    lengths: FloatArray  # (l, n)

    def weights(self) -> FloatArray:
        """What each way counts: 1 / D_li, nothing for those of length zero."""
        is_way = self.lengths > 0
        lengths = np.maximum(self.lengths, SHORTEST_WAY * self.lengths.max())
        return np.where(is_way, 1 / np.where(is_way, lengths, 1.0), 0.0)

    def pulls(self, Y: FloatArray, weights: FloatArray) -> FloatArray:
        """Weights times the length of each way over the distance that stands for it, of which none is zero."""
        distances = np.maximum(cdist(Y[self.landmarks], Y), SAME_PLACE * self.lengths.max())
        return weights * self.lengths / distances

    def stress(self, Y: FloatArray) -> float:
        """Share of the ways that an embedding does not keep at the size that suits it best, 0 to 1."""
        weights = self.weights()
        drawn = cdist(Y[self.landmarks], Y)
        both, squares = (weights * drawn * self.lengths).sum(), (weights * drawn**2).sum()
        kept = both**2 / max(squares * (weights * self.lengths**2).sum(), np.finfo(np.float64).tiny)
        return max(0.0, float(1 - kept))


def farthest_first(graph: SparseMatrix) -> Ways:
    """Ways from landmarks of a connected graph: the first lies at one end of it, each next farthest from all before."""
    n = graph.shape[0]
    count = min(n, LANDMARKS, max(FEWEST_LANDMARKS, MOST_WAYS // n))
    start = int(np.argmax(dijkstra(graph, indices=0)))
    chosen, ways = [start], [dijkstra(graph, indices=start)]
    nearest = ways[0].copy()
    while len(chosen) < count and nearest.max() > 0:
        chosen.append(int(np.argmax(nearest)))
        ways.append(dijkstra(graph, indices=chosen[-1]))
        np.minimum(nearest, ways[-1], out=nearest)
    return Ways(np.array(chosen), np.array(ways))


def landmark_scaling(ways: Ways, n_components: int) -> FloatArray:
    """Coordinates of all samples whose distances to the landmarks are nearest to the ways (de Silva and Tenenbaum)."""
    between = ways.lengths[:, ways.landmarks] ** 2
    means = between.mean(axis=0)
    centered = between - means - means[:, None] + means.mean()
    values, vectors = np.linalg.eigh(-centered / 2)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    # Landmarks on a line have no second axis.
    axes = vectors * np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1.0)), 0.0)
    Y = (means[:, None] - ways.lengths**2).T @ axes / 2
    return np.pad(Y - Y.mean(axis=0), ((0, 0), (0, n_components - Y.shape[1])))


def minimize_stress(vectors: FloatArray, ways: Ways, B: FloatArray) -> FloatArray:
    """B (m, d), improved until V B keeps the ways best."""
    weights = ways.weights()
    ends = vectors[ways.landmarks]
    across = vectors.T @ (weights.T @ ends)
    normal = (vectors * weights.sum(axis=0)[:, None]).T @ vectors + (ends * weights.sum(axis=1)[:, None]).T @ ends
    normal -= across + across.T
    normal += RIDGE * np.trace(normal) * np.eye(len(normal))
    for _ in range(STEPS):
        Y = vectors @ B
        pull = ways.pulls(Y, weights)
        ours = Y[ways.landmarks]
        target = (vectors * pull.sum(axis=0)[:, None]).T @ Y + (ends * pull.sum(axis=1)[:, None]).T @ ours
        target -= vectors.T @ (pull.T @ ours) + ends.T @ (pull @ Y)
        B = np.linalg.solve(normal, target)
    return B


def relax(Y: FloatArray, ways: Ways, steps: int) -> FloatArray:
    """Y after so many steps by which each sample goes halfway to where its ways to the landmarks want it."""
    weights = ways.weights()
    total = weights.sum(axis=0)[:, None]
    for _ in range(steps):
        ours = Y[ways.landmarks]
        pull = ways.pulls(Y, weights)
        wanted = (weights.T @ ours + pull.sum(axis=0)[:, None] * Y - pull.T @ ours) / total
        Y = (1 - FREE_SHARE) * Y + FREE_SHARE * wanted
    return Y


@dataclass(frozen=True)
class Picture:
    """Coordinates of any size, and what they keep."""

    route: str
    Y: FloatArray  # (n, d)

    @cached_property
    def is_crowded(self) -> bool:
        """Whether the first two coordinates crowd in a small part of their range."""
        if self.Y.shape[1] < 2:
            return False
        counts, _, _ = np.histogram2d(self.Y[:, 0], self.Y[:, 1], bins=CELLS)
        return bool(np.sort(counts, axis=None)[-FULLEST:].sum() > CROWDED * len(self.Y))


def candidate_pictures(
    X: Samples, vectors: FloatArray, edge_lengths: SparseMatrix, ways: Ways, first_map: FloatArray
) -> list[Picture]:
    """The candidates; where all that keep lengths crowd, two more in which far samples are nearer.

    `first_map` (d, d) gives the first eigenvectors the lengths of near pairs.
    """
    m, d = vectors.shape[1], first_map.shape[1]
    ends = np.meshgrid(ways.landmarks, np.arange(X.shape[0]), indexing="ij")
    lengths = lengths_of_pairs(X, *(end.ravel() for end in ends)).reshape(ways.lengths.shape)
    # The way where a distance is not known.
    straight = Ways(ways.landmarks, np.where(np.isnan(lengths), ways.lengths, lengths))
    between = Ways(ways.landmarks, np.sqrt(ways.lengths * straight.lengths))
    pictures = [
        *_draw(ALONG_GRAPH, vectors, ways, d, np.pad(first_map, ((0, m - d), (0, 0)))),
        *_draw(BETWEEN, vectors, between, d),
        Picture(STRAIGHT, relax(landmark_scaling(straight, d), straight, MORE_STEPS)),
    ]
    if all(picture.is_crowded for picture in pictures):
        # Edges count by their roots, so that a few far samples leave room for the others.
        parts = (np.sqrt(edge_lengths.data), edge_lengths.indices, edge_lengths.indptr)
        nearer = farthest_first(csr_array(parts, shape=edge_lengths.shape))
        pictures += _draw(ALONG_GRAPH, vectors, nearer, d)
    return [*pictures, Picture(FIRST_EIGENVECTORS, vectors[:, :d] @ first_map)]


def _draw(route: str, vectors: FloatArray, ways: Ways, d: int, *starts: FloatArray) -> list[Picture]:
    """The picture in the span of the eigenvectors that keeps the ways best, few steps from there, and more."""
    maps = [minimize_stress(vectors, ways, B) for B in (vectors.T @ landmark_scaling(ways, d), *starts)]
    near = relax(vectors @ min(maps, key=lambda B: ways.stress(vectors @ B)), ways, FEW_STEPS)
    return [Picture(route, near), Picture(route, relax(near, ways, MORE_STEPS - FEW_STEPS))]
