"""What a metric compares -> checked arrays with a row for each sample, and every message about them."""

from typing import Any

from numpy.typing import ArrayLike
from scipy.sparse import issparse

from hne.core.records import FloatArray
from hne.core.samples.kinds import Samples
from hne.core.samples.tables import check_matrix, check_stored
from hne.exceptions import InputError


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
