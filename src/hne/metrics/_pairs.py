"""What a metric compares -> checked arrays with a row for each sample, and every message about them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from hne._samples import Samples
from hne._types import FloatArray, IndexArray
from hne._validation import check_matrix, check_stored
from hne.exceptions import InputError, InputTypeError


def check_rows(first: ArrayLike, first_name: str, second: ArrayLike, second_name: str) -> tuple[FloatArray, FloatArray]:
    """Return two finite matrices with a row for each of the same samples."""
    ours, others = check_some(first, first_name), check_some(second, second_name)
    check_length(len(others), second_name, ours, first_name)
    return ours, others


def check_embedded(X: ArrayLike, Y: ArrayLike) -> tuple[Samples, FloatArray]:
    """Return samples, dense or CSR, and their embedding, a finite matrix with a row for each of them."""
    samples, embedding = check_given(X), check_some(Y, "Y")
    check_length(len(embedding), "Y", samples, "X")
    return samples, embedding


def check_given(X: ArrayLike) -> Samples:
    """Return finite samples: a matrix that has rows, or a CSR array without stored zeros where X is sparse."""
    if not issparse(X):
        return check_some(X, "X")
    samples = _with_rows(check_stored(X), "X")
    samples.eliminate_zeros()
    return samples


def check_some(matrix: ArrayLike, name: str) -> FloatArray:
    """Return a finite matrix that has rows."""
    checked: FloatArray = _with_rows(check_matrix(matrix, name), name)
    return checked


def _with_rows(checked: Any, name: str) -> Any:
    if not checked.shape[0]:
        msg = f"{name} must have samples, got 0 sample(s) (shape={checked.shape}). Pass at least one row."
        raise InputError(msg)
    return checked


def check_length(n_rows: int, name: str, samples: Samples, samples_name: str) -> None:
    """Raise where there are not as many rows as samples."""
    n = samples.shape[0]
    if n_rows != n:
        msg = f"{name} must have as many rows as {samples_name}, got {n_rows} and {n}. Pass matching rows."
        raise InputError(msg)


def check_labels(labels: ArrayLike, samples: FloatArray, samples_name: str) -> tuple[IndexArray, IndexArray]:
    """Return the labels, one a sample, and those of the groups in ascending order; -1 belongs to none."""
    try:
        given: Any = np.asarray(labels)
    except ValueError:
        given = np.empty((0, 0))
    if given.ndim != 1:
        msg = f"labels must be one number for each sample, got shape {given.shape}. Pass labels.ravel()."
        raise InputError(msg)
    check_length(len(given), "labels", samples, samples_name)
    if given.dtype.kind not in "iu":
        msg = (
            f"labels must be integers, got values of {given.dtype}. Pass np.unique(labels, return_inverse=True)[1], "
            "with -1 for samples that belong to no group."
        )
        raise InputTypeError(msg)
    if given.min() < -1:
        msg = f"labels must be 0 and more, or -1 for samples of no group, got {given.min()}. Number the groups from 0."
        raise InputError(msg)
    groups = np.unique(given[given >= 0])
    if not len(groups):
        msg = "labels must name a group, got -1 for every sample. Number the groups from 0."
        raise InputError(msg)
    return given, groups
