"""X, Y -> whether neighbors stay neighbors: trustworthiness, continuity and preservation, and curves over all sizes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hne.core.parameters import check_integer
from hne.core.records import FloatArray, IndexArray
from hne.exceptions import refuse
from hne.metrics.rows import check_ranking, larger_rank_counts, neighbor_sums


@dataclass(frozen=True)
class RankQuality:
    """How well neighbors are kept, each number between 0 and 1 (perfect), with its standard error.

    Standard errors are 0 where all samples were measured.
    """

    trustworthiness: float  # few strangers among the neighbors in Y, by their ranks in X
    continuity: float  # few neighbors in X lost from those in Y, by their ranks in Y
    preservation: float  # share of neighbors in X that are neighbors in Y
    trustworthiness_standard_error: float
    continuity_standard_error: float
    preservation_standard_error: float
    n_neighbors: int
    n_rows_measured: int
    is_exact: bool  # whether all samples were measured

    def __str__(self) -> str:
        numbers = []
        for name in ("trustworthiness", "continuity", "preservation"):
            error = "" if self.is_exact else f" +- {getattr(self, f'{name}_standard_error'):.4f}"
            numbers.append(f"{name} {getattr(self, name):.4f}{error}")
        return f"{', '.join(numbers)} ({self.n_neighbors} neighbors of {self.n_rows_measured} samples)"


def rank_quality(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 5,
    *,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> RankQuality:
    """Trustworthiness, continuity and preservation of neighbors, in one pass over the ranks.

    Trustworthiness falls by each stranger among a sample's neighbors in Y, the farther it is in X; continuity by
    each neighbor in X that is none in Y, the farther it is in Y (Venna and Kaski 2001). Both are 1 where all
    neighbors are kept and near 0.5 for a random embedding; values below 0.9 are poor. Preservation is the plain
    share of kept neighbors: 1 where all are, n_neighbors / (n_samples - 1) for a random embedding.

    Neighbors and ranks are by Euclidean distance, a sample never its own, and of equally far samples the one
    that comes first is nearer: where there are ties, copies of samples among them, another order of the samples can
    give slightly other numbers, and scikit-learn, whose order of ties is arbitrary, does.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    n_neighbors : int, default=5
        Neighbors a sample, fewer than half of the samples. Small ones look at the finest structure, larger ones
        at whole regions.
    n_sampled : int, default=None
        Number of samples whose neighbors are measured, drawn at random and ranked against all. None measures all
        up to 20 000 samples, in time of their square, and 2 500 of more.
    random_state : int, RandomState or None, default=0
        Seed of the draw.
    n_jobs : int, default=None
        Number of threads, as in `HNE`: None or -1 for all cores. Results are the same.

    Returns
    -------
    RankQuality
        The three numbers with their standard errors.

    Examples
    --------
    >>> X = [[0.0], [1.0], [3.0], [7.0]]
    >>> rank_quality(X, X, n_neighbors=1).preservation
    1.0
    >>> rank_quality(X, [[0.0], [1.0], [7.0], [3.0]], n_neighbors=1).preservation  # the last two lost theirs
    0.5
    """
    k = check_integer("n_neighbors", n_neighbors, 1, "Try n_neighbors=5")
    ranking = check_ranking(X, Y, n_sampled, random_state, n_jobs)
    n = ranking.n_samples
    if 2 * k >= n:
        rule = f"needs at least {2 * k + 1} samples, because ranks are compared with those of the other half"
        refuse(f"n_neighbors={k}", rule, f"n_samples={n}", "Lower n_neighbors or pass more samples")
    with ranking.blocks(lambda in_X, in_Y: neighbor_sums(in_X, in_Y, k), k) as blocks:
        sums = np.concatenate(list(blocks))
    # The largest sums of ranks that k strangers can have, and k neighbors to keep.
    most = np.array([k * (2 * n - 3 * k - 1) / 2] * 2 + [k])
    lost, also_lost, kept = sums.mean(axis=0) / most
    shares = (float(1 - lost), float(1 - also_lost), float(kept))
    by_lost, by_also_lost, by_kept = (ranking.standard_error(column) for column in (sums / most).T)
    return RankQuality(*shares, by_lost, by_also_lost, by_kept, k, len(ranking.rows), ranking.is_exact)


def trustworthiness(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 5,
    *,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Whether neighbors in the embedding can be trusted to be neighbors in X: 1 yes, near 0.5 at random.

    See `rank_quality` for the parameters; it also tells the standard error where not all samples are measured.
    On data without ties this is scikit-learn's function of that name, in a fraction of the memory and in less
    time.

    Examples
    --------
    >>> trustworthiness([[0.0], [1.0], [3.0], [7.0]], [[0.0], [2.0], [6.0], [14.0]], n_neighbors=1)
    1.0
    """
    quality = rank_quality(X, Y, n_neighbors, n_sampled=n_sampled, random_state=random_state, n_jobs=n_jobs)
    return quality.trustworthiness


def continuity(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 5,
    *,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Whether neighbors in X are still together in the embedding: 1 yes, near 0.5 at random.

    See `rank_quality` for the parameters; it also tells the standard error where not all samples are measured.
    It is the trustworthiness of X as an embedding of Y.

    Examples
    --------
    >>> continuity([[0.0], [1.0], [3.0], [7.0]], [[0.0], [2.0], [6.0], [14.0]], n_neighbors=1)
    1.0
    """
    quality = rank_quality(X, Y, n_neighbors, n_sampled=n_sampled, random_state=random_state, n_jobs=n_jobs)
    return quality.continuity


def neighborhood_preservation(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 5,
    *,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Mean share of a sample's neighbors in X that are its neighbors in the embedding: 1 all, 0 none.

    See `rank_quality` for the parameters; it also tells the standard error where not all samples are measured.
    It is Q_NX of `coranking` at this number of neighbors; a random embedding keeps
    n_neighbors / (n_samples - 1).

    Examples
    --------
    >>> neighborhood_preservation([[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [7.0], [3.0]], n_neighbors=1)
    0.5
    """
    quality = rank_quality(X, Y, n_neighbors, n_sampled=n_sampled, random_state=random_state, n_jobs=n_jobs)
    return quality.preservation


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
        Number of threads, as in `HNE`: None or -1 for all cores. Results are the same.

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
    # What a sample adds to the area of a row by the larger of its ranks, (n,): all sizes from there on keep it.
    gains = (n - 1) / (sizes**2 * (n - 1 - sizes)) / (1 / sizes).sum()
    per_count = np.zeros(n)
    per_count[1:-1] = np.cumsum(gains[::-1])[::-1]

    def task(in_X: FloatArray, in_Y: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        counts = larger_rank_counts(in_X, in_Y)
        return counts.sum(axis=0), (counts * per_count).sum(axis=1)

    counts, areas = np.zeros(n, dtype=np.int64), []
    with ranking.blocks(task) as blocks:
        for of_block, areas_of_block in blocks:
            counts += of_block
            areas.append(areas_of_block)
    # A sample is among the K nearest in both spaces where the larger of its ranks is at most K; 0 is the sample itself.
    Q = np.cumsum(counts[1:-1]) / (sizes * len(ranking.rows))
    R = ((n - 1) * Q - sizes) / (n - 1 - sizes)
    area = float((R / sizes).sum() / (1 / sizes).sum())
    error = ranking.standard_error(np.concatenate(areas))
    return Coranking(sizes, Q, R, area, error, len(ranking.rows), ranking.is_exact)
