"""X -> Ranks: who is near whom among some samples; Ranks, Y -> whether that is so in an embedding."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from hne._neighbors import nearest_by
from hne._samples import Distances, Samples
from hne._types import BoolArray, FloatArray, IndexArray

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
        own, others = chosen[self.rows], np.flatnonzero(chosen[self.among])
        order = np.argsort(self.ranks[own][:, others], axis=1, kind="stable")
        ranks = np.empty(order.shape, dtype=np.int32)
        np.put_along_axis(ranks, order, np.arange(len(others), dtype=np.int32)[None, :], axis=1)
        K = min(self.near.shape[1], (len(others) - 1) // 2)
        return Ranks(self.rows[own], self.among[others], ranks, order[:, 1 : K + 1])

    def kept(self, Y: FloatArray) -> tuple[float, float]:
        """Trustworthiness and continuity of Y at K neighbors, over the rows."""
        K, r = self.near.shape[1], len(self.among)
        if K < 1 or not len(self.rows):
            return 1.0, 1.0
        away = cdist(Y[self.rows], Y[self.among], "sqeuclidean")
        own = np.searchsorted(self.among, self.rows)
        away[np.arange(len(own)), own] = np.inf
        found = np.argpartition(away, K - 1, axis=1)[:, :K]
        strangers = np.maximum(np.take_along_axis(self.ranks, found, axis=1) - K, 0).sum()
        lengths = np.take_along_axis(away, self.near, axis=1)
        lost = sum(int(np.maximum((away < column[:, None]).sum(axis=1) + 1 - K, 0).sum()) for column in lengths.T)
        most = len(own) * K * (2 * r - 3 * K - 1) / 2
        return float(1 - strangers / most), float(1 - lost / most)


def _ordered(
    X: Samples, rows: IndexArray, among: IndexArray, own: IndexArray, metric: Any, params: Any, n_threads: int
) -> IndexArray:
    """Positions (q, r - 1) of the ranked samples by their distance from each row, itself left out."""
    r = len(among)
    if isinstance(X, Distances):
        return nearest_by(metric, params, None, X[rows].among(among), r - 1, own, n_threads)[0]
    points = X if r == X.shape[0] else X[among]
    if isinstance(points, np.ndarray) and metric == "euclidean":
        # A search for all neighbors takes ten times as long as all distances.
        away = cdist(points[own], points, "sqeuclidean")
        away[np.arange(len(own)), own] = np.inf
        return np.argsort(away, axis=1, kind="stable")[:, :-1]
    return nearest_by(metric, params, points, points[own], r - 1, own, n_threads)[0]


def ranks_of(X: Samples, metric: Any, params: Any, n_threads: int) -> Ranks:
    """Ranks around some samples, drawn at random."""
    n = X.shape[0]
    draw = np.random.RandomState(0)
    among = np.arange(n)
    if n > MAX_RANKED:
        among = np.sort(draw.choice(n, MAX_RANKED, replace=False))
    r = len(among)
    own = np.sort(draw.choice(r, min(RANKED_ROWS, r), replace=False))
    rows = among[own]
    ordered = _ordered(X, rows, among, own, metric, params, n_threads)
    # Samples whose distance is not known are farther than all others.
    ranks = np.full((len(rows), r + 1), r - 1, dtype=np.int32)
    np.put_along_axis(ranks, ordered, np.arange(1, ordered.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
    ranks[np.arange(len(rows)), own] = 0
    K = min(RANKED_NEIGHBORS, (r - 1) // 2, int((ordered >= 0).sum(axis=1).min(initial=r)))
    return Ranks(rows, among, ranks[:, :r], ordered[:, :K])
