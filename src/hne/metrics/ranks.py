"""X, Y -> whether neighbors stay neighbors: trustworthiness, continuity and preservation, and curves over all sizes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hne._runtime.docstrings import described_as_in
from hne.core.parameters import check_integer
from hne.core.records import FloatArray, IndexArray
from hne.exceptions import refuse
from hne.metrics.errors import tangent_score
from hne.metrics.rows import check_ranking, larger_rank_counts, neighbor_sums


@dataclass(frozen=True)
class RankQuality:
    """How well neighbors are kept, each number from 0 to 1 (perfect), from `rank_quality`.

    Attributes
    ----------
    trustworthiness : float
        High where few neighbors in Y are far in X.
    continuity : float
        High where few neighbors in X are far in Y.
    preservation : float
        Share of the neighbors in X that are neighbors in Y.
    trustworthiness_standard_error, continuity_standard_error, preservation_standard_error : float
        Their standard errors by the draw of samples; 0 where all were measured.
    n_neighbors : int
        Number of neighbors of each sample that were looked at.
    n_rows_measured : int
        Number of samples whose neighbors were measured.
    is_exact : bool
        True where these were all samples.

    See Also
    --------
    hne.metrics.rank_quality : The function that measures it.

    Examples
    --------
    >>> from hne.metrics import rank_quality
    >>> X = [[0.0], [1.0], [3.0], [7.0]]
    >>> print(rank_quality(X, X, n_neighbors=1))
    trustworthiness 1.0000, continuity 1.0000, preservation 1.0000 (1 neighbors of 4 samples)
    """

    trustworthiness: float
    continuity: float
    preservation: float
    trustworthiness_standard_error: float
    continuity_standard_error: float
    preservation_standard_error: float
    n_neighbors: int
    n_rows_measured: int
    is_exact: bool

    def __str__(self) -> str:
        numbers = []
        for name in ("trustworthiness", "continuity", "preservation"):
            error = "" if self.is_exact else f" +- {getattr(self, f'{name}_standard_error'):.4f}"
            numbers.append(f"{name} {getattr(self, name):.4f}{error}")
        return f"{', '.join(numbers)} ({self.n_neighbors} neighbors of {self.n_rows_measured} samples)"


@described_as_in(tangent_score)
def rank_quality(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 5,
    *,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> RankQuality:
    """Trustworthiness, continuity and preservation of neighbors, in one pass.

    Trustworthiness falls with each sample that is near in Y and far in X; continuity with each that is near in X and
    far in Y. Both are 1 where all neighbors are kept and near 0.5 for a random embedding; values below 0.9 are poor.
    Preservation is the share of neighbors that are kept.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbors of each sample, fewer than half of the samples. Small numbers look at the finest structure, larger
        ones at whole regions.
    n_sampled : int or None, default=None
        Number of samples whose neighbors are measured, drawn at random and ranked against all. More give smaller
        standard errors and take longer. None measures all samples up to 20 000 (time grows with the square), beyond
        that 2 500.
    random_state : int, RandomState or None, default=0
        Seed of the draw; None draws other samples each time.

    Returns
    -------
    RankQuality
        The three numbers with their standard errors.

    See Also
    --------
    hne.metrics.trustworthiness : The first number, with its equation.
    hne.metrics.continuity : The second number, with its equation.
    hne.metrics.neighborhood_preservation : The third number, with its equation.
    hne.metrics.coranking : Kept neighbors for neighborhoods of all sizes.

    Notes
    -----
    Neighbors and ranks are by Euclidean distance, and a sample is never its own neighbor. Of equally far samples the
    one that comes first is nearer: where there are ties, as by copies of samples, another order of the rows can give
    slightly different numbers.

    Examples
    --------
    >>> from hne.metrics import rank_quality
    >>> X, Y = [[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [7.0], [3.0]]
    >>> rank_quality(X, X, n_neighbors=1).preservation
    1.0
    >>> rank_quality(X, Y, n_neighbors=1).preservation  # the last two samples lost their neighbors
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


@described_as_in(rank_quality)
def trustworthiness(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 5,
    *,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    r"""Whether neighbors in the embedding are neighbors in X: 1 always, near 0.5 at random.

    Without ties this is the number of `sklearn.manifold.trustworthiness`, in a fraction of the memory and in less
    time.

    Returns
    -------
    float
        The trustworthiness, from 0 to 1.

    See Also
    --------
    hne.metrics.continuity : The same with X and Y exchanged.
    hne.metrics.rank_quality : Both and the preservation in one pass, with standard errors.

    Notes
    -----
    With the rank r(i, j) of sample j by its distance from i in X, and the set :math:`U_i` of those of the k nearest
    samples of i in Y that are not among the k nearest in X [1]_,

    .. math:: T = 1 - \frac{2}{n k (2 n - 3 k - 1)} \sum_{i=1}^n \sum_{j \in U_i} (r(i, j) - k) .

    References
    ----------
    .. [1] Venna and Kaski, "Neighborhood preservation in nonlinear projection methods: an experimental study", ICANN
       2001, Lecture Notes in Computer Science 2130, 485-491.

    Examples
    --------
    >>> from hne.metrics import trustworthiness
    >>> X, Y = [[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [7.0], [3.0]]
    >>> trustworthiness(X, Y, n_neighbors=1)  # two neighbors in Y have ranks 2 and 3 in X: 1 - 2 / 16 * (1 + 2)
    0.625
    """
    quality = rank_quality(X, Y, n_neighbors, n_sampled=n_sampled, random_state=random_state, n_jobs=n_jobs)
    return quality.trustworthiness


@described_as_in(rank_quality)
def continuity(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 5,
    *,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    r"""Whether neighbors in X are still neighbors in the embedding: 1 always, near 0.5 at random.

    Returns
    -------
    float
        The continuity, from 0 to 1: the trustworthiness of X as an embedding of Y.

    See Also
    --------
    hne.metrics.trustworthiness : The same with X and Y exchanged.
    hne.metrics.rank_quality : Both and the preservation in one pass, with standard errors.

    Notes
    -----
    With the rank :math:`\hat r(i, j)` of sample j by its distance from i in Y, and the set :math:`V_i` of those of the
    k nearest samples of i in X that are not among the k nearest in Y [1]_,

    .. math:: C = 1 - \frac{2}{n k (2 n - 3 k - 1)} \sum_{i=1}^n \sum_{j \in V_i} (\hat r(i, j) - k) .

    References
    ----------
    .. [1] Venna and Kaski, "Local multidimensional scaling", Neural Networks 19 (2006) 889-899.

    Examples
    --------
    >>> from hne.metrics import continuity
    >>> X, Y = [[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [7.0], [3.0]]
    >>> continuity(X, Y, n_neighbors=1)  # two neighbors in X have ranks 2 and 3 in Y
    0.625
    """
    quality = rank_quality(X, Y, n_neighbors, n_sampled=n_sampled, random_state=random_state, n_jobs=n_jobs)
    return quality.continuity


@described_as_in(rank_quality)
def neighborhood_preservation(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 5,
    *,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    r"""Mean share of a sample's neighbors in X that are its neighbors in the embedding: 1 all, 0 none.

    Returns
    -------
    float
        The share. A random embedding keeps n_neighbors / (n_samples - 1).

    See Also
    --------
    hne.metrics.coranking : The same for neighborhoods of all sizes, and without what chance keeps.
    hne.metrics.rank_quality : The same with trustworthiness and continuity, and standard errors.

    Notes
    -----
    With the k nearest samples :math:`N_i` of i in X and :math:`M_i` in Y, this is

    .. math:: Q = \frac{1}{n k} \sum_{i=1}^n |N_i \cap M_i| .

    Examples
    --------
    >>> from hne.metrics import neighborhood_preservation
    >>> X, Y = [[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [7.0], [3.0]]
    >>> neighborhood_preservation(X, Y, n_neighbors=1)  # the last two samples lost their neighbors
    0.5
    """
    quality = rank_quality(X, Y, n_neighbors, n_sampled=n_sampled, random_state=random_state, n_jobs=n_jobs)
    return quality.preservation


@dataclass(frozen=True)
class Coranking:
    """Kept neighbors as curves over the size K of neighborhoods, from `coranking`.

    Attributes
    ----------
    sizes : ndarray of shape (n_samples - 2,)
        The sizes K, from 1 to n_samples - 2.
    Q : ndarray of shape (n_samples - 2,)
        Q_NX(K), the share of the K nearest samples in X that are among the K nearest in Y.
    R : ndarray of shape (n_samples - 2,)
        R_NX(K), the same rescaled: 1 is perfect, 0 is what chance keeps.
    area : float
        Mean of R over log K, so that small neighborhoods count most: 1 is perfect, near 0 is random.
    area_standard_error : float
        Standard error of the area by the draw of samples; 0 where all were measured.
    n_rows_measured : int
        Number of samples whose ranks were measured.
    is_exact : bool
        True where these were all samples.

    See Also
    --------
    hne.metrics.coranking : The function that measures it.

    Examples
    --------
    >>> from hne.metrics import coranking
    >>> print(coranking([[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [7.0], [3.0]]))
    area 0.0000, best at 1 neighbors with R = 0.2500 (4 samples)
    """

    sizes: IndexArray
    Q: FloatArray
    R: FloatArray
    area: float
    area_standard_error: float
    n_rows_measured: int
    is_exact: bool

    def __str__(self) -> str:
        error = "" if self.is_exact else f" +- {self.area_standard_error:.4f}"
        best = int(np.argmax(self.R))
        return (
            f"area {self.area:.4f}{error}, best at {self.sizes[best]} neighbors with R = {self.R[best]:.4f} "
            f"({self.n_rows_measured} samples)"
        )


@described_as_in(rank_quality)
def coranking(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Coranking:
    r"""Curve of kept neighbors over neighborhoods of all sizes, and the area under it.

    Compare methods by the area, and see from the curve whether one is better near or far. Small neighborhoods count
    most in the area, as in a plot over log K.

    Returns
    -------
    Coranking
        The curves Q_NX and R_NX, the area under the latter, and its standard error.

    See Also
    --------
    hne.metrics.neighborhood_preservation : Q_NX at one size, in less time.
    hne.metrics.rank_quality : Numbers at one size that weigh lost neighbors by how far they went.

    Notes
    -----
    With the K nearest samples :math:`N_i` of i in X and :math:`M_i` in Y [1]_,

    .. math:: Q_{NX}(K) = \frac{1}{n K} \sum_{i=1}^n |N_i \cap M_i|, \qquad
        R_{NX}(K) = \frac{(n - 1) \, Q_{NX}(K) - K}{n - 1 - K},

    and the area is :math:`\sum_K R_{NX}(K) / K` over :math:`\sum_K 1 / K`, for K from 1 to n - 2 [2]_. Ties are broken
    as in `rank_quality`.

    References
    ----------
    .. [1] Lee and Verleysen, "Quality assessment of dimensionality reduction: Rank-based criteria", Neurocomputing 72
       (2009) 1431-1443.
    .. [2] Lee, Peluffo-Ordóñez and Verleysen, "Multi-scale similarities in stochastic neighbour embedding: Reducing
       dimensionality while preserving both local and global structure", Neurocomputing 169 (2015) 246-261.

    Examples
    --------
    >>> from hne.metrics import coranking
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
