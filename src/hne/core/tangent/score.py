"""TangentScorer, Y -> TangentScore: how far an embedding can be believed, told without knowing the truth."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from hne._runtime.threads import limit_blas_threads
from hne.core.neighbors.graph import nearest_by
from hne.core.records import BoolArray, FloatArray, IndexArray, Pieces
from hne.core.samples.kinds import Distances, Samples, is_dense, take
from hne.core.tangent.frames import (
    MOST_NEIGHBORS,
    Dimension,
    Frames,
    dimension_of,
    drawn_rows,
    frame_neighbors,
    frames_among,
    nearest_of_rows,
)
from hne.settings import PRECOMPUTED, Settings

# Neighbors whose ranks are compared, samples whose neighbors are, and samples among which: of more, so many at random.
RANKED_NEIGHBORS, RANKED_ROWS, MAX_RANKED = 10, 120, 20_000
# What lost ranks and uneven stretching weigh beside lost tangents. With 1 or 3 for ranks the choice of settings fails
# badly. From 0.1 to 0.4 for the unevenness, its mean regret hardly changes; without it, it is half again as large.
RANK_WEIGHT, UNEVEN_WEIGHT = 0.3, 0.2
# So few samples with so many features are measured by all their distances, made once by products: a third of the time.
FEW_SAMPLES, MANY_FEATURES = 3000, 100
# Neighbors that a coordinate is told by, and samples that are looked at.
TELLING_NEIGHBORS, TELLING_ROWS = 8, 2000
# A neighborhood has collapsed where its narrowest side is less than this share of what even samples would have.
COLLAPSED_SIDE = 0.1
# Bins by which it is told how samples fill their range, and samples for each.
MOST_BINS, SAMPLES_A_BIN = 50, 4


@dataclass(frozen=True)
class Ranks:
    """Ranks of samples by their distance from some of them, q rows among r."""

    rows: IndexArray  # (q,), samples whose neighbors are compared
    among: IndexArray  # (r,), samples that are ranked
    ranks: NDArray[np.int32]  # (q, r), 0 for the row itself
    near: IndexArray  # (q, K), positions in `among` of the nearest, nearest first

    def among_chosen(self, chosen: BoolArray) -> "Ranks":
        """Ranks of the chosen samples among each other."""
        is_chosen, others = chosen[self.rows], np.flatnonzero(chosen[self.among])
        order = np.argsort(self.ranks[is_chosen][:, others], axis=1, kind="stable")
        ranks = np.empty(order.shape, dtype=np.int32)
        np.put_along_axis(ranks, order, np.arange(len(others), dtype=np.int32)[None, :], axis=1)
        K = min(self.near.shape[1], (len(others) - 1) // 2)
        return Ranks(self.rows[is_chosen], self.among[others], ranks, order[:, 1 : K + 1])

    def kept(self, Y: FloatArray) -> tuple[float, float]:
        """Trustworthiness and continuity of Y at K neighbors, over the rows."""
        K, r = self.near.shape[1], len(self.among)
        if K < 1 or not len(self.rows):
            return 1.0, 1.0
        away = cdist(Y[self.rows], Y[self.among], "sqeuclidean")
        away[np.arange(len(away)), np.searchsorted(self.among, self.rows)] = np.inf
        near_in_Y = np.argpartition(away, K - 1, axis=1)[:, :K]
        strangers = np.maximum(np.take_along_axis(self.ranks, near_in_Y, axis=1) - K, 0).sum()
        lengths = np.take_along_axis(away, self.near, axis=1)
        lost = sum(int(np.maximum((away < column[:, None]).sum(axis=1) + 1 - K, 0).sum()) for column in lengths.T)
        most = len(away) * K * (2 * r - 3 * K - 1) / 2
        return float(1 - strangers / most), float(1 - lost / most)


def ranks_of(X: Samples, settings: Settings, n_threads: int) -> Ranks:
    """Ranks around some samples, drawn at random."""
    n = X.shape[0]
    draw = np.random.RandomState(0)
    among = np.arange(n) if n <= MAX_RANKED else np.sort(draw.choice(n, MAX_RANKED, replace=False))
    r = len(among)
    positions = np.sort(draw.choice(r, min(RANKED_ROWS, r), replace=False))
    each, by = np.arange(len(positions)), (settings.metric, settings.metric_params)
    # Positions (q, r - 1) of the ranked samples by their distance from each row, itself left out.
    points = None if isinstance(X, Distances) else X if r == n else X[among]
    if isinstance(points, np.ndarray) and settings.metric == "euclidean":
        # A search for all neighbors takes ten times as long as all distances.
        away = cdist(points[positions], points, "sqeuclidean")
        away[each, positions] = np.inf
        ordered = np.argsort(away, axis=1, kind="stable")[:, :-1]
    else:
        targets = X[among[positions]].among(among) if points is None else points[positions]
        ordered, _, _ = nearest_by(*by, points, targets, r - 1, positions, n_threads)
    # Samples whose distance is not known are farther than all others.
    ranks = np.full((len(each), r + 1), r - 1, dtype=np.int32)
    np.put_along_axis(ranks, ordered, np.arange(1, ordered.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
    ranks[each, positions] = 0
    K = min(RANKED_NEIGHBORS, (r - 1) // 2, int((ordered >= 0).sum(axis=1).min(initial=r)))
    return Ranks(among[positions], among, ranks[:, :r], ordered[:, :K])


@dataclass(frozen=True, eq=False)
class TangentScore:
    """How much of X an embedding loses, seen from small neighborhoods: lower is better, 0 loses nothing."""

    tangent_loss: float  # mean share of a tangent plane that the embedding does not keep, whatever its local maps
    trustworthiness: float  # of the corrected embedding: few strangers among neighbors
    continuity: float  # of the corrected embedding: few neighbors lost
    unevenness: float  # 0 to 1: how much the corrected embedding stretches some places more than others; or NaN
    correction: FloatArray  # A (d, d): Y A has the lengths of X

    @property
    def rank_loss(self) -> float:
        """What trustworthiness and continuity lack, together."""
        return (1 - self.trustworthiness) + (1 - self.continuity)

    @property
    def score(self) -> float:
        """Tangent loss plus 0.3 rank loss plus 0.2 unevenness.

        The unevenness is NaN, and does not count, where tangent planes hold too little of the samples for lengths in
        them to mean something: images, and other samples that are near no surface of this dimension.
        """
        uneven = 0.0 if np.isnan(self.unevenness) else self.unevenness
        return self.tangent_loss + RANK_WEIGHT * self.rank_loss + UNEVEN_WEIGHT * uneven

    def __str__(self) -> str:
        kept = f"trustworthiness {self.trustworthiness:.4f}, continuity {self.continuity:.4f}"
        return f"score {self.score:.4f}: tangent loss {self.tangent_loss:.4f}, {kept}, unevenness {self.unevenness:.4f}"


@dataclass(frozen=True)
class TangentScorer:
    """Frames and ranks of the samples, which any number of their embeddings are measured by."""

    frames: Frames
    ranks: Ranks

    @classmethod
    def from_samples(cls, X: Samples, settings: Settings, n_threads: int = 1) -> "TangentScorer":
        """The scorer of samples, made by two searches for neighbors of some of them."""
        return LocalGeometry.of(X, settings, n_threads).scorer

    def among(self, chosen: BoolArray) -> "TangentScorer":
        """The scorer of some of the samples, which have as many neighbors of their own."""
        return self if chosen.all() else TangentScorer(self.frames.among(chosen), self.ranks.among_chosen(chosen))

    def measure(self, Y: FloatArray) -> TangentScore:
        """Measure an embedding, none of it NaN where there are frames and ranks."""
        with limit_blas_threads(1):
            A, unevenness = self.frames.correction(Y)
            if not self.frames.is_flat(Y.shape[1]):
                unevenness = float("nan")
            return TangentScore(self.tangent_loss(Y), *self.ranks.kept(Y @ A), unevenness, A)

    def tangent_loss(self, Y: FloatArray) -> float:
        """The first part of the score, and a lower bound of it, in a fraction of the time."""
        return float(np.mean(self.frames.tangent_losses(Y)))


@dataclass(frozen=True)
class LocalGeometry:
    """What neighborhoods of samples tell, made when it is asked for and once: for lengths, dimension and trust."""

    X: Samples
    rows: IndexArray  # which of all samples these are
    settings: Settings
    n_threads: int

    @classmethod
    def of(cls, X: Samples, settings: Settings, n_threads: int) -> "LocalGeometry":
        """That of all samples."""
        return cls(X, np.arange(X.shape[0]), settings, n_threads)

    def by_distances(self) -> "LocalGeometry":
        """The same, or where samples are few with many features that of their distances, which are searched often."""
        X, metric = self.X, self.settings.metric
        is_plain = is_dense(X) and isinstance(metric, str) and metric == "euclidean"
        if not is_plain or len(X) > FEW_SAMPLES or X.shape[1] < MANY_FEATURES:
            return self
        centered = X - X.mean(axis=0)
        squares = np.einsum("ij,ij->i", centered, centered)
        away = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2 * (centered @ centered.T), 0.0))
        away = np.maximum(away, away.T)
        np.fill_diagonal(away, 0.0)
        settings = replace(self.settings, metric=PRECOMPUTED, metric_params=None)
        return LocalGeometry(Distances(away), self.rows, settings, self.n_threads)

    @cached_property
    def _nearest(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Some samples, their nearest others and the distances of these: as many as frames and dimension need."""
        n, by = self.X.shape[0], (self.settings.metric, self.settings.metric_params)
        rows, k = drawn_rows(n), min(max(frame_neighbors(self.settings.n_components), MOST_NEIGHBORS), n - 1)
        return rows, *nearest_of_rows(self.X, rows, k, *by, self.n_threads)

    @cached_property
    def frames(self) -> Frames:
        """Tangent frames of the samples, or of some of them where they are many."""
        (rows, near, _), d = self._nearest, self.settings.n_components
        with limit_blas_threads(1):
            return frames_among(self.X, np.column_stack([rows, near[:, : frame_neighbors(d)]]), d)

    @cached_property
    def ranks(self) -> Ranks:
        """Ranks around some samples."""
        return ranks_of(self.X, self.settings, self.n_threads)

    @property
    def scorer(self) -> TangentScorer:
        """What embeddings of the samples are measured by."""
        return TangentScorer(self.frames, self.ranks)

    @cached_property
    def dimension(self) -> Dimension | None:
        """How many dimensions the samples have; None where too few distances are known."""
        return dimension_of(self.X, self._nearest[2], self.settings.metric)


