"""Eigenvectors V (n, m), graph -> charts Y (n, d) that keep shortest-path distances along the graph.

With some landmarks, each as far as can be from those before, and D_li the shortest path from landmark l to sample i,

    minimize  sum_li (|y_l - y_i| - D_li)^2 / D_li

over B with Y = V B, by majorization from where landmark MDS is nearest in the span; then, from there, over Y itself.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from hne import _kernels
from hne._runtime.threads import map_blocks
from hne.core.chart.lengths import RIDGE
from hne.core.pieces.arrange import scale_by_landmarks
from hne.core.records import FloatArray, IndexArray
from hne.core.tangent.frames import drawn_rows

# Landmarks, and numbers in their matrix of ways that are not exceeded for many samples.
LANDMARKS, MOST_WAYS, FEWEST_LANDMARKS = 100, 4_000_000, 12
# Landmarks whose ways are searched in one go, and samples by which a map of the eigenvectors is fitted to ways.
LANDMARKS_A_BLOCK, FITTED = 52, 2000
# With momentum: as far as 60 without it.
STEPS = 20
# Steps over Y itself go half of the way.
FREE_SHARE = 0.5
# Samples nearer than this share of the longest way lie at one place.
SAME_PLACE = 1e-12
# Ways shorter than this share of the longest count no more for it: those to near-copies would outweigh all others.
SHORTEST_WAY = 1e-4
# Free steps from the span of the eigenvectors: without any, groups of samples are drawn as lines; with more than the
# second number, what the span smooths is lost.
FEW_STEPS, MORE_STEPS = 3, 10


@dataclass(frozen=True)
class Net:
    """A connected graph with the lengths of its edges, a row of them for each sample."""

    starts: IndexArray  # (n + 1,)
    columns: IndexArray  # (e,)
    lengths: FloatArray  # (e,)

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""
        return len(self.starts) - 1

    def ways_from(self, sources: IndexArray) -> FloatArray:
        """Lengths of the shortest ways from some samples to all, (s, n)."""
        ways = np.empty((len(sources), self.n_samples))
        _kernels.shortest_ways(self.starts, self.columns, self.lengths, sources, ways)
        return ways


@dataclass(frozen=True)
class Ways:
    """Shortest ways along the graph from some landmarks to all samples."""

    landmarks: IndexArray  # (l,)
    lengths: FloatArray  # (l, n)

    @cached_property
    def longest(self) -> float:
        """The length of the longest."""
        return float(self.lengths.max())

    @cached_property
    def shares(self) -> FloatArray:
        """What each way counts times its length, (l, n): one; less for the shortest, nothing for those of none."""
        return self.lengths / np.maximum(self.lengths, max(SHORTEST_WAY * self.longest, np.finfo(np.float64).tiny))

    @cached_property
    def weights(self) -> FloatArray:
        """What each way counts, (l, n): 1 / D_li."""
        return self.shares / np.where(self.lengths > 0, self.lengths, 1.0)

    @cached_property
    def rows(self) -> IndexArray:
        """The samples by which a map is judged: all, or some at random."""
        return drawn_rows(self.lengths.shape[1], FITTED)

    @cached_property
    def to_rows(self) -> "Ways":
        """The ways to those samples alone; landmarks are not among them."""
        every = len(self.rows) == self.lengths.shape[1]
        return self if every else Ways(self.landmarks, np.ascontiguousarray(self.lengths[:, self.rows]))

    def pulls(self, Y: FloatArray, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How the ways pull at samples Y (n, d), and at the landmarks in their places (l, d)."""
        at_samples, at_landmarks = np.empty(Y.shape[::-1]), np.empty(places.shape)
        least = SAME_PLACE * self.longest
        _kernels.pull_ways(np.ascontiguousarray(Y.T), places, self.shares, least, at_samples, at_landmarks)
        return at_samples.T, at_landmarks

    def stress(self, Y: FloatArray) -> float:
        """Share of the ways that an embedding does not keep at the size that suits it best, 0 to 1."""
        some, drawn = self.to_rows, cdist(Y[self.landmarks], Y[self.rows])
        both, squares = float((some.shares * drawn).sum()), float((some.weights * drawn**2).sum())
        kept = both**2 / max(squares * float((some.shares * some.lengths).sum()), np.finfo(np.float64).tiny)
        return max(0.0, 1 - kept)


