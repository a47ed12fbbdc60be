"""X and weights -> how far each sample is from what its weights make of the others."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from hne.core.parameters import check_settings
from hne.core.reconstruction import reconstruction_errors as lengths_of_errors
from hne.core.records import FloatArray, SparseMatrix
from hne.core.samples.kinds import Samples
from hne.core.samples.scaling import InputScaling
from hne.core.samples.tables import check_matrix
from hne.core.samples.unique import unique_samples
from hne.exceptions import InputError
from hne.metrics.checks import check_given, check_length

# How far a row's sum may be from one, and what a sum may be called nothing, both beside the sizes of its weights:
# far above rounding, far below what anyone means.
ROUNDING = 1e-6


def reconstruction_errors(X: ArrayLike, weights: ArrayLike | SparseMatrix, *, include_self: bool = True) -> FloatArray:
    """Length of x_i - sum_j w_ij x_j for each sample, in the units of X.

    0 says that a sample is exactly what its weights rebuild; their mean is the error of the paper's tables. Joint
    weights of HNE contain the sample itself, nearly always and with much weight in some variants, so that part of a
    low error is a sample rebuilt from itself: `include_self=False` tells how well the others do.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    weights : array-like or sparse matrix of shape (n_samples, n_samples)
        Row i has the weights that rebuild sample i, such as `joint_weights_` of a fitted model. Rows sum to
        one, or are empty.
    include_self : bool, default=True
        False takes the weight of a sample (and of its exact copies) out of its own row and divides the others
        by their sum s. The error is then 1 / |s| times the other one, because
        x - (1 - s) x - sum of the others = s (x - sum of the others / s).

    Returns
    -------
    ndarray of shape (n_samples,)
        One length a sample; NaN for a sample with an empty row, and with `include_self=False` for one whose other
        weights sum to nothing (below 1e-6 of their sizes): nobody but the sample itself rebuilds it.

    Examples
    --------
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
            msg = (
                f"weights must be a matrix of real numbers, got {weights.ndim} dimension(s) of {weights.dtype}. "
                "Pass joint_weights_ or inner_weights_ of a fitted model."
            )
            raise InputError(msg)
        matrix = csr_array(weights, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        if not np.isfinite(matrix.data).all():
            msg = "weights must be finite, got NaN or inf. Drop or impute such values."
            raise InputError(msg)
    else:
        matrix = csr_array(check_matrix(weights, "weights"))
    check_length(matrix.shape[0], "weights", samples, "X")
    if matrix.shape[0] != matrix.shape[1]:
        msg = f"weights must be square, got shape {matrix.shape}. Pass a column for each sample of X."
        raise InputError(msg)
    matrix.eliminate_zeros()
    sums, sizes = matrix.sum(axis=1), np.abs(matrix).sum(axis=1)
    off = (np.abs(sums - 1) > ROUNDING * np.maximum(sizes, 1.0)) & (sizes > 0)
    if off.any():
        row = int(np.argmax(off))
        msg = f"weights must have rows that sum to one, got {sums[row]:.6g} in row {row}. Divide each row by its sum."
        raise InputError(msg)
    return matrix
