"""TangentScorer, Y -> TangentScore: how far an embedding can be believed, told without knowing the truth."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from hne._runtime.threads import limit_blas_threads
from hne.core.neighbors.graph import nearest_by
from hne.core.records import BoolArray, FloatArray, IndexArray, Pieces
from hne.core.samples.kinds import Distances, Samples, take
from hne.core.tangent.dimension import MOST_NEIGHBORS, Dimension, dimension_of
from hne.core.tangent.frames import Frames, drawn_rows, frame_neighbors, frames_among, nearest_of_rows
from hne.settings import Settings

# Neighbors whose ranks are compared, and samples whose neighbors are.
RANKED_NEIGHBORS, RANKED_ROWS = 10, 120
# Samples among which ranks are counted: of more, so many at random.
MAX_RANKED = 20_000


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


def _ordered(
    X: Samples, among: IndexArray, positions: IndexArray, metric: Any, params: Any, n_threads: int
) -> IndexArray:
    """Positions (q, r - 1) of the ranked samples by their distance from each row, itself left out."""
    r = len(among)
    if isinstance(X, Distances):
        return nearest_by(metric, params, None, X[among[positions]].among(among), r - 1, positions, n_threads)[0]
    points = X if r == X.shape[0] else X[among]
    if isinstance(points, np.ndarray) and metric == "euclidean":
        # A search for all neighbors takes ten times as long as all distances.
        away = cdist(points[positions], points, "sqeuclidean")
        away[np.arange(len(positions)), positions] = np.inf
        return np.argsort(away, axis=1, kind="stable")[:, :-1]
    return nearest_by(metric, params, points, points[positions], r - 1, positions, n_threads)[0]


def ranks_of(X: Samples, metric: Any, params: Any, n_threads: int) -> Ranks:
    """Ranks around some samples, drawn at random."""
    n = X.shape[0]
    draw = np.random.RandomState(0)
    among = np.arange(n)
    if n > MAX_RANKED:
        among = np.sort(draw.choice(n, MAX_RANKED, replace=False))
    r = len(among)
    positions = np.sort(draw.choice(r, min(RANKED_ROWS, r), replace=False))
    rows = among[positions]
    ordered = _ordered(X, among, positions, metric, params, n_threads)
    # Samples whose distance is not known are farther than all others.
    ranks = np.full((len(rows), r + 1), r - 1, dtype=np.int32)
    np.put_along_axis(ranks, ordered, np.arange(1, ordered.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
    ranks[np.arange(len(rows)), positions] = 0
    K = min(RANKED_NEIGHBORS, (r - 1) // 2, int((ordered >= 0).sum(axis=1).min(initial=r)))
    return Ranks(rows, among, ranks[:, :r], ordered[:, :K])


# What lost ranks and uneven stretching weigh beside lost tangents. With 1 or 3 for ranks the choice of settings fails
# badly. From 0.1 to 0.4 for the unevenness, the mean regret of the choice hardly changes; without it, it is half again
# as large.
RANK_WEIGHT, UNEVEN_WEIGHT = 0.3, 0.2


@dataclass(frozen=True, eq=False)
class TangentScore:
    """How much of X an embedding loses, seen from small neighborhoods: lower is better, 0 loses nothing."""

    tangent_loss: float  # mean share of a tangent plane that the embedding does not keep, whatever its local maps
    trustworthiness: float  # of the corrected embedding: few strangers among neighbors
    continuity: float  # of the corrected embedding: few neighbors lost
    unevenness: float  # 0 to 1: how much the corrected embedding stretches some places more than others; NaN: see below
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
    n_components: int
    metric: Any
    metric_params: Any
    n_threads: int

    @classmethod
    def of(cls, X: Samples, settings: Settings, n_threads: int) -> "LocalGeometry":
        """That of all samples."""
        return cls(X, np.arange(X.shape[0]), settings.n_components, settings.metric, settings.metric_params, n_threads)

    @cached_property
    def _nearest(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Some samples, their nearest others and the distances of these: as many as frames and dimension need."""
        n = self.X.shape[0]
        rows, k = drawn_rows(n), min(max(frame_neighbors(self.n_components), MOST_NEIGHBORS), n - 1)
        return rows, *nearest_of_rows(self.X, rows, k, self.metric, self.metric_params, self.n_threads)

    @cached_property
    def frames(self) -> Frames:
        """Tangent frames of the samples, or of some of them where they are many."""
        rows, near, _ = self._nearest
        with limit_blas_threads(1):
            members = np.column_stack([rows, near[:, : frame_neighbors(self.n_components)]])
            return frames_among(self.X, members, self.n_components)

    @cached_property
    def ranks(self) -> Ranks:
        """Ranks around some samples."""
        return ranks_of(self.X, self.metric, self.metric_params, self.n_threads)

    @property
    def scorer(self) -> TangentScorer:
        """What embeddings of the samples are measured by."""
        return TangentScorer(self.frames, self.ranks)

    @cached_property
    def dimension(self) -> Dimension | None:
        """How many dimensions the samples have; None where too few distances are known."""
        return dimension_of(self.X, self._nearest[2], self.metric)


def local_geometry(X: Samples, pieces: Pieces, settings: Settings, n_threads: int) -> LocalGeometry:
    """That of the samples of the largest piece, or of all where pieces are joined."""
    if pieces.count == 1 or settings.pieces == "join":
        return LocalGeometry.of(X, settings, n_threads)
    rows = np.flatnonzero(pieces.labels == 0)
    geometry = LocalGeometry.of(take(X, rows), settings, n_threads)
    return replace(geometry, rows=rows)
