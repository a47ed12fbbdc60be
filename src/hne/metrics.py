"""Quality of an embedding: Y, and what is known of the truth -> numbers between 0 (perfect) and 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hne._types import FloatArray
from hne._validation import check_matrix
from hne.exceptions import InputError

__all__ = ["affine_errors"]


def affine_errors(Y: ArrayLike, chart: ArrayLike) -> FloatArray:
    """Share of each true coordinate that no affine map of the embedding explains, 1 - R^2.

    An embedding with whitened columns can at best be an affine image of the truth, so this is the fair
    measure of it: 0 is a perfect unrolling, 1 says that the coordinate is lost.

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
    embedding, truth = check_matrix(Y, "Y"), check_matrix(chart, "chart")
    if len(embedding) != len(truth):
        msg = f"chart must have as many rows as Y, got {len(truth)} and {len(embedding)}. Pass matching rows."
        raise InputError(msg)
    constant = (truth == truth[0]).all(axis=0)
    if constant.any():
        msg = f"chart must vary in every column, got a constant column {int(np.argmax(constant))}. Drop it."
        raise InputError(msg)
    explaining, centered = _centered(embedding), _centered(truth)
    solution, *_ = np.linalg.lstsq(explaining, centered, rcond=None)
    errors: FloatArray = ((centered - explaining @ solution) ** 2).sum(axis=0) / (centered**2).sum(axis=0)
    return errors


def _centered(matrix: FloatArray) -> FloatArray:
    """Columns around zero in units of their own range, whatever theirs are."""
    low = matrix.min(axis=0)
    reach = matrix.max(axis=0) / 2 - low / 2
    inside = (matrix / 2 - low / 2) / np.where(reach > 0, reach, 1.0)
    centered: FloatArray = inside - inside.mean(axis=0)
    return centered
