"""Columns and what the user chose of them -> their roles -> Table: the one way to build it."""

import difflib
import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from hne.core.records import FloatArray, IndexArray, SparseMatrix
from hne.exceptions import quoted, shortened
from hne.io.files import File, ReadOptions

# Whole numbers from here on are not all float64's: digits would be lost.
INEXACT = 2**53
# The largest value of an 8-bit pixel.
WHITE = 255.0
# Kinds of columns: features unless something is said, text, and numbers that describe samples.
NUMBER, TEXT, LABEL = "number", "text", "label"
# What people call a column that names or counts samples; a capital may separate, as in PassengerId and orderNo.
ID_NAME = re.compile(
    r"(?i:unnamed: 0|id|ids|names?|idx|index|nr|no|uuid|key|barcode|rownames?|row|"
    r"(row|sample|cell|subject|patient|obs|observation|case|record|image|file|item)"
    r"[ ._-]?(id|no|nr|name|names|number|index)?|"
    r".+[ ._-](id|ids|nr|no|number|index|key)|"
    r"\w{3,}(nr|nummer))|"
    r".*[a-z0-9](Id|ID|Ids|Nr|No|Number|Index|Key)"
)
# Said of a column without a name that names samples.
NAMED_BY_FIRST = "The first column has no name: it names the samples."
# Names that a message lists before it says "...".
LISTED = 8
# Columns of numbers that are kept as labels where others were chosen: of a wide table, thousands were not.
MOST_KEPT = 100


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


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Positions of the columns by what they are for."""

    features: tuple[int, ...]
    labels: tuple[int, ...]
    id: int | None
    color: int | None = None
    notices: tuple[str, ...] = ()


def listed(names: Sequence[object], show: Callable[[Any], str] = quoted) -> str:
    """The first names, for messages."""
    return ", ".join(map(show, names[:LISTED])) + (", ..." if len(names) > LISTED else "")


def numbered(n_features: int, prefix: str = "x") -> tuple[str, ...]:
    """Names x1, x2, ... for features that have none."""
    return tuple(f"{prefix}{i}" for i in range(1, n_features + 1))


def assign_roles(
    file: File,
    names: Sequence[str],
    kinds: Sequence[str],
    options: ReadOptions,
    is_unique: Callable[[int], bool],
    index: int | None = None,
    *,
    keeps_numbers: bool = True,
) -> Roles:
    """Roles of the columns.

    `is_unique` tells whether a column holds different texts or whole numbers throughout, `index` is the column that
    the file itself has for the names of samples. Numbers that were not chosen become labels unless `keeps_numbers` is
    False, as for a matrix, whose columns mean little by themselves.
    """
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        file.refuse("must have a name of its own for each column", f"{listed(repeated)} more than once", "Rename them")
    dropped = set(_positions(file, names, "drop", options.drop))
    of_model, notices = _model_features(file, names, kinds, options)
    chosen = set(_positions(file, names, "columns", options.columns) + of_model) - dropped
    color = next(iter(_positions(file, names, "color", [options.color])), None)
    identity = next(iter(_positions(file, names, "id", [options.id])), None)
    if color is not None and color in dropped:
        got = f"{quoted(names[color])} for `color` and `drop`"
        file.refuse("must keep the column to color by", got, "Leave one of them out")
    if color is not None and color == identity:
        got = f"{quoted(names[color])} for both"
        file.refuse("must have a column each for `color` and `id`", got, "Leave one of them out")
    taken = {*chosen, *dropped, color}
    if identity is None and index not in taken:
        identity = index
    if identity is None:
        free_ids = (
            i for i, name in enumerate(names) if i not in taken and ID_NAME.fullmatch(name.strip()) and is_unique(i)
        )
        identity = next(free_ids, None)
        if identity is not None:
            named = f"Column {quoted(names[identity])} names the samples"
            notices += (f"{named}; to use it as a feature, name it in `columns`.",)
    for i in sorted(chosen):
        if kinds[i] != NUMBER:
            got = f"{'text' if kinds[i] == TEXT else 'a label'} in {quoted(names[i])}"
            file.refuse("must have numbers in the columns that are features", got, "Leave it out of `columns`")
    free = [i for i in range(len(names)) if i not in dropped and i != identity]
    spare = [i for i in free if kinds[i] == NUMBER and i not in chosen and i != color]
    is_chosen = bool(options.columns or options.features)
    features = sorted(chosen) if is_chosen else spare
    if not features:
        _refuse_featureless(file, names, [i for i, kind in enumerate(kinds) if kind == NUMBER], dropped)
    kept = set(spare[:MOST_KEPT]) if is_chosen and keeps_numbers else set()
    if kept and len(spare) > MOST_KEPT:
        unused = f"Of {len(spare)} columns of numbers that are no features, {MOST_KEPT} are kept as labels"
        notices += (f"{unused}, {len(spare) - MOST_KEPT} left out.",)
    labels = [i for i in free if i == color or kinds[i] != NUMBER or i in kept]
    return Roles(features=tuple(features), labels=tuple(labels), id=identity, color=color, notices=notices)


def _refuse_featureless(file: File, names: Sequence[str], numbers: list[int], dropped: set[int]) -> None:
    rule, known = "must have a feature", listed([names[i] for i in numbers])
    if numbers and dropped.issuperset(numbers):
        got = f"`drop` for all {len(numbers)} columns of numbers: {known}"
        file.refuse(rule, got, "Leave one out of `drop`")
    if numbers:
        file.refuse(rule, f"none beside {known}", "Name it in `columns`")
    remedy = "Encode text as numbers first, or check `separator` and `decimal`"
    file.refuse("must have a column of numbers", f"text in all {len(names)}: {listed(names)}", remedy)


def _positions(file: File, names: Sequence[str], option: str, chosen: Sequence[str | None]) -> list[int]:
    """Positions of the columns that are meant by names, by patterns and by positions from 1; None means none."""
    positions: set[int] = set()
    index = {name: i for i, name in enumerate(names)}
    for choice in (choice for choice in chosen if choice is not None):
        got = f"{option}='{shortened(choice)}'"
        span = re.fullmatch(r"(\d+)(?:-(\d+))?", choice.strip())
        meant = [index[choice]] if choice in index else []
        if span and not meant:
            first, last = int(span[1]), int(span[2] or span[1])
            if not 1 <= first <= last <= len(names):
                file.refuse(f"has columns 1 to {len(names)}", got, "Count columns from 1, or name them")
            meant = list(range(first - 1, last))
        meant = meant or [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, choice)]
        if not meant:
            same = [name for name in names if name.lower() == choice.lower()]
            near = difflib.get_close_matches(choice, names, n=1) or same
            remedy = f"Did you mean {quoted(near[0])}?" if near else f"It has {listed(names)}"
            file.refuse("has no such column", got, remedy)
        if len(meant) > 1 and option in ("id", "color"):
            file.refuse(f"has several columns for {got}", listed([names[i] for i in meant]), "Name one of them")
        positions.update(meant)
    return sorted(positions)


def _model_features(
    file: File, names: Sequence[str], kinds: Sequence[str], options: ReadOptions
) -> tuple[list[int], tuple[str, ...]]:
    """Positions of the features of a fitted model, which must all be there, or as many numbers without a name."""
    index = {name: i for i, name in enumerate(names)}
    lacking = [name for name in options.features if name not in index]
    if not lacking:
        return [index[name] for name in options.features], ()
    unnamed = [i for i, name in enumerate(names) if kinds[i] == NUMBER and name == f"x{i + 1}"]
    if not len(unnamed) == len(options.features) == kinds.count(NUMBER):
        rule = f"must have the {len(options.features)} columns of the model"
        file.refuse(rule, f"none called {listed(lacking)}", f"It has {listed(names)}")
    order = listed(options.features)
    return unnamed, (f"Columns have no names here: they are taken for the model's, in its order: {order}.",)


def build_table(
    file: File,
    options: ReadOptions,
    roles: Roles,
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


def matrix_table(
    file: File,
    X: Any,
    options: ReadOptions,
    *,
    feature_names: tuple[str, ...] | None = None,
    labels: Mapping[str, NDArray[Any]] | None = None,
    stored: Mapping[str, NDArray[Any]] | None = None,
    ids: tuple[str, ...] | None = None,
    **fields: Any,
) -> Table:
    """The table of a matrix, samples as rows, and of what describes its samples; other fields are the table's.

    Names of a label and a feature may be the same: the label is then called `name_label`. `stored` has features as the
    file has them, where they are columns of their own: names of samples and labels are made of these.
    """
    names = feature_names or numbered(X.shape[1])
    shared = set(names) & set(labels or {})
    beside = {f"{name}_label" if name in shared else name: values for name, values in (labels or {}).items()}
    every = [*names, *beside]
    kinds = [NUMBER] * len(names) + [TEXT if column.dtype == object else LABEL for column in beside.values()]

    def column(i: int) -> NDArray[Any]:
        if i >= len(names):
            return beside[every[i]]
        if stored is not None:
            return stored[every[i]]
        return (X[:, [i]].toarray() if issparse(X) else X[:, [i]])[:, 0]

    def is_unique(i: int) -> bool:
        values = column(i)
        is_whole = values.dtype == object or (np.isfinite(values) & (values == np.rint(values))).all()
        return ids is None and bool(is_whole) and len(set(values.tolist())) == len(values)

    roles = assign_roles(file, every, kinds, options, is_unique, keeps_numbers=stored is not None)
    chosen = roles.features
    if len(chosen) == len(names):
        fields |= {"X": X, "feature_names": names}
    else:
        fields |= {"X": X[:, list(chosen)], "feature_names": tuple(every[i] for i in chosen), "image_shape": None}
    return build_table(file, options, roles, every, column, ids=ids, **fields)


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
