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
    embedding, truth = check_matrix(Y), check_matrix(chart)
    if len(embedding) != len(truth):
        msg = f"chart must have as many rows as Y, got {len(truth)} and {len(embedding)}. Pass matching rows."
        raise InputError(msg)
    centered = truth - truth.mean(axis=0)
    spread = (centered**2).sum(axis=0)
    if (spread == 0).any():
        column = int(np.argmax(spread == 0))
        msg = f"chart must vary in every column, got a constant column {column}. Drop it."
        raise InputError(msg)
    explaining = embedding - embedding.mean(axis=0)
    solution, *_ = np.linalg.lstsq(explaining, centered, rcond=None)
    errors: FloatArray = ((centered - explaining @ solution) ** 2).sum(axis=0) / spread
    return errors
