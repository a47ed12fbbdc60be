"""What was read from a file: numbers to embed, and what is carried along beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from numpy.typing import NDArray

from hne.core.records import FloatArray, IndexArray, SparseMatrix
from hne.io.preparation import Preparation


def shape_in_words(n_samples: int, n_features: int) -> str:
    """Samples and features as people say them.

    >>> shape_in_words(1, 20)
    '1 sample of 20 features'
    """
    return f"{n_samples} sample{'s' * (n_samples != 1)} of {n_features} feature{'s' * (n_features != 1)}"


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
        return f"{shape_in_words(*self.X.shape)}, {self.source}"


@dataclass(frozen=True)
class Ready:
    """Samples to embed or to place, and the table that they come from, row by row."""

    table: Table  # as read, without rows that were left out
    X: FloatArray | SparseMatrix  # filled and scaled
    preparation: Preparation  # which fills and scales others alike


@dataclass(frozen=True, kw_only=True)
class Outline:
    """What a file holds, known without reading all of it."""

    n_samples: int
    n_features: int
    is_exact: bool  # whether the file says so itself; else it follows from its size and its beginning
    bytes: int  # memory that reading takes at its peak
    source: str


@dataclass(frozen=True, kw_only=True)
class Coordinates:
    """An embedding to be written, with what names and describes its samples."""

    Y: FloatArray  # (n, d); NaN where a sample has no place
    names: tuple[str, ...] = ()  # (d,); empty means hne1, hne2, ...
    ids: tuple[str, ...] | None = None
    id_name: str = "id"
    labels: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    rows: IndexArray | None = None  # rows in the file that was read, from 1, where some were dropped

    @classmethod
    def of(cls, table: Table, Y: FloatArray) -> Self:
        """Coordinates of a table's samples, with what it carries along."""
        return cls(Y=Y, ids=table.ids, id_name=table.id_name, labels=table.labels, rows=table.rows)
