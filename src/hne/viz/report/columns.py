"""Embedding, Details -> the columns that a page carries: numbers, times or codes of categories, and which colors it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import Embedding, IndexArray
from hne.viz.report.details import MAX_COLUMNS, Details

# Values of all columns together (16 MB, a third more as text) that a page carries; some columns always come.
MAX_VALUES, FEWEST_COLUMNS, MAX_COORDINATES = 4_000_000, 3, 20
MAX_ID = 500
# Texts are cut at this length; a column of more different ones than the second number names samples, and colors none.
MAX_LABEL, MAX_CATEGORIES = 200, 50_000
# Categories up to which a legend is read at a glance: ten have colors of their own.
FEW_CATEGORIES = 20
# Integers up to here are exact in float32, whatever they came as; and the smallest of its ordinary numbers.
EXACT_INTEGERS, SMALLEST = 2**24, 1e-37
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001, times without a zone are of wherever they were written
ISO_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?")
NUMBER = re.compile(r"[-+]?[0-9]{1,300}([.][0-9]*)?")
# More digits than these are told apart one group after the other; Python refuses to read thousands.
DIGITS = re.compile(r"([0-9]{1,15})")


@dataclass(frozen=True)
class Column:
    """A value for each point: a number, a time, or the code of a category; the code after the last stands for none."""

    name: str
    values: NDArray[Any]  # float32 or float64; or uint8, uint16, uint32 of codes
    group: str  # where it is listed: "coordinates", "embedding" or "data"
    categories: tuple[str, ...] | None = None  # in natural order
    is_time: bool = False  # numbers are days since 1970-01-01


def page_columns(result: Embedding, details: Details, rows: IndexArray) -> tuple[list[Column], int | None, list[str]]:
    """Columns for these rows of the embedding, coordinates first, which of them colors, and what is left out."""
    columns, left_out = list(_embedding_columns(result, rows)), list(details.left_out)
    if result.Y.shape[1] > MAX_COORDINATES:
        left_out.append(
            f"Coordinates {MAX_COORDINATES + 1} to {result.Y.shape[1]}: a page shows the first {MAX_COORDINATES}."
        )
    n_long = 0 if details.ids is None else sum(len(str(details.ids[row])) > MAX_ID for row in rows.tolist())
    if n_long:
        left_out.append(f"What {n_long} {'id says' if n_long == 1 else 'ids say'} beyond {MAX_ID} characters.")
    names = sorted(details.columns, key=lambda name: details.color is not None and name != details.color)
    allowed = min(MAX_COLUMNS, max(FEWEST_COLUMNS, MAX_VALUES // max(1, len(rows)) - len(columns)))
    if len(names) > allowed:
        left_out.append(
            f"{len(names) - allowed} of {len(names)} columns, to keep the file small: all from "
            f"{shorten(names[allowed], 40)!r} to {shorten(names[-1], 40)!r}."
        )
    color, kept = None, set(names[:allowed])
    for name in (name for name in details.columns if name in kept):
        column = encode_column(name, np.asarray(details.columns[name])[rows])
        if column is None:
            left_out.append(f"Column {shorten(name, 40)!r}: more than {MAX_CATEGORIES} different texts.")
            continue
        if any(len(text) == MAX_LABEL and text.endswith("…") for text in column.categories or ()):
            left_out.append(f"Column {shorten(name, 40)!r}: what its texts say beyond {MAX_LABEL} characters.")
        color = len(columns) if name == details.color else color
        columns.append(column)
    return columns, first_color(columns) if color is None else color, left_out


def _embedding_columns(result: Embedding, rows: IndexArray) -> Iterator[Column]:
    """Chart or rescaled coordinates, piece where there are several, and reconstruction error."""
    Y = result.rescaled_Y
    for axis in range(min(Y.shape[1], MAX_COORDINATES)):
        yield Column(f"{result.kind} coordinate {axis + 1}", to_floats(Y[rows, axis]), "coordinates")
    if result.pieces.count > 1:
        names = tuple(f"piece {number + 1} (of {size} samples)" for number, size in enumerate(result.pieces.sizes))
        yield Column("piece", result.pieces.labels[rows].astype(code_type(len(names))), "embedding", names)
    yield Column("reconstruction error", to_floats(result.reconstruction_errors[rows]), "embedding")


def first_color(columns: Sequence[Column]) -> int | None:
    """The first column of the data that tells samples apart best by color, else the first of the embedding."""
    ranks = [(color_rank(column), number) for number, column in enumerate(columns) if column.group == "data"]
    known = [(rank, number) for rank, number in ranks if rank is not None]
    of_embedding = (number for number, column in enumerate(columns) if column.group == "embedding")
    return min(known)[1] if known else next(of_embedding, None)


def color_rank(column: Column) -> int | None:
    """How well a column tells samples apart by color: 0 well, 1 somehow, None where it has one value or names them."""
    if column.categories is None:
        known = column.values[np.isfinite(column.values)]
        return 0 if known.size and known.min() < known.max() else None
    if not 2 <= len(column.categories) <= len(column.values) / 2:
        return None
    return 0 if len(column.categories) <= FEW_CATEGORIES else 1


def encode_column(name: str, values: NDArray[Any]) -> Column | None:
    """A column of data as numbers, times or categories; None for too many categories.

    >>> column = encode_column("kind", np.array(["b", "a", None, "b"], dtype=object))
    >>> column.categories, column.values.tolist()
    (('a', 'b'), [1, 0, 2, 1])
    >>> encode_column("day", np.array(["1970-01-02", "1970-01-03 12:00"])).values.tolist()
    [1.0, 2.5]
    """
    label = shorten(str(name), MAX_LABEL)
    if values.dtype.kind == "O":
        values = _as_numbers(values)
    if values.dtype.kind in "iuf":
        return Column(label, to_floats(values), "data")
    if values.dtype.kind == "M":
        # As texts: times in nanoseconds would come as integers.
        texts = [None if text == "NaT" else text for text in np.datetime_as_string(values).tolist()]
    else:
        texts = [None if _is_missing(value) or value == "" else str(value) for value in values.tolist()]
    days = _days(texts)
    if days is not None:
        return Column(label, days, "data", is_time=True)
    names = {text for text in texts if text is not None}
    if len(names) > MAX_CATEGORIES:
        return None
    ordered = natural_order(sorted(names))
    codes: dict[str | None, int] = {text: code for code, text in enumerate(ordered)} | {None: len(ordered)}
    coded = np.array([codes[text] for text in texts], dtype=code_type(len(ordered)))
    return Column(label, coded, "data", tuple(shorten(text, MAX_LABEL) for text in ordered))


def natural_order(names: Sequence[str]) -> list[str]:
    """Numbers by size, other texts by the alphabet, with the numbers in them by size.

    >>> natural_order(["10", "9", "-1.5"]), natural_order(["ward 10", "Ward 9", "cellar"])
    (['-1.5', '9', '10'], ['cellar', 'Ward 9', 'ward 10'])
    """
    if all(NUMBER.fullmatch(name) for name in names):
        return sorted(names, key=lambda name: (float(name), name))
    # Every other part is digits, so that parts at the same place compare.
    return sorted(names, key=lambda name: ([int(part) if number % 2 else part.casefold()
                                            for number, part in enumerate(DIGITS.split(name))], name))  # fmt: skip


def _days(texts: Sequence[str | None]) -> NDArray[np.float64] | None:
    """Days since 1970 of dates, with or without a time of day, as ISO 8601 writes them; None for other texts.

    Times with an offset stay text: they would be shown as of another place.
    """
    present = {text for text in texts if text is not None}
    if not present or not all(ISO_TIME.fullmatch(text) for text in present):
        return None
    try:
        days = {text: (datetime.fromisoformat(text) - EPOCH) / timedelta(days=1) for text in present}
    except ValueError:  # such as the 30th of February
        return None
    return np.array([np.nan if text is None else days[text] for text in texts])


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


def to_floats(values: NDArray[Any]) -> NDArray[Any]:
    """Single precision, unless numbers would be lost in it that are large, and so perhaps dates or keys, or extreme."""
    if values.dtype == np.float32 or not values.size:
        return values.astype(np.float32, copy=False)
    sizes = np.abs(values.astype(np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    fits = not sizes.size or (sizes.max() <= EXACT_INTEGERS and sizes.min() > SMALLEST)
    return values.astype(np.float32 if fits else np.float64)


def code_type(largest: int) -> type[np.unsignedinteger[Any]]:
    """The smallest kind of integers that holds these codes."""
    return np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32


def shorten(text: str, length: int) -> str:
    """The text, without its end where it is longer.

    >>> shorten("neighbors", 5)
    'neig…'
    """
    return text if len(text) <= length else f"{text[: length - 1]}…"


def sample_ids(details: Details, rows: IndexArray) -> list[str] | None:
    """Names of these samples; None where they are just numbered."""
    if details.ids is None:
        return None
    return [shorten(str(details.ids[row]), MAX_ID) for row in rows.tolist()]


def row_numbers(details: Details, rows: IndexArray) -> IndexArray:
    """Numbers, from 1, that these rows of the embedding have in what was read."""
    return rows + 1 if details.rows is None else np.asarray(details.rows)[rows].astype(np.intp)


def draw_rows(n: int, most: int, keep: Sequence[int] = ()) -> IndexArray:
    """All rows, or as many as allowed, drawn at random with those that must be among them; ascending."""
    if n <= most:
        return np.arange(n)
    drawn = np.random.default_rng(0).choice(n, most - len(keep), replace=False)
    return np.union1d(drawn, np.asarray(keep, dtype=np.intp)).astype(np.intp)
