"""Columns with their roles -> Table: the options of a reader, the table, and the one way to build it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from hne.core.records import FloatArray, IndexArray, SparseMatrix
from hne.io.files import File

if TYPE_CHECKING:
    from hne.io.roles import Roles

# A short text in a list: its characters, Python's header, and the place in the list.
TEXT_BYTES = 72
# Whole numbers from here on are not all float64's: digits would be lost.
INEXACT = 2**53
# The largest value of an 8-bit pixel.
WHITE = 255.0


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What a user says about a file; None and empty leave it to be found out."""

    columns: tuple[str, ...] = ()  # features: names, patterns as gene_*, positions as 2-5 (from 1); else all numeric
    features: tuple[str, ...] = ()  # the same as exact names, all of which must be there: those of a fitted model
    drop: tuple[str, ...] = ()  # columns to forget, named in the same ways
    id: str | None = None  # the column that names the samples
    color: str | None = None  # a column to color by: carried along, a feature only if `columns` has it too
    array: str | None = None  # which of several arrays: a name in NPZ and MAT files, a path in HDF5
    transpose: bool = False  # samples are columns
    separator: str | None = None  # between the fields of a text table; " " means runs of blanks
    decimal: str | None = None  # "." or ","
    encoding: str | None = None
    header: bool | None = None  # whether the first row of a text table holds names
    image_size: tuple[int, int] | None = None  # width and height: of rows that are images, or to resize image files to
    image_mode: str | None = None  # "grey" or "rgb"
    pixel_scale: float | None = None  # what pixels of arrays are divided by, as those of a fitted model were


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of samples, a row each, in the order of the file."""

    X: FloatArray | SparseMatrix  # (n, D), float64 or float32; NaN where a value is missing
    feature_names: tuple[str, ...]  # (D,)
    source: str  # what was read, in a line: "CSV, separator ';', decimal comma"
    ids: tuple[str, ...] | None = None  # (n,), names of the samples, where the file has them
    id_name: str = "id"
    labels: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # (n,) each: numbers, or str and None
    rows: IndexArray | None = None  # (n,), rows in the file, from 1; None means all of them: 1, 2, ... n
    color: str | None = None  # the column to color by, by its name among `labels` or `feature_names`
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3), where rows of X are images
    pixel_scale: float | None = None  # what pixels of an array were divided by; None where there were none
    notices: tuple[str, ...] = ()  # what was decided for the user, a sentence each

    def __str__(self) -> str:
        n_samples, n_features = self.X.shape
        samples = f"{n_samples} sample{'s' * (n_samples != 1)}"
        return f"{samples} of {n_features} feature{'s' * (n_features != 1)}, {self.source}"

    def noticed(self, *notices: str) -> "Table":
        """The same with further notices."""
        return replace(self, notices=(*self.notices, *notices)) if notices else self


def build_table(
    file: File,
    options: ReadOptions,
    roles: "Roles",
    names: Sequence[str],
    column: Callable[[int], NDArray[Any]],
    *,
    is_column_major: bool = False,
    notices: Sequence[str] = (),
    **fields: Any,
) -> Table:
    """The table of columns whose roles are known.

    `column` gives the values of a column that names or describes the samples, by its position among `names`; what
    remains are fields of the table. Rows become images where the options say so, by MATLAB's order of pixels where
    `is_column_major` is True.
    """
    if roles.id is not None:
        fields |= {"ids": as_ids(column(roles.id)), "id_name": names[roles.id]}
    table = Table(
        labels={names[i]: column(i) for i in roles.labels},
        color=None if roles.color is None else names[roles.color],
        notices=(*notices, *roles.notices),
        **fields,
    )
    if options.image_size is None or table.image_shape is not None:
        return table
    width, height = options.image_size
    n_samples, n_features = table.X.shape
    if n_features not in (width * height, 3 * width * height):
        rule = f"must have {width * height} features, or 3 times as many, for images of {width} x {height}"
        # The most nearly square size that would fit.
        side = next(i for i in range(int(n_features**0.5), 0, -1) if n_features % i == 0)
        fitting = f"Try image_size=({side}, {n_features // side}), width first"
        file.refuse(rule, n_features, fitting if side > 1 else "Leave image_size out", "image_size")
    X: Any = table.X
    X = X.toarray() if issparse(X) else X
    n_channels = n_features // (width * height)
    if is_column_major:
        # MATLAB counts rows fastest, then columns, then colors.
        X = X.reshape(n_samples, n_channels, width, height).transpose(0, 3, 2, 1).reshape(n_samples, -1)
    X, scale, scaling = unit_pixels(X, options.pixel_scale)
    shape = (height, width) if n_channels == 1 else (height, width, 3)
    return replace(table, X=X, image_shape=shape, pixel_scale=scale).noticed(*scaling)


def unit_pixels(X: NDArray[Any], scale: float | None = None) -> tuple[NDArray[Any], float, tuple[str, ...]]:
    """Pixels, what they were divided by, and a notice of it: by `scale`, else by 255 where they are 8-bit pixels."""
    notice = "Pixels from 0 to 255 are divided by 255." if scale is None else ""
    if scale is None:
        # Darker ones than that are of another scale, such as 0 to 16, and stay as they are.
        scale = WHITE if X.size and X.min() >= 0 and WHITE / 2 < X.max() <= WHITE else 1.0
    if scale == 1:
        return X, scale, ()
    return X / scale, scale, (notice or f"Pixels are divided by {scale:g}, as those of the model were.",)


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


def with_gaps(values: NDArray[Any], mask: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers with gaps where the mask is True: NaN, or None among texts where float64 has no room for them."""
    if not mask.any():
        return values
    if not (np.abs(values[~mask].astype(np.float64)) >= INEXACT).any():
        return np.where(mask, np.nan, values.astype(np.float64))
    return np.array([None if gap else str(value) for value, gap in zip(values, mask.tolist(), strict=True)], object)
