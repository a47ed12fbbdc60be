"""X, Y -> the curves of kept neighbors over all sizes of neighborhoods, and the area under them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hne.core.records import FloatArray, IndexArray
from hne.metrics.passes import check_ranking
from hne.metrics.rows import SORTING


@dataclass(frozen=True)
class Coranking:
    """Kept neighbors over the size K of neighborhoods, from 1 to n - 2 (Lee, Peluffo-Ordonez and Verleysen 2015)."""

    sizes: IndexArray  # K
    Q: FloatArray  # Q_NX(K): share of the K nearest in X that are among the K nearest in Y
    R: FloatArray  # R_NX(K): the same, so that 1 is perfect and 0 is what chance keeps
    area: float  # mean of R over log K, near 0 for a random embedding, 1 for a perfect one
    area_standard_error: float  # its standard error; 0 where all samples were measured
    n_rows_measured: int
    is_exact: bool  # whether all samples were measured

    def __str__(self) -> str:
        error = "" if self.is_exact else f" +- {self.area_standard_error:.4f}"
        best = int(np.argmax(self.R))
        return (
            f"area {self.area:.4f}{error}, best at {self.sizes[best]} neighbors with R = {self.R[best]:.4f} "
            f"({self.n_rows_measured} samples)"
        )


def coranking(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Coranking:
    """Curves Q_NX and R_NX of kept neighbors over all sizes of neighborhoods, and the area under the latter.

    R_NX(K) = ((n - 1) Q_NX(K) - K) / (n - 1 - K) takes away what chance keeps. The area weighs sizes by 1 / K,
    as a plot over log K does, so that small neighborhoods count: 1 for a perfect embedding, near 0 for a random
    one. Compare methods by the area, and see from the curve whether one is better near or far.

    Ranks are those of `rank_quality`, ties included.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    n_sampled : int, default=None
        Number of samples whose ranks are measured, drawn at random and ranked against all. None measures all up to
        20 000 samples, in time of their square, and 2 500 of more.
    random_state : int, RandomState or None, default=0
        Seed of the draw.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn: None is one, -1 all cores. Results are the same.

    Returns
    -------
    Coranking
        The curves and the area.

    Examples
    --------
    >>> curves = coranking([[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [7.0], [3.0]])
    >>> curves.Q  # the first two samples keep their nearest; every sample keeps one of its two nearest
    array([0.5, 0.5])
    >>> curves.R
    array([ 0.25, -0.5 ])
    """
    ranking = check_ranking(X, Y, n_sampled, random_state, n_jobs)
    n = ranking.n_samples
    sizes = np.arange(1, n - 1)
    per_count = _area_per_count(n)

    def task(kernel: Any, in_X: FloatArray, in_Y: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        counts = kernel.larger_rank_counts(in_X, in_Y)
        return counts.sum(axis=0), (counts * per_count).sum(axis=1)

    counts, areas = np.zeros(n, dtype=np.int64), []
    with ranking.blocks(task, SORTING) as blocks:
        for of_block, areas_of_block in blocks:
            counts += of_block
            areas.append(areas_of_block)
    # A sample is among the K nearest in both spaces where the larger of its ranks is at most K; 0 is the sample itself.
    Q = np.cumsum(counts[1:-1]) / (sizes * len(ranking.rows))
    R = ((n - 1) * Q - sizes) / (n - 1 - sizes)
    area = float((R / sizes).sum() / (1 / sizes).sum())
    error = ranking.standard_error(np.concatenate(areas))
    return Coranking(sizes, Q, R, area, error, len(ranking.rows), ranking.is_exact)


def _area_per_count(n: int) -> FloatArray:
    """What a sample adds to the area of a row by the larger of its ranks, (n,): all sizes from there on keep it."""
    sizes = np.arange(1, n - 1)
    gains = (n - 1) / (sizes**2 * (n - 1 - sizes)) / (1 / sizes).sum()
    per_count = np.zeros(n)
    per_count[1:-1] = np.cumsum(gains[::-1])[::-1]
    return per_count