def farthest_first(net: Net, n_threads: int = 1) -> Ways:
    """Ways from landmarks of a connected graph: the first lies at one end of it, each next farthest from all before."""
    n = net.n_samples
    landmarks = np.empty(min(n, LANDMARKS, max(FEWEST_LANDMARKS, MOST_WAYS // n)), dtype=np.intp)
    landmarks[0] = np.argmax(net.ways_from(np.zeros(1, dtype=np.intp)))
    landmarks = landmarks[: _kernels.spread_landmarks(net.starts, net.columns, net.lengths, landmarks)]
    blocks = [landmarks[first : first + LANDMARKS_A_BLOCK] for first in range(0, len(landmarks), LANDMARKS_A_BLOCK)]
    return Ways(landmarks, np.concatenate(list(map_blocks(net.ways_from, blocks, n_threads))))


def landmark_scaling(ways: Ways, n_components: int) -> FloatArray:
    """Compute coordinates whose distances to the landmarks are nearest to the shortest paths."""
    return scale_by_landmarks(ways.lengths, ways.landmarks, n_components)


def minimize_stress(vectors: FloatArray, ways: Ways, B: FloatArray) -> FloatArray:
    """B (m, d), improved until V B keeps the ways best."""
    ends, some = vectors[ways.landmarks], ways.to_rows
    vectors = vectors[ways.rows]
    across = vectors.T @ (some.weights.T @ ends)
    normal = (vectors * some.weights.sum(axis=0)[:, None]).T @ vectors
    normal += (ends * some.weights.sum(axis=1)[:, None]).T @ ends - (across + across.T)
    normal += RIDGE * np.trace(normal) * np.eye(len(normal))
    ahead, momentum = B, 1.0
    for _ in range(STEPS):
        at_samples, at_landmarks = some.pulls(vectors @ ahead, ends @ ahead)
        target = vectors.T @ at_samples + ends.T @ at_landmarks
        following = np.linalg.solve(normal, target)
        move, B = following - B, following
        # Momentum (Nesterov 1983) ends where it leads uphill.
        leads_up = np.vdot(normal @ ahead - target, move) > 0
        grown = 1.0 if leads_up else (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, momentum = B + (0.0 if leads_up else (momentum - 1) / grown) * move, grown
    return B


def relax(Y: FloatArray, ways: Ways, steps: int) -> FloatArray:
    """Y after so many steps by which each sample goes halfway to where its ways to the landmarks want it."""
    limits = (SHORTEST_WAY * ways.longest, SAME_PLACE * ways.longest)
    now = np.ascontiguousarray(Y.T)
    for _ in range(steps):
        relaxed, places = np.empty_like(now), np.ascontiguousarray(now[:, ways.landmarks].T)
        _kernels.relax_ways(now, places, ways.lengths, *limits, FREE_SHARE, relaxed)
        now = relaxed
    return np.ascontiguousarray(now.T)


def draw_along_graph(vectors: FloatArray, ways: Ways, first_map: FloatArray) -> list[FloatArray]:
    """Draw charts that keep shortest-path distances: near the span of the eigenvectors, and farther from it.

    `first_map` (d, d) gives the first eigenvectors the distances of near pairs.
    """
    d = first_map.shape[1]
    starts = (vectors.T @ landmark_scaling(ways, d), np.pad(first_map, ((0, vectors.shape[1] - d), (0, 0))))
    maps = [minimize_stress(vectors, ways, B) for B in starts]
    near = relax(vectors @ min(maps, key=lambda B: ways.stress(vectors @ B)), ways, FEW_STEPS)
    return [near, relax(near, ways, MORE_STEPS - FEW_STEPS)]
