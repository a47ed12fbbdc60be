"""Y and the true chart -> what of the truth no map of the embedding gives back."""

import numpy as np
from numpy.typing import ArrayLike

from hne.core.records import FloatArray
from hne.exceptions import InputError
from hne.metrics.checks import check_rows


def affine_errors(Y: ArrayLike, chart: ArrayLike) -> FloatArray:
    """Share of each true coordinate that no affine map of the embedding explains, 1 - R^2.

    An embedding with whitened columns can at best be an affine image of the truth, so this is the fair
    measure of it: 0 is a perfect unrolling, 1 says that the coordinate is lost. With no more samples than
    columns of Y and one, everything is explained, and 0 says nothing.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    chart : array-like of shape (n_samples, n_coordinates)
        True coordinates of the samples.

    Returns
    -------
    ndarray of shape (n_coordinates,)
        One error a true coordinate.

    Examples
    --------
    >>> import numpy as np
    >>> chart = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> affine_errors(chart @ [[2.0], [0.0]], chart)
    array([0., 1.])
    """
    embedding, truth = check_rows(Y, "Y", chart, "chart")
    constant = (truth == truth[0]).all(axis=0)
    if constant.any():
        msg = f"chart must vary in every column, got a constant column {int(np.argmax(constant))}. Drop it."
        raise InputError(msg)
    return unexplained(embedding, truth)


def procrustes_error(Y: ArrayLike, chart: ArrayLike) -> float:
    """Share of the chart's variance that is left after the best shift, rotation, reflection and scale of Y.

    Stricter than `affine_errors`: the embedding must have the shape of the truth, one unit for all its
    columns. 0 is the truth itself, moved; 1 says that nothing of it is there. Whitened embeddings of a chart
    twice as long as wide have 0.1 even where they are perfect. Of Y and the chart, the one with fewer columns
    is taken to be flat in the others.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    chart : array-like of shape (n_samples, n_coordinates)
        True coordinates of the samples.

    Returns
    -------
    float
        The error, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> chart = np.array([[2.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [-2.0, -1.0]])
    >>> turned = chart @ [[0.0, 3.0], [3.0, 0.0]] + 5
    >>> print(f"{procrustes_error(turned, chart):.2f}, {procrustes_error(chart / [2.0, 1.0], chart):.2f}")
    0.00, 0.10
    """
    embedding, truth = check_rows(Y, "Y", chart, "chart")
    if (truth == truth[0]).all():
        msg = "chart must vary, got equal coordinates for all samples. Pass the true coordinates."
        raise InputError(msg)
    columns = max(embedding.shape[1], truth.shape[1])
    moved, fixed = (_unit(_widened(centered_alike(matrix), columns)) for matrix in (embedding, truth))
    # The best rotation is U V' of moved' fixed = U S V', the best scale then the trace of S.
    left, stretch, right = np.linalg.svd(moved.T @ fixed)
    return float(((fixed - stretch.sum() * (moved @ (left @ right))) ** 2).sum())


def unexplained(embedding: FloatArray, truth: FloatArray) -> FloatArray:
    """Share of the variance of each column of the truth that no affine map of the embedding explains."""
    explaining, wanted = _centered(embedding), _centered(truth)
    solution, *_ = np.linalg.lstsq(explaining, wanted, rcond=None)
    errors: FloatArray = ((wanted - explaining @ solution) ** 2).sum(axis=0) / (wanted**2).sum(axis=0)
    return errors


def centered_alike(matrix: FloatArray) -> FloatArray:
    """Columns around zero, all in units of the widest one's range, whatever theirs are."""
    return _around_zero(matrix, _reach(matrix).max())


def _centered(matrix: FloatArray) -> FloatArray:
    """Columns around zero in units of their own range, whatever theirs are."""
    return _around_zero(matrix, _reach(matrix))


def _reach(matrix: FloatArray) -> FloatArray:
    """Half the range of each column; the range itself may overflow."""
    reach: FloatArray = matrix.max(axis=0) / 2 - matrix.min(axis=0) / 2
    return reach


def _around_zero(matrix: FloatArray, reach: FloatArray) -> FloatArray:
    inside = (matrix / 2 - matrix.min(axis=0) / 2) / np.where(reach > 0, reach, 1.0)
    centered: FloatArray = inside - inside.mean(axis=0)
    return centered


def _widened(matrix: FloatArray, columns: int) -> FloatArray:
    """The matrix with columns of zeros behind its own."""
    return np.pad(matrix, ((0, 0), (0, columns - matrix.shape[1])))


def _unit(matrix: FloatArray) -> FloatArray:
    """The matrix with squares that sum to one; zeros stay."""
    length = np.linalg.norm(matrix)
    return matrix / length if length > 0 else matrix