def local_geometry(X: Samples, pieces: Pieces, settings: Settings, n_threads: int) -> LocalGeometry:
    """That of the samples of the largest piece, or of all where pieces are joined."""
    if pieces.count == 1 or settings.pieces == "join":
        return LocalGeometry.of(X, settings, n_threads)
    rows = np.flatnonzero(pieces.labels == 0)
    return LocalGeometry(take(X, rows), rows, settings, n_threads)


def collapsed_share(members: IndexArray, Y: FloatArray) -> float:
    """Share of neighborhoods (a, m) with one side far shorter than m of n evenly spread samples would have.

    Sides are measured where all coordinates have the same spread: in that of n samples, the side is (m / n)^(1/d).
    """
    (n, d), m = Y.shape, members.shape[1]
    spread = Y.std(axis=0)
    local = (Y / np.where(spread > 0, spread, 1.0))[members]
    sides = np.linalg.svd(local - local.mean(axis=1, keepdims=True), compute_uv=False)[:, -1] / math.sqrt(m)
    return float(np.mean(sides < COLLAPSED_SIDE * (m / n) ** (1 / d)))


def filled_share(Y: FloatArray) -> float:
    """How evenly the samples fill the range of the coordinate that they fill least: 1 where all bins hold as many.

    exp(entropy) of a histogram over its number of bins; a normal distribution fills .6.
    """
    bins = int(np.clip(len(Y) // SAMPLES_A_BIN, 2, MOST_BINS))
    shares = []
    for coordinate in Y.T:
        lowest, widest = coordinate.min(), np.ptp(coordinate)
        # Not np.histogram: a range of 1e-300 is one for it, too.
        at = np.minimum(((coordinate - lowest) / (widest if widest > 0 else 1.0) * bins).astype(np.intp), bins - 1)
        held = np.bincount(at, minlength=bins) / len(Y)
        held = held[held > 0]
        shares.append(float(np.exp(-(held * np.log(held)).sum())) / bins)
    return min(shares)


def repeated_share(Y: FloatArray) -> float:
    """Largest share of a coordinate's variance that the others tell, each sample told by those around it, not itself.

    0 for a single coordinate, NaN where there are too few samples.
    """
    n, d = Y.shape
    if d == 1:
        return 0.0
    if n < 3 * TELLING_NEIGHBORS:
        return math.nan
    Y = Y[drawn_rows(n, TELLING_ROWS)]
    spread = Y.std(axis=0)
    Y = (Y - Y.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    shares = [0.0]
    for column in range(d):
        others, coordinate = np.delete(Y, column, axis=1), Y[:, column]
        near = cKDTree(others).query(others, k=TELLING_NEIGHBORS + 1)[1]
        is_other = near != np.arange(len(others))[:, None]
        # Of places that coincide, a sample may be missing from its own list.
        is_other[is_other.all(axis=1), -1] = False
        means = coordinate[near[is_other].reshape(len(others), -1)].mean(axis=1)
        shares.append(1.0 - float(((coordinate - means) ** 2).mean()))
    return max(shares)
