"""What is known of the samples -> Details, and the columns of a page: numbers, times or codes of categories."""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import Embedding, IndexArray
from hne.core.trust.assess import assess
from hne.core.trust.verdict import Assessment
from hne.exceptions import refuse

# Columns that a page carries, coordinates aside.
MAX_COLUMNS = 100
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


@dataclass(frozen=True, kw_only=True)
class Details:
    """What whoever read the data knows of it; everything may be left out, nothing is trusted to be free of HTML."""

    title: str = "Hierarchic Neighbors Embedding"
    ids: Sequence[str] | None = None  # (n,), names of the samples; None takes the numbers of their rows
    id_name: str = "sample"
    rows: NDArray[Any] | None = None  # (n,), numbers of the rows in what was read, from 1; None counts all from 1
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # (n,) each, numbers or str and None
    color: str | None = None  # of these the one to color by at first
    images: NDArray[Any] | None = None  # (n, height, width) or (n, height, width, 3), uint8, or from 0 to 1 or more
    X: Any = None  # (n, D), dense or sparse, the samples to measure against; None takes those of the embedding
    trust: Assessment | None = None  # how far the embedding can be believed; None takes what it knows itself
    timings: Mapping[str, float] = field(default_factory=dict)  # seconds of each stage
    embedding_warnings: Sequence[str] | None = None  # in the caller's words; None takes those of the embedding
    data_notes: Sequence[str] = ()  # what is worth knowing about the data
    left_out: Sequence[str] = ()  # what the page would have, had it not been too much
    source: str = ""  # what was read, in a line
    command: str = ""  # what makes the same report again

    def trust_in(self, result: Embedding) -> Assessment:
        """How far the embedding can be believed: as known, or, of a loaded model, measured again."""
        trust: Assessment = self.trust or result.trust
        return trust or assess(result.core, result.settings).of_samples(result.distinct.index)


