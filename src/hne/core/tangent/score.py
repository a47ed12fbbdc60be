"""TangentScorer, Y -> TangentScore: how far an embedding can be believed, told without knowing the truth."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hne._kernels import lost_ranks, nearest_columns, squared_distances, told_by_others
from hne._runtime.threads import limit_blas_threads, map_rows
from hne.core.neighbors.graph import nearest_by
from hne.core.records import BoolArray, FloatArray, IndexArray, NeighborGraph, Pieces
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
# Distances that are worth a thread of their own.
THREAD_DISTANCES = 300_000
# Searches that find the nearest, by metric: not those that approximate, nor graphs that were given.
EXACT = ("tree", "brute", "metric", "precomputed")
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
    away: FloatArray  # (q, r), in the order of the ranks: distances, or ranks themselves; -1 to the row, inf if unknown
    own: IndexArray  # (q,), positions in `among` of the rows
    near: IndexArray  # (q, K), positions in `among` of the nearest, nearest first
    n_threads: int = 1

    @classmethod
    def by_distance(cls, among: IndexArray, away: FloatArray, own: IndexArray, n_threads: int, K: int) -> "Ranks":
        """Ranks of which K neighbors are compared, or half of all."""
        near = np.empty((len(away), max(0, min(K, (len(among) - 1) // 2))), dtype=np.intp)
        if near.size:
            _map_ranked(lambda start, stop: nearest_columns(start, stop, away, own, near), away, n_threads)
        return cls(among[own], among, away, own, near, n_threads)

    def among_chosen(self, chosen: BoolArray) -> "Ranks":
        """Ranks of the chosen samples among each other."""
        is_chosen, others = chosen[self.rows], np.flatnonzero(chosen[self.among])
        away, own = self.away[is_chosen][:, others], np.searchsorted(others, self.own[is_chosen])
        return Ranks.by_distance(self.among[others], away, own, self.n_threads, self.near.shape[1])

    def kept(self, Y: FloatArray) -> tuple[float, float]:
        """Trustworthiness and continuity of Y at K neighbors, over the rows."""
        (q, K), r = self.near.shape, len(self.among)
        if K < 1 or not q:
            return 1.0, 1.0
        lost, columns = np.empty((q, 2), dtype=np.intp), np.ascontiguousarray(Y[self.among].T, dtype=np.float64)
        made_of = self.away, self.own, self.near, columns, lost
        _map_ranked(lambda start, stop: lost_ranks(start, stop, *made_of), self.away, self.n_threads)
        strangers, missing = 1 - lost.sum(axis=0) / (q * K * (2 * r - 3 * K - 1) / 2)
        return float(strangers), float(missing)


def _map_ranked(fill: Callable[[int, int], None], away: FloatArray, n_threads: int) -> None:
    """Let a kernel go over rows of so many distances."""
    map_rows(fill, len(away), n_threads, -(-THREAD_DISTANCES // away.shape[1]))


def ranks_of(X: Samples, settings: Settings, n_threads: int) -> Ranks:
    """Ranks around some samples, drawn at random."""
    n = X.shape[0]
    draw = np.random.RandomState(0)
    among = np.arange(n) if n <= MAX_RANKED else np.sort(draw.choice(n, MAX_RANKED, replace=False))
    r = len(among)
    own = np.sort(draw.choice(r, min(RANKED_ROWS, r), replace=False))
    by, K = (settings.metric, settings.metric_params), RANKED_NEIGHBORS
    points = None if isinstance(X, Distances) else X if r == n else X[among]
    if isinstance(points, np.ndarray) and settings.metric == "euclidean":
        # A search for all neighbors takes ten times as long as all distances.
        columns, away = np.ascontiguousarray(points.T), np.empty((len(own), r))
        _map_ranked(lambda i, j: squared_distances(columns, own[i:j], away[i:j]), away, n_threads)
    else:
        targets = X[among[own]].among(among) if points is None else points[own]
        ordered, _, _ = nearest_by(*by, points, targets, r - 1, own, n_threads)
        # Samples whose distance is not known are farther than all others.
        ranks = np.full((len(own), r + 1), np.inf)
        np.put_along_axis(ranks, ordered, np.arange(1.0, ordered.shape[1] + 1)[None, :], axis=1)
        away = np.ascontiguousarray(ranks[:, :r])
        away[np.arange(len(own)), own] = -1.0
        K = min(K, int((ordered >= 0).sum(axis=1).min(initial=r)))
    return Ranks.by_distance(among, away, own, n_threads, K)


@dataclass(frozen=True, eq=False)
class TangentScore:
    """How much of X an embedding loses, seen from small neighborhoods: lower is better, 0 loses nothing.

    Attributes
    ----------
    tangent_loss : float
        Mean share of a tangent plane that the embedding does not keep, from 0 to 1: folds, collapse, repeated
        coordinates.
    trustworthiness : float
        Trustworthiness of the corrected embedding at 10 neighbors: 1 where all neighbors in Y are neighbors in X.
    continuity : float
        Continuity of the corrected embedding at 10 neighbors: 1 where all neighbors in X are neighbors in Y.
    unevenness : float
        How much more the corrected embedding stretches some places than others, from 0 to 1. NaN where samples are near
        no surface of this dimension.
    correction : ndarray of shape (n_components, n_components)
        The matrix A with which Y @ A has the lengths of X.

    See Also
    --------
    hne.metrics.tangent_score : The function that measures it, with the equation.

    Examples
    --------
    >>> import numpy as np
    >>> from hne.metrics import TangentScore
    >>> print(TangentScore(0.01, trustworthiness=0.99, continuity=0.98, unevenness=0.05, correction=np.eye(2)))
    score 0.0290: tangent loss 0.0100, trustworthiness 0.9900, continuity 0.9800, unevenness 0.0500
    """

    tangent_loss: float
    trustworthiness: float
    continuity: float
    unevenness: float
    correction: FloatArray

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
    graph: NeighborGraph | None = None  # the nearest of these samples, as an exact search found them

    @classmethod
    def of(cls, X: Samples, settings: Settings, n_threads: int, graph: NeighborGraph | None = None) -> "LocalGeometry":
        """That of all samples."""
        return cls(X, np.arange(X.shape[0]), settings, n_threads, graph)

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
        if self.graph is not None and self.graph.n_neighbors >= k and self.graph.method in EXACT:
            return rows, self.graph.indices[rows, :k], self.graph.distances[rows, :k]
        return rows, *nearest_of_rows(self.X, rows, k, *by, self.n_threads)

    @cached_property
    def frames(self) -> Frames:
        """Tangent frames of the samples, or of some of them where they are many."""
        (rows, near, _), d = self._nearest, self.settings.n_components
        with limit_blas_threads(1):
            return frames_among(self.X, np.column_stack([rows, near[:, : frame_neighbors(d)]]), d, self.n_threads)

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


def local_geometry(
    X: Samples, pieces: Pieces, settings: Settings, n_threads: int, graph: NeighborGraph | None = None
) -> LocalGeometry:
    """That of the samples of the largest piece, or of all where pieces are joined; `graph` is as it was found."""
    if pieces.count == 1 or settings.pieces == "join":
        return LocalGeometry.of(X, settings, n_threads, graph)
    rows = np.flatnonzero(pieces.labels == 0)
    return LocalGeometry(take(X, rows), rows, settings, n_threads)


def collapsed_share(members: IndexArray, Y: FloatArray) -> float:
    """Share of neighborhoods (a, m) with one side far shorter than m of n evenly spread samples would have.

    Sides are measured where all coordinates have the same spread: in that of n samples, the side is (m / n)^(1/d).
    """
    (n, d), m = Y.shape, members.shape[1]
    spread = Y.std(axis=0)
    frames = frames_among(Y / np.where(spread > 0, spread, 1.0), members, d)
    return float(np.mean(frames.S[:, -1] / math.sqrt(m) < COLLAPSED_SIDE * (m / n) ** (1 / d)))


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
        others, means = np.delete(Y, column, axis=1), np.empty(len(Y))
        order = np.argsort(others[:, 0], kind="stable")
        told_by_others(others, np.ascontiguousarray(Y[:, column]), order, TELLING_NEIGHBORS, means)
        shares.append(1.0 - float(((Y[:, column] - means) ** 2).mean()))
    return max(shares)
