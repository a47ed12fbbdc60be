"""Columns of Arrow's types -> numbers, labels and names of samples."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.io.labels import as_label, with_gaps


@dataclass(frozen=True, kw_only=True)
class Columns:
    """A table that waits to be read: names and types of its columns, and batches of some of them."""

    arrow: Any  # the module pyarrow
    source: str
    schema: Any
    n_rows: int
    batches: Callable[[list[str]], Iterator[Any]]


def is_list(arrow: Any, kind: Any) -> bool:
    """Whether a type is of lists of numbers."""
    found = arrow.types.is_list(kind) or arrow.types.is_large_list(kind) or arrow.types.is_fixed_size_list(kind)
    return found and is_number(arrow, kind.value_type)


def is_number(arrow: Any, kind: Any) -> bool:
    """Whether a type is of numbers."""
    types = arrow.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_text(arrow: Any, kind: Any) -> bool:
    """Whether a type can be told as text."""
    types = arrow.types
    tests = (types.is_string, types.is_large_string, types.is_dictionary, types.is_boolean, types.is_temporal)
    return any(test(kind) for test in tests) or types.is_null(kind) or str(kind) == "string_view"


def value_type(columns: Columns, name: str) -> Any:
    """Type of a column's numbers, in lists or not."""
    kind = columns.schema.field(name).type
    return kind.value_type if is_list(columns.arrow, kind) else kind


def numbers(columns: Columns, column: Any, width: int | None) -> NDArray[Any]:
    """Numbers of a column, or of lists of so many, in a row."""
    if width is not None and not column.null_count:
        return numbers(columns, column.flatten(), None)
    if width is not None:
        rows = [[np.nan] * width if value is None else value for value in column.to_pylist()]
        return np.array(rows, dtype=np.float64)
    # Integers beyond 2^53 lose digits as every float64 does.
    cast = column.cast(columns.arrow.float64(), safe=False)
    values: NDArray[Any] = cast.to_numpy(zero_copy_only=False)
    return values


def values_of(columns: Columns, name: str) -> list[Any]:
    """Python's values of a column."""
    return [value for batch in columns.batches([name]) for value in batch.column(0).to_pylist()]


def is_unique(values: list[Any]) -> bool:
    """Whether texts, or whole numbers, differ from each other."""
    return len(set(values)) == len(values) and all(isinstance(value, int | str) for value in values)


def label(columns: Columns, name: str) -> NDArray[Any]:
    """A column beside the features: numbers, whole ones exact, or text with None."""
    kind = columns.schema.field(name).type
    if columns.arrow.types.is_integer(kind):
        return _whole(columns, name, kind)
    if is_number(columns.arrow, kind):
        batches = [numbers(columns, batch.column(0), None) for batch in columns.batches([name])]
        return np.concatenate(batches) if batches else np.empty(0)
    return as_label(np.array([*values_of(columns, name), None], dtype=object)[:-1])


def _whole(columns: Columns, name: str, kind: Any) -> NDArray[Any]:
    parts = [batch.column(0) for batch in columns.batches([name])]
    if not parts:
        return np.empty(0)
    mask = np.concatenate([part.is_null().to_numpy(zero_copy_only=False) for part in parts])
    zero = columns.arrow.scalar(0, type=kind)
    values = np.concatenate([part.fill_null(zero).to_numpy(zero_copy_only=False) for part in parts])
    return with_gaps(values, mask)