def gather_details(
    *,
    X: Any = None,
    features: Any = None,
    feature_names: Sequence[str] | None = None,
    labels: Mapping[str, Any] | None = None,
    ids: Sequence[Any] | None = None,
    color: Any = None,
    images: Any = None,
    **others: Any,
) -> Details:
    """Gather what is known of the samples of an embedding.

    Columns are the labels, then the features, as long as all together are no more than a page shows. Beyond, and where
    they are sparse or the pixels of the images, only the feature to color by is there.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), default=None
        The samples to measure against; None takes those of the embedding.
    features : array-like or sparse of shape (n_samples, n_features), default=None
        Columns to show, in units that a reader knows; None shows none.
    feature_names : sequence of str, default=None
        Their names; None calls them x1, x2 and so on.
    labels : mapping of str to array-like of shape (n_samples,), default=None
        Columns that were not embedded. They come first; a feature of the same name gets another.
    ids : sequence, default=None
        Names of the samples; None takes the numbers of their rows.
    color : str or array-like of shape (n_samples,), default=None
        What to color by at first: the name of a label or a feature, or values of its own. None leaves it to the page.
    images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3), default=None
        Pictures of the samples.
    **others
        Further fields of `Details`.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((30, 2))
    >>> details = gather_details(features=X, labels={"kind": ["a", "b"] * 15}, color=range(30))
    >>> list(details.columns), details.color
    (['color', 'kind', 'x1', 'x2'], 'color')
    """
    columns = {str(name): np.asarray(values) for name, values in (labels or {}).items()}
    numbers: dict[str, int] = {}  # of each feature by its name
    if features is not None:
        named = [f"x{one + 1}" for one in range(features.shape[1])] if feature_names is None else feature_names
        for number, name in enumerate(named):
            numbers[free_name(str(name), {*columns, *numbers})] = number
    if isinstance(color, str):
        check_color(color, [*columns, *numbers])
    left_out = list(others.pop("left_out", ()))
    reason = ""
    if images is not None and features is not None and features.shape[1] == math.prod(np.shape(images)[1:]):
        reason = "they are the pixels of the images"
    elif hasattr(features, "tocsr"):
        reason = "they are sparse"
    elif numbers and len(columns) + len(numbers) > MAX_COLUMNS:
        reason = f"a page has at most {MAX_COLUMNS} columns, labels among them"
    if reason:
        left_out.append(f"The {len(numbers)} features as columns: {reason}.")
    else:
        columns |= {name: features[:, number] for name, number in numbers.items()}
    if isinstance(color, str) and color not in columns:
        values = features[:, [numbers[color]]]
        columns[color] = (values.toarray() if hasattr(values, "toarray") else values)[:, 0]
    elif color is not None and not isinstance(color, str):
        name = free_name("color", columns)
        columns, color = {name: np.asarray(color), **columns}, name
    return Details(
        X=X,
        ids=None if ids is None else [str(one) for one in ids],
        columns=columns,
        color=color,
        images=None if images is None else np.asarray(images),
        left_out=left_out,
        **others,
    )


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, numbered where it is taken: color, color 2, color 3."""
    names = (name if number == 1 else f"{name} {number}" for number in range(1, len(taken) + 2))
    return next(one for one in names if one not in taken)


def check_details(details: Details, n: int) -> Details:
    """Return the details, whose parts have a value for each sample, or raise."""
    columns = [(f"columns[{name!r:.60}]", values) for name, values in details.columns.items()]
    for name, values in [("ids", details.ids), ("rows", details.rows), ("images", details.images), *columns]:
        if values is not None and len(values) != n:
            refuse(name, f"must have one value for each of {n} samples", str(len(values)), "Pass matching rows")
    for name, values in [("rows", details.rows), *columns]:
        if values is not None and np.ndim(values) != 1:
            refuse(name, "must be one-dimensional", f"the shape {np.shape(values)}", "Pass one value for each sample")
    if details.X is not None and details.X.shape[0] != n:
        refuse("X", f"must have a row for each of {n} samples", str(details.X.shape[0]), "Pass what was embedded")
    if details.color is not None:
        check_color(details.color, list(details.columns))
    shape = () if details.images is None else np.shape(details.images)
    if shape and (len(shape) not in {3, 4} or 0 in shape[1:] or shape[3:] not in {(), (3,)}):
        refuse("images", "must be (n, height, width) or (n, height, width, 3)", str(shape), "Reshape them")
    return details


def check_color(name: str, known: Sequence[str]) -> None:
    """Raise for a name to color by that is not among those of the columns."""
    if name not in known:
        names = ", ".join(f"{one!r:.40}" for one in known[:8]) or "none"
        refuse("color", "must be the name of a column", f"{name!r:.60}", f"There are: {names}")


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
    columns = embedding_columns(result, result.Y, result.axis, rows)
    of_data, color, left_out = data_columns(details, rows, n_others=len(columns))
    if result.Y.shape[1] > MAX_COORDINATES:
        beyond = f"Coordinates {MAX_COORDINATES + 1} to {result.Y.shape[1]}"
        left_out.insert(len(details.left_out), f"{beyond}: a page shows the first {MAX_COORDINATES}.")
    color = None if color is None else len(columns) + color
    columns += of_data
    return columns, first_color(columns) if color is None else color, left_out


def column_keys(columns: Sequence[Column]) -> list[str]:
    """What the picture calls its columns: what one embedding has, another has by the same key."""
    counts: Counter[str] = Counter()
    keys = []
    for column in columns:
        counts[column.group] += 1
        of_embedding = "error" if column.categories is None else "piece"
        numbered = f"{'coordinate' if column.group == 'coordinates' else 'data'}-{counts[column.group]}"
        keys.append(of_embedding if column.group == "embedding" else numbered)
    return keys


def column_facts(column: Column, key: str) -> dict[str, Any]:
    """What the picture is told of a column beside its values."""
    facts = {"key": key, "name": column.name, "group": column.group, "categories": column.categories}
    return facts | {"time": column.is_time, "kind": column.values.dtype.str[1:]}


def embedding_columns(result: Embedding, Y: NDArray[Any], axis_name: str, rows: IndexArray) -> list[Column]:
    """What the embedding brings for these rows: coordinates, the pieces where there are several, errors."""
    pieces = result.pieces
    columns = [
        Column(f"{axis_name} {axis + 1}", to_floats(Y[rows, axis]), "coordinates")
        for axis in range(min(Y.shape[1], MAX_COORDINATES))
    ]
    if pieces.count > 1:
        kinds = tuple(f"piece {number + 1} (of {size} samples)" for number, size in enumerate(pieces.sizes))
        codes = pieces.labels[rows].astype(np.min_scalar_type(len(kinds)))
        columns.append(Column("piece", codes, "embedding", kinds))
    columns.append(Column("reconstruction error", to_floats(result.reconstruction_errors[rows]), "embedding"))
    return columns


def data_columns(details: Details, rows: IndexArray, n_others: int = 0) -> tuple[list[Column], int | None, list[str]]:
    """What is known of these rows, beside so many other columns: columns, which one colors, and what is left out."""
    columns: list[Column] = []
    left_out = list(details.left_out)
    n_long = 0 if details.ids is None else sum(len(str(details.ids[row])) > MAX_ID for row in rows.tolist())
    if n_long:
        left_out.append(f"What {n_long} {'id says' if n_long == 1 else 'ids say'} beyond {MAX_ID} characters.")
    names = sorted(details.columns, key=lambda name: details.color is not None and name != details.color)
    allowed = min(MAX_COLUMNS, max(FEWEST_COLUMNS, MAX_VALUES // max(1, len(rows)) - n_others))
    if len(names) > allowed:
        left_out.append(
            f"{len(names) - allowed} of {len(names)} columns, to keep the page small: all from "
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
    return columns, color, left_out


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
        values = as_numbers(values)
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
    coded = np.array([codes[text] for text in texts], dtype=np.min_scalar_type(len(ordered)))
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


def as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Python objects as numbers, NaN where one is missing, if that is what they are."""
    present = [value for value in values.tolist() if not _is_missing(value)]
    are_numbers = [isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in present]
    if not present or not all(are_numbers):
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


def shorten(text: str, length: int) -> str:
    """The text, without its end where it is longer."""
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
