"""Columns of a file's own kinds -> labels and names of samples: numbers as they are, everything else as exact text."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Whole numbers from here on are not all float64's: digits would be lost.
INEXACT = 2**53


def as_label(values: NDArray[Any]) -> NDArray[Any]:
    """A column that describes samples: numbers as they are, anything else as text, None for what is missing."""
    if values.dtype.kind in "iuf":
        return np.array(values)
    return np.array([as_text(value) for value in values.tolist()], dtype=object)


def as_text(value: Any) -> str | None:
    """Text of a value, None where it is missing; whole numbers without a decimal point.

    >>> [as_text(value) for value in (3.0, 0.1, True, b"a ", float("nan"))]
    ['3', '0.1', 'true', 'a', None]
    """
    if value is None or value != value:  # noqa: PLR0124, NaN
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < INEXACT:
        return str(int(value))
    # Fields of fixed length are filled up with blanks.
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text.strip() or None


def as_ids(column: NDArray[Any]) -> tuple[str, ...]:
    """Names of samples from a column of texts or numbers; empty where one is missing."""
    # A float32 prints its own digits, not those of the float64 it becomes.
    values = [float(str(value)) for value in column] if column.dtype == np.float32 else column.tolist()
    return tuple(as_text(value) or "" for value in values)


def as_categories(values: NDArray[Any]) -> list[str | None]:
    """Texts of categories; those that are numbers are still categories: they are not to be averaged."""
    return [text or None for text in as_ids(values)] if values.dtype.kind in "iuf" else as_label(values).tolist()


def with_gaps(values: NDArray[Any], mask: NDArray[Any]) -> NDArray[Any]:
    """A label with gaps where the mask is True: numbers with NaN; texts, and whole numbers beyond 2^53, with None."""
    if values.dtype.kind in "iuf" and not mask.any():
        return values
    is_exact = values.dtype.kind == "f" or not (np.abs(values[~mask].astype(np.float64)) >= INEXACT).any()
    if values.dtype.kind in "iuf" and is_exact:
        return np.where(mask, np.nan, values.astype(np.float64))
    texts = as_categories(values)
    return np.array([None if hidden else text for text, hidden in zip(texts, mask.tolist(), strict=True)], object)
