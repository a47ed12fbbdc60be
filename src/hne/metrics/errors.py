"""Y and the true chart, or X and weights -> what is lost of them; X, Y -> TangentScore, X -> Dimension, without it.

And the checks of what any measure compares.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from hne._runtime.docstrings import described_as_in
from hne._runtime.random import random_generator
from hne._runtime.threads import thread_count
from hne.core.neighbors.exact import nearest
from hne.core.parameters import check_integer, check_settings
from hne.core.records import FloatArray, IndexArray, SparseMatrix
from hne.core.samples.canonical import InputScaling, check_told_apart, unique_samples
from hne.core.samples.check import check_matrix, check_stored
from hne.core.samples.kinds import Samples
from hne.core.tangent.frames import Dimension, estimated_dimension, frame_neighbors, is_measurable
from hne.core.tangent.score import TangentScore, TangentScorer
from hne.core.weights.layers import reconstruction_errors as lengths_of_errors
from hne.exceptions import refuse
from hne.settings import Settings

# How far a row's sum may be from one, and what a sum may be called nothing, both beside the sizes of its weights:
# far above rounding, far below what anyone means.
ROUNDING = 1e-6


def check_rows(first: ArrayLike, first_name: str, second: ArrayLike, second_name: str) -> tuple[FloatArray, FloatArray]:
    """Return two finite matrices with a row for each of the same samples."""
    one, other = check_some(first, first_name), check_some(second, second_name)
    check_length(len(other), second_name, one, first_name)
    return one, other


def check_embedded(X: ArrayLike, Y: ArrayLike) -> tuple[Samples, FloatArray]:
    """Return samples, dense or CSR, and their embedding, a finite matrix with a row for each of them."""
    samples, embedding = check_given(X), check_some(Y, "Y")
    check_length(len(embedding), "Y", samples, "X")
    return samples, embedding


def check_given(X: ArrayLike) -> Samples:
    """Return finite samples: a matrix that has rows, or a CSR array without stored zeros where X is sparse."""
    if not issparse(X):
        return check_some(X, "X")
    samples = check_stored(X)
    _check_any(samples, "X")
    samples.eliminate_zeros()
    return samples


def check_some(matrix: ArrayLike, name: str) -> FloatArray:
    """Return a finite matrix that has rows."""
    checked = check_matrix(matrix, name)
    _check_any(checked, name)
    return checked


def _check_any(matrix: Any, name: str) -> None:
    if not matrix.shape[0]:
        refuse(name, "must have samples", f"0 sample(s) (shape={matrix.shape})", "Pass at least one row")


def check_length(n_rows: int, name: str, samples: Samples, samples_name: str) -> None:
    """Raise where there are not as many rows as samples."""
    n = samples.shape[0]
    if n_rows != n:
        refuse(name, f"must have as many rows as {samples_name}", f"{n_rows} and {n}", "Pass matching rows")


def check_different(n_different: int, n_neighbors: int) -> None:
    """Raise where there are too few different samples for so many neighbors."""
    if n_different <= n_neighbors:
        rule = f"needs at least {n_neighbors + 1} different samples"
        refuse(f"n_neighbors={n_neighbors}", rule, str(n_different), "Lower n_neighbors or pass more samples")


def check_sampled(n_sampled: int | None, n: int, usual: int, most: str, random_state: Any) -> IndexArray:
    """Return the rows to measure, ascending: as many of n as were asked for, or the usual number, drawn at random."""
    count = usual
    if n_sampled is not None:
        count = check_integer("n_sampled", n_sampled, 2, f"Pass None for {usual}")
        if count > n:
            refuse("n_sampled", f"must be at most {most}", str(count), "Pass None or fewer")
    return np.arange(n) if count == n else np.sort(random_generator(random_state, is_draw=True).permutation(n)[:count])


def affine_errors(Y: ArrayLike, chart: ArrayLike) -> FloatArray:
    r"""Share of each true coordinate that no affine map of the embedding explains, 1 - R^2.

    0 is a perfect unrolling, 1 says that the coordinate is lost. This is the fair measure of eigenvectors, whose
    columns all have the same length: at best they are an affine image of the truth.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        The embedding, in any units. With n_samples - 1 columns or more everything is explained, and 0 says nothing.
    chart : array-like of shape (n_samples, n_coordinates)
        True coordinates of the samples, such as `hne.datasets.Dataset.chart`. Each column must vary.

    Returns
    -------
    ndarray of shape (n_coordinates,)
        One error for each true coordinate, from 0 to 1.

    See Also
    --------
    hne.metrics.procrustes_error : The same for rotations and one scale alone.
    hne.metrics.tangent_score : A measure that needs no truth.

    Notes
    -----
    With the true coordinates :math:`c_{ij}` and their means :math:`\bar c_j`,

    .. math:: e_j = \min_{a, b} \sum_i (c_{ij} - a^\top y_i - b)^2 \Big/ \sum_i (c_{ij} - \bar c_j)^2 .

    Examples
    --------
    >>> import numpy as np
    >>> from hne.metrics import affine_errors
    >>> chart = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> affine_errors(2 * chart[:, :1] + 3, chart)  # the first coordinate is kept, the second is lost
    array([0., 1.])
    """
    embedding, truth = check_rows(Y, "Y", chart, "chart")
    constant = (truth == truth[0]).all(axis=0)
    if constant.any():
        refuse("chart", "must vary in every column", f"a constant column {int(np.argmax(constant))}", "Drop it")
    return unexplained(embedding, truth)


@described_as_in(affine_errors)
def procrustes_error(Y: ArrayLike, chart: ArrayLike) -> float:
    r"""Share of the true coordinates' variance that the best shift, rotation, reflection and scale of Y leaves.

    Stricter than `affine_errors`: the embedding must have the shape of the truth, with one unit for all its columns. 0
    is the truth itself, moved; 1 says that nothing of it is there. A perfect embedding whose columns all have the same
    length still gets 0.1 where the truth is twice as long as wide.

    Returns
    -------
    float
        The error, from 0 to 1. If Y and the chart differ in their number of columns, the missing ones count as 0.

    See Also
    --------
    hne.metrics.affine_errors : The same for all affine maps, one error for each true coordinate.
    hne.metrics.residual_variance : Distances in Y against those along the data, without the truth.

    Notes
    -----
    With the rows :math:`c_i` of the chart and their mean :math:`\bar c`, over scales s, orthogonal matrices R and
    shifts t [1]_,

    .. math:: e = \min_{s, R, t} \sum_i \|c_i - s R y_i - t\|^2 \Big/ \sum_i \|c_i - \bar c\|^2 .

    References
    ----------
    .. [1] Schönemann and Carroll, "Fitting one matrix to another under choice of a central dilation and a rigid
       motion", Psychometrika 35 (1970) 245-255.

    Examples
    --------
    >>> import numpy as np
    >>> from hne.metrics import procrustes_error
    >>> chart = np.array([[2.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [-2.0, -1.0]])
    >>> turned, squashed = chart @ [[0.0, 3.0], [3.0, 0.0]] + 5, chart / [2.0, 1.0]
    >>> print(f"{procrustes_error(turned, chart):.2f}, {procrustes_error(squashed, chart):.2f}")
    0.00, 0.10
    """
    embedding, truth = check_rows(Y, "Y", chart, "chart")
    if (truth == truth[0]).all():
        refuse("chart", "must vary", "equal coordinates for all samples", "Pass the true coordinates")
    widest, spaces = max(embedding.shape[1], truth.shape[1]), []
    for matrix in (embedding, truth):
        # Zeros behind the columns of the narrower, and squares that sum to one; zeros stay.
        wide = np.pad(centered_alike(matrix), ((0, 0), (0, widest - matrix.shape[1])))
        length = np.linalg.norm(wide)
        spaces.append(wide / length if length > 0 else wide)
    moved, fixed = spaces
    # The best rotation is U V' of moved' fixed = U S V', the best scale then the trace of S.
    left, stretch, right = np.linalg.svd(moved.T @ fixed)
    return float(((fixed - stretch.sum() * (moved @ (left @ right))) ** 2).sum())


def unexplained(embedding: FloatArray, truth: FloatArray) -> FloatArray:
    """Share of the variance of each column of the truth that no affine map of the embedding explains."""
    explaining, wanted = _around_zero(embedding), _around_zero(truth)
    solution, *_ = np.linalg.lstsq(explaining, wanted, rcond=None)
    return ((wanted - explaining @ solution) ** 2).sum(axis=0) / (wanted**2).sum(axis=0)


def centered_alike(matrix: FloatArray) -> FloatArray:
    """Columns around zero, all in units of the widest one's range, whatever theirs are."""
    return _around_zero(matrix, in_one_unit=True)


def _around_zero(matrix: FloatArray, *, in_one_unit: bool = False) -> FloatArray:
    # Half the range of each column; the range itself may overflow.
    reach = matrix.max(axis=0) / 2 - matrix.min(axis=0) / 2
    reach = reach.max() if in_one_unit else reach
    inside = (matrix / 2 - matrix.min(axis=0) / 2) / np.where(reach > 0, reach, 1.0)
    return inside - inside.mean(axis=0)


def reconstruction_errors(X: ArrayLike, weights: ArrayLike | SparseMatrix, *, include_self: bool = True) -> FloatArray:
    r"""Length of what the weights do not rebuild of each sample, in the units of X.

    0 says that a sample is exactly what its weights make of the others. Joint weights of HNE also contain the sample
    itself, in some variants with much weight, which lowers the error: `include_self=False` takes that share out.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    weights : array-like or sparse matrix of shape (n_samples, n_samples)
        Row i has the weights that rebuild sample i, such as `joint_weights_` of a fitted model. Rows sum to one, or are
        empty.
    include_self : bool, default=True
        False takes the weight of a sample, and of its copies, out of its own row and divides the others by their sum:
        it tells how well the neighbors do without the sample. True gives the errors of the paper's tables.

    Returns
    -------
    ndarray of shape (n_samples,)
        One length for each sample. NaN for a sample with an empty row and, with `include_self=False`, for one whose
        other weights sum to less than 1e-6 of their sizes.

    See Also
    --------
    hne.viz.reconstruction : These errors as a picture, the largest with their row numbers.
    hne.HNE : Its `reconstruction_errors_` are those of the fitted samples.

    Notes
    -----
    .. math:: e_i = \Bigl\|x_i - \sum_j w_{ij} x_j\Bigr\|, \qquad
        e_i^{\mathrm{others}} = \frac{e_i}{|s_i|}, \quad s_i = \sum_{x_j \ne x_i} w_{ij},

    because :math:`x_i - (1 - s_i) x_i - \sum_{x_j \ne x_i} w_{ij} x_j` is :math:`s_i` times what the others leave.

    Examples
    --------
    >>> from hne.metrics import reconstruction_errors
    >>> X = [[0.0], [3.0], [4.0]]
    >>> weights = [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    >>> reconstruction_errors(X, weights)
    array([1.5, 1. , 0. ])
    >>> reconstruction_errors(X, weights, include_self=False)
    array([ 3.,  1., nan])
    """
    samples = check_given(X)
    matrix = _check_weights(weights, samples)
    with_self = check_settings({"include_self": include_self}).include_self
    units = InputScaling.fit(samples)
    errors = units.restore_lengths(lengths_of_errors(units.transform(samples), matrix))
    if with_self:
        return errors
    place = unique_samples(samples).inverse
    n = samples.shape[0]
    rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    of_others = np.where(place[rows] != place[matrix.indices], matrix.data, 0.0)
    shares, sizes = (np.bincount(rows, values, minlength=n) for values in (of_others, np.abs(matrix.data)))
    rebuilt = np.abs(shares) > ROUNDING * sizes
    return np.where(rebuilt, errors / np.where(rebuilt, np.abs(shares), 1.0), np.nan)


def _check_weights(weights: Any, samples: Samples) -> SparseMatrix:
    """Return square weights as CSR without zeros, whose rows sum to one or are empty."""
    if issparse(weights):
        if weights.dtype.kind not in "biuf" or weights.ndim != 2:
            got = f"{weights.ndim} dimension(s) of {weights.dtype}"
            remedy = "Pass joint_weights_ or inner_weights_ of a fitted model"
            refuse("weights", "must be a matrix of real numbers", got, remedy)
        matrix = csr_array(weights, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        if not np.isfinite(matrix.data).all():
            refuse("weights", "must be finite", "NaN or inf", "Drop or impute such values")
    else:
        matrix = csr_array(check_matrix(weights, "weights"))
    check_length(matrix.shape[0], "weights", samples, "X")
    if matrix.shape[0] != matrix.shape[1]:
        refuse("weights", "must be square", f"shape {matrix.shape}", "Pass a column for each sample of X")
    matrix.eliminate_zeros()
    sums, sizes = matrix.sum(axis=1), np.abs(matrix).sum(axis=1)
    off = (np.abs(sums - 1) > ROUNDING * np.maximum(sizes, 1.0)) & (sizes > 0)
    if off.any():
        row = int(np.argmax(off))
        got, remedy = f"{sums[row]:.6g} in row {row}", "Divide each row by its sum"
        refuse("weights", "must have rows that sum to one", got, remedy)
    return matrix


# Samples that are looked at unless told: they tell d within d / 100 (one standard deviation; d / 40 the two nearest).
DEFAULT_SAMPLED = 2_000
# Neighbors below which the likelihood looks at little else than the two nearest.
LEAST_NEIGHBORS = 4


def tangent_score(X: ArrayLike, Y: ArrayLike, *, n_jobs: int | None = None) -> TangentScore:
    r"""Score an embedding without knowing the truth: 0 loses nothing, lower is better.

    The score adds three losses: of the tangent planes of small neighborhoods, of the ranks of neighbors, and of equal
    lengths. Collapse, folds and repeated coordinates cost much. Any affine map of Y scores the same, because Y is first
    corrected to the lengths of X by one matrix. `hne.tuning.tune` chooses settings by this score.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples, in units in which Euclidean distances mean something.
    Y : array-like of shape (n_samples, n_components)
        The embedding, with a row for each row of X.
    n_jobs : int or None, default=None
        Number of threads, as in `hne.HNE`: None or -1 for all cores. More are faster, results are the same.

    Returns
    -------
    TangentScore
        `score`, its parts, and the matrix A with which Y @ A has the lengths of X (`correction`).

    See Also
    --------
    hne.metrics.affine_errors : The error where the truth is known.
    hne.metrics.rank_quality : Ranks of neighbors alone, of all samples.
    hne.tuning.tune : Settings chosen by this score.

    Notes
    -----
    For neighborhoods i of a sample and its 8 nearest (4 for each coordinate where that is more),

    .. math:: s = \operatorname{mean}_i \Bigl(1 - \frac{\|U_i^\top Q_i\|_F^2}{d}\Bigr)
        + 0.3 \, [(1 - T) + (1 - C)] + 0.2 \operatorname{mean}_i \frac{q_i}{q_i + 1/4} .

    :math:`U_i` and :math:`Q_i` are orthonormal bases of the first d principal coordinates in X and of the centered
    coordinates in Y. T and C are trustworthiness and continuity of the corrected Y at 10 neighbors, and :math:`q_i` is
    the mean squared logarithm of its local stretches. Copies of a sample count once; of more than 2 000 samples, 2 000
    neighborhoods are drawn.

    Of embeddings of 77 low-dimensional data sets, 95 % with a score below 0.02 were right (an affine error below 0.05),
    89 % from there to 0.05, 48 % from 0.075 to 0.1 and 3 % above 0.15. On images even right ones score 0.04 to 0.1, and
    stretches do not count: there, compare the scores of several embeddings.

    Examples
    --------
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.metrics import tangent_score
    >>> roll = make_swiss_roll(1000)
    >>> unrolled, from_the_end = tangent_score(roll.X, roll.chart), tangent_score(roll.X, roll.X[:, [0, 2]])
    >>> print(f"{unrolled.score:.3f} {from_the_end.score:.3f}")
    0.000 0.672
    """
    samples, embedding = check_embedded(X, Y)
    n_threads = thread_count(check_settings({"n_jobs": n_jobs}).n_jobs)
    scaling, scaling_of_Y = InputScaling.fit(samples), InputScaling.fit(embedding)
    first = unique_samples(samples).index
    d = embedding.shape[1]
    if not is_measurable(len(first), d):
        rule = f"must have at least {2 * (frame_neighbors(d) + 1)} different samples for {d} coordinates"
        refuse("X", rule, str(len(first)), "Pass more")
    scorer = TangentScorer.from_samples(scaling.transform(samples)[first], Settings(n_components=d), n_threads)
    measured = scorer.measure(scaling_of_Y.transform(embedding)[first])
    return replace(measured, correction=scaling.restore_lengths(measured.correction * scaling_of_Y.scale))


@described_as_in(tangent_score)
def intrinsic_dimension(
    X: ArrayLike,
    *,
    n_neighbors: int = 12,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Dimension:
    r"""Estimate how many dimensions the samples themselves have: an `n_components` to begin with.

    There are two estimators. Both are right where samples were drawn at random from a smooth manifold, dense enough for
    small neighborhoods to look flat. The answer is the likelihood's, unless the two nearest say clearly
    less.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples. Scaling one column against the others changes the answer, scaling all does not. Copies count once.
    n_neighbors : int, default=12
        Neighbors of each sample that the likelihood looks at, 4 or more. More look beyond stronger noise, fewer follow
        finer turns.
    n_sampled : int or None, default=None
        Number of samples whose neighbors are searched among all, drawn at random. More give steadier estimates. None
        takes 2 000, which tell a dimension d within d / 100, or all where there are fewer.
    random_state : int, RandomState or None, default=0
        Seed of the draw; None draws other samples each time.

    Returns
    -------
    Dimension
        The whole number `dimension`, at most n_features, both estimates, and whether they agree. Where they do not, the
        answer is a guess.

    See Also
    --------
    hne.metrics.Dimension : The result, field by field.
    hne.HNE : Takes this estimate with `n_components="auto"`.

    Notes
    -----
    Let :math:`T_1 \le \dots \le T_m` be the distances of a sample to its neighbors. The likelihood [1]_, of which the
    nearest third is counted and not measured (h = m // 3) and rows are averaged by their inverse [2]_, gives

    .. math:: \frac{1}{d} = \operatorname{mean} \frac{1}{m - h}
        \Bigl[\sum_{j=h}^{m-1} \log \frac{T_m}{T_j} + (h - 1) \log \frac{T_m}{T_h}\Bigr] .

    The two nearest [3]_ give d as the slope of :math:`-\log(1 - F)` over :math:`\log (T_2 / T_1)`, with F the share of
    samples that have at most this ratio, and the largest tenth left out. Noise raises the second estimate, and so do
    samples spread more evenly than by chance. Bends narrower than neighborhoods raise the first. Edges lower both: for
    1 000 samples in a cube of 10 dimensions the answer is 8.

    References
    ----------
    .. [1] Levina and Bickel, "Maximum likelihood estimation of intrinsic dimension", NIPS 17 (2004) 777-784.
    .. [2] MacKay and Ghahramani, "Comments on 'Maximum likelihood estimation of intrinsic dimension' by E. Levina and
       P. Bickel (2004)", note (2005).
    .. [3] Facco, d'Errico, Rodriguez and Laio, "Estimating the intrinsic dimension of datasets by a minimal
       neighborhood information", Scientific Reports 7 (2017) 12140.

    Examples
    --------
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.metrics import intrinsic_dimension
    >>> print(intrinsic_dimension(make_swiss_roll(1000).X))
    2 (1.92 by likelihood, 2.07 by the two nearest: agreed)
    """
    samples = check_given(X)
    k = check_integer("n_neighbors", n_neighbors, LEAST_NEIGHBORS, "Try n_neighbors=12")
    settings = check_settings({"random_state": random_state, "n_jobs": n_jobs})
    samples = InputScaling.fit(samples).transform(samples)
    # An order that is not that of X: the draw falls on the same samples, however they stand.
    places = samples[unique_samples(samples).index]
    n_places = places.shape[0]
    check_different(n_places, k)
    most = f"the {n_places} different samples"
    rows = check_sampled(n_sampled, n_places, min(n_places, DEFAULT_SAMPLED), most, settings.random_state)
    _, distances, _ = nearest(places, places[rows], k, rows, thread_count(settings.n_jobs))
    # Of places, none is at no distance to another.
    check_told_apart(len(rows), int((distances[:, 0] > 0).sum()))
    return estimated_dimension(distances, min(samples.shape[1], n_places - 1))
