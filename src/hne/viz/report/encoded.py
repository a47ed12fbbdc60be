"""Values of a column -> numbers, times, or codes of categories, as a page carries them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def encoded(name: str, values: NDArray[Any]) -> Column | None:
    """A column of data as numbers, times or categories; None for too many categories.

    >>> column = encoded("kind", np.array(["b", "a", None, "b"], dtype=object))
    >>> column.categories, column.values.tolist()
    (('a', 'b'), [1, 0, 2, 1])
    >>> encoded("day", np.array(["1970-01-02", "1970-01-03 12:00"])).values.tolist()
    [1.0, 2.5]
    """
    label = shortened(str(name), MAX_LABEL)
    if values.dtype.kind == "O":
        values = _as_numbers(values)
    if values.dtype.kind in "iuf":
        return Column(label, numbers(values), "data")
    texts = [_text(value) for value in _items(values)]
    days = _days(texts)
    if days is not None:
        return Column(label, days, "data", is_time=True)
    names = sorted({text for text in texts if text is not None})
    if len(names) > MAX_CATEGORIES:
        return None
    names = natural_order(names)
    codes: dict[str | None, int] = {text: code for code, text in enumerate(names)}
    codes[None] = len(names)
    found = np.array([codes[text] for text in texts], dtype=codes_kind(len(names)))
    return Column(label, found, "data", tuple(shortened(text, MAX_LABEL) for text in names))


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


def most_frequent(column: Column, count: int) -> list[int]:
    """Codes of so many categories, the most frequent ones, in their order: those that get a color."""
    counts = np.bincount(column.values, minlength=len(column.categories or ()) + 1)[:-1]
    return sorted(np.argsort(-counts, kind="stable")[:count].tolist())


def color_rank(column: Column) -> int | None:
    """How well a column tells samples apart by color: 0 well, 1 somehow, None where it has one value or names them."""
    if column.categories is None:
        known = column.values[np.isfinite(column.values)]
        return 0 if known.size and known.min() < known.max() else None
    if not 2 <= len(column.categories) <= len(column.values) / 2:
        return None
    return 0 if len(column.categories) <= FEW_CATEGORIES else 1


def shortened(text: str, length: int) -> str:
    """The text, cut where it is longer.

    >>> shortened("neighbors", 5)
    'neig…'
    """
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _text(value: Any) -> str | None:
    """None for what is missing: None, NaN, NaT, an empty text."""
    return None if _is_missing(value) or value == "" else str(value)


def _items(values: NDArray[Any]) -> list[Any]:
    """The values as Python objects, times as texts: those in nanoseconds would come as integers."""
    if values.dtype.kind != "M":
        return list(values.tolist())
    return [None if text == "NaT" else text for text in np.datetime_as_string(values).tolist()]


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


def numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Single precision, unless numbers would be lost in it that are large, and so perhaps dates or keys, or extreme."""
    if values.dtype == np.float32 or not values.size:
        return values.astype(np.float32, copy=False)
    sizes = np.abs(values.astype(np.float64))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    fits = not sizes.size or (sizes.max() <= EXACT_INTEGERS and sizes.min() > SMALLEST)
    return values.astype(np.float32 if fits else np.float64)


def codes_kind(largest: int) -> type[np.unsignedinteger[Any]]:
    """The smallest kind of integers that holds these codes."""
    return np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32
