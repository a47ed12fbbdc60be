"""Eigenvectors, NeighborGraph -> Y: lengths of ways along the graph kept, where local lengths fit into no plane.

Some landmarks, each as far as can be from those before; D_li, the shortest way from landmark l to sample i; and

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

from hne.core.records import ALONG_GRAPH, BETWEEN, FIRST_EIGENVECTORS, STRAIGHT, FloatArray, IndexArray, SparseMatrix
from hne.core.samples.kinds import Samples
from hne.core.short_circuits.cut import lengths_of_pairs

# Landmarks, and numbers in their matrix of ways that are not exceeded for many samples.
LANDMARKS, MOST_WAYS, FEWEST_LANDMARKS = 100, 4_000_000, 12
STEPS = 60
# Steps over Y itself go half of the way.
FREE_SHARE = 0.5
RIDGE = 1e-12
# Samples nearer than this share of the longest way lie at one place.
SAME_PLACE = 1e-12
# Ways shorter than this share of the longest count no more for it: those to near-copies would outweigh all others.
NEAR_COPIES = 1e-4
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
        lengths = np.maximum(self.lengths, NEAR_COPIES * self.lengths.max())
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
