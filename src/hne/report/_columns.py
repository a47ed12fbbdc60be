"""Embedding, Details -> the columns that a page carries: numbers, or codes of categories."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._types import Embedding, IndexArray
from hne.report._details import Details

# Values of all columns together (16 MB, a third more as text) and columns that a page carries; some always come.
MAX_VALUES, MAX_COLUMNS, FEWEST_COLUMNS = 4_000_000, 100, 3
MAX_COORDINATES = 20
# Texts are cut at these lengths; a column of more different texts than the last number names samples, and colors none.
MAX_LABEL, MAX_ID, MAX_CATEGORIES = 200, 500, 50_000
# Integers up to here are exact in float32, whatever they came as; and the smallest of its ordinary numbers.
EXACT_INTEGERS, SMALLEST = 2**24, 1e-37


@dataclass(frozen=True)
class Column:
    """A value for each point: a number, or the code of a category; the code after the last stands for none."""

    name: str
    values: NDArray[Any]  # float32 or float64; or uint8, uint16, uint32
    group: str  # where it is listed: "coordinates", "embedding" or "data"
    categories: tuple[str, ...] | None = None  # most frequent first


@dataclass(frozen=True)
class Points:
    """What is drawn: rows of the embedding, their columns, and what was left out."""

    rows: IndexArray  # (n,), of the embedding, ascending
    columns: tuple[Column, ...]  # coordinates first
    color: int | None  # column to color by at first
    left_out: tuple[str, ...] = field(default=())


def page_columns(result: Embedding, details: Details, rows: IndexArray) -> Points:
    """Columns of the page for these rows of the embedding."""
    columns, left_out = list(_own_columns(result, rows)), [*details.left_out, *_cut(result, details, rows)]
    names = list(details.columns)
    if details.color is not None:
        names.sort(key=lambda name: name != details.color)
    allowed = min(MAX_COLUMNS, max(FEWEST_COLUMNS, MAX_VALUES // max(1, len(rows)) - len(columns)))
    kept = set(names[:allowed])
    if len(names) > allowed:
        left_out.append(
            f"{len(names) - allowed} of {len(names)} columns, to keep the file small: all from "
            f"{shortened(names[allowed], 40)!r} to {shortened(names[-1], 40)!r}."
        )
    color = None
    for name, values in details.columns.items():
        if name not in kept:
            continue
        column = encoded(name, np.asarray(values)[rows])
        if column is None:
            left_out.append(f"Column {shortened(name, 40)!r}: more than {MAX_CATEGORIES} different texts.")
            continue
        if any(len(text) == MAX_LABEL and text.endswith("…") for text in column.categories or ()):
            left_out.append(f"Column {shortened(name, 40)!r}: what its texts say beyond {MAX_LABEL} characters.")
        if color is None or name == details.color:
            color = len(columns)
        columns.append(column)
    if color is None:
        color = next((i for i, column in enumerate(columns) if column.group == "embedding"), None)
    return Points(rows, tuple(columns), color, tuple(left_out))


def _own_columns(result: Embedding, rows: IndexArray) -> Iterator[Column]:
    """Coordinates, piece where there are several, and reconstruction error."""
    for axis in range(min(result.Y.shape[1], MAX_COORDINATES)):
        yield Column(f"coordinate {axis + 1}", result.Y[rows, axis].astype(np.float32), "coordinates")
    if result.pieces.count > 1:
        names = [f"piece {number + 1} (of {size} samples)" for number, size in enumerate(result.pieces.sizes)]
        labels, missing = result.pieces.labels[rows], len(names)
        yield Column("piece", labels.astype(_code_kind(missing)), "embedding", tuple(names))
    yield Column("reconstruction error", _numbers(result.reconstruction_errors[rows]), "embedding")


def _cut(result: Embedding, details: Details, rows: IndexArray) -> Iterator[str]:
    """What is said of coordinates that are too many and ids that are too long."""
    d = result.Y.shape[1]
    if d > MAX_COORDINATES:
        yield f"Coordinates {MAX_COORDINATES + 1} to {d}: a page shows the first {MAX_COORDINATES}."
    n_long = 0 if details.ids is None else sum(len(str(details.ids[row])) > MAX_ID for row in rows.tolist())
    if n_long:
        yield f"What {n_long} {'id says' if n_long == 1 else 'ids say'} beyond {MAX_ID} characters."


def encoded(name: str, values: NDArray[Any]) -> Column | None:
    """A column of data as numbers, or as categories, the most frequent first; None for too many of them.

    >>> column = encoded("kind", np.array(["a", "b", None, "b"], dtype=object))
    >>> column.categories, column.values.tolist()
    (('b', 'a'), [1, 0, 2, 0])
    """
    label = shortened(str(name), MAX_LABEL)
    if values.dtype.kind == "O":
        values = _as_numbers(values)
    if values.dtype.kind in "iuf":
        return Column(label, _numbers(values), "data")
    texts = [_text(value) for value in values.tolist()]
    counts: dict[str, int] = {}
    for text in texts:
        if text is not None:
            counts[text] = counts.get(text, 0) + 1
    if len(counts) > MAX_CATEGORIES:
        return None
    # Sorting is stable: among equally frequent ones, the first in the data comes first.
    names = sorted(counts, key=lambda text: -counts[text])
    codes: dict[str | None, int] = {text: code for code, text in enumerate(names)}
    codes[None] = len(names)
    found = np.array([codes[text] for text in texts], dtype=_code_kind(len(names)))
    return Column(label, found, "data", tuple(shortened(text, MAX_LABEL) for text in names))


def point_ids(details: Details, rows: IndexArray) -> list[str] | None:
    """Names of the drawn samples; None where they are just numbered."""
    if details.ids is None:
        return None
    return [shortened(str(details.ids[row]), MAX_ID) for row in rows.tolist()]


def row_numbers(details: Details, rows: IndexArray) -> IndexArray:
    """Numbers, from 1, that these rows of the embedding have in what was read."""
    return rows + 1 if details.rows is None else np.asarray(details.rows)[rows].astype(np.intp)


def shortened(text: str, length: int) -> str:
    """The text, cut where it is longer.

    >>> shortened("neighbors", 5)
    'neig…'
    """
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _text(value: Any) -> str | None:
    """None for what is missing: None, NaN, NaT, an empty text."""
    return None if _is_missing(value) or value == "" else str(value)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # noqa: PLR0124, NaN differs from itself
    except (TypeError, ValueError):  # pandas' NA does not say whether it does
        return True


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Python objects as numbers, NaN where one is missing, if that is what they are."""
    present = [value for value in values.tolist() if not _is_missing(value)]
    if not present or not all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return values
    return np.array([np.nan if _is_missing(value) else float(value) for value in values.tolist()])


def _numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Single precision, unless numbers would be lost in it that are large, and so perhaps dates or keys, or extreme."""
    if values.dtype == np.float32 or not values.size:
        return values.astype(np.float32, copy=False)
    sizes = np.abs(values.astype(np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    fits = not sizes.size or (sizes.max() <= EXACT_INTEGERS and sizes.min() > SMALLEST)
    return values.astype(np.float32 if fits else np.float64)


def _code_kind(largest: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32


def thinned(n: int, most: int, keep: Sequence[int], seed: int = 0) -> IndexArray:
    """All rows, or as many as allowed, drawn at random with those that must be among them; ascending."""
    if n <= most:
        return np.arange(n)
    drawn = np.random.default_rng(seed).choice(n, most - len(keep), replace=False)
    return np.union1d(drawn, np.asarray(keep, dtype=np.intp)).astype(np.intp)
