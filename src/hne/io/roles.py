"""Names and kinds of columns, and what the user chose -> which are features, labels, and the names of samples."""

import difflib
import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from hne.exceptions import quoted, shortened
from hne.io.files import File
from hne.io.sniff import is_number
from hne.io.table import ReadOptions, Table, as_ids, build_table

# Kinds of columns: features unless something is said, text, and numbers that describe samples.
NUMBER, TEXT, LABEL = "number", "text", "label"
# What people call a column that names or counts samples.
ID_NAME = re.compile(
    r"(unnamed: 0|id|ids|names?|idx|index|nr|no|uuid|key|barcode|rownames?|row|"
    r"(row|sample|cell|subject|patient|obs|observation|case|record|image|file|item)"
    r"[ ._-]?(id|no|nr|name|names|number|index)?|"
    r".+[ ._-](id|ids|nr|no|number|index|key)|"
    r"\w{3,}(nr|nummer))",
    re.IGNORECASE,
)
# The same with a capital for a separator: PassengerId, orderNo.
CAMEL_ID = re.compile(r".*[a-z0-9](Id|ID|Ids|Nr|No|Number|Index|Key)")
# What people call a column of classes; numbers in it are names of groups, if there are no more than so many.
CLASS_NAME = re.compile(
    r"(target|class(es)?|labels?|group|cluster|species|category|kind|type|diagnosis|outcome)"
    r"([ ._-]?(id|no|nr|code))?",
    re.IGNORECASE,
)
MAX_CLASSES = 30
# Names that columns get here where the file has none for them.
GENERIC = re.compile(r"x\d+")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
# Names that a message lists before it says "...".
LISTED = 8
# Columns of numbers that are kept as labels where others were chosen: of a wide table, thousands were not.
MOST_KEPT = 100
# Rows from which it is no accident that numbers count up by one, or that texts differ throughout.
MIN_ROWS = 10
# Rows of fewer numbers are seldom images: 8 x 8.
FEWEST_PIXELS = 64
NO_FEATURE = "and is no feature unless `columns` has it"


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Positions of the columns by what they are for."""

    features: tuple[int, ...]
    labels: tuple[int, ...]
    id: int | None
    color: int | None = None
    notices: tuple[str, ...] = ()


def listed(names: Sequence[str]) -> str:
    """The first names, for messages."""
    return ", ".join(map(quoted, names[:LISTED])) + (", ..." if len(names) > LISTED else "")


def numbered(n_features: int, prefix: str = "x") -> tuple[str, ...]:
    """Names x1, x2, ... for features that have none.

    >>> numbered(3)
    ('x1', 'x2', 'x3')
    """
    return tuple(f"{prefix}{i}" for i in range(1, n_features + 1))


def is_id_name(name: str) -> bool:
    """Whether a column is called as one that names samples.

    >>> [name for name in ("customer_id", "PassengerId", "Kundennr", "acid", "kimono") if is_id_name(name)]
    ['customer_id', 'PassengerId', 'Kundennr']
    """
    name = name.strip()
    return ID_NAME.fullmatch(name) is not None or CAMEL_ID.fullmatch(name) is not None


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
    if len(set(names)) < len(names):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        file.refuse("must have a name of its own for each column", f"{listed(repeated)} more than once", "Rename them")
    dropped = set(_positions(file, names, "drop", options.drop))
    of_model, notices = _model_features(file, names, kinds, options)
    chosen = set(_positions(file, names, "columns", options.columns) + of_model) - dropped
    color = _position(file, names, "color", options.color)
    identity = _position(file, names, "id", options.id)
    _check_color(file, names, color, identity, dropped)
    if identity is None:
        taken = {*chosen, *dropped, color}
        identity = index if index is not None and index not in taken else None
        if identity is None:
            free_ids = (i for i, name in enumerate(names) if i not in taken and is_id_name(name) and is_unique(i))
            identity = next(free_ids, None)
            if identity is not None:
                named = f"Column {quoted(names[identity])} names the samples"
                notices += (f"{named}; to use it as a feature, name it in `columns`.",)
    for i in sorted(chosen):
        if kinds[i] != NUMBER:
            got = f"{'text' if kinds[i] == TEXT else 'a label'} in {quoted(names[i])}"
            file.refuse("must have numbers in the columns that are features", got, "Leave it out of `columns`")
    is_chosen = bool(options.columns or options.features)
    free = [i for i in range(len(names)) if i not in dropped and i != identity]
    features = sorted(chosen) if is_chosen else [i for i in free if kinds[i] == NUMBER and i != color]
    if not features:
        _refuse_featureless(file, names, kinds, dropped)
    spare = [i for i in free if kinds[i] == NUMBER and i not in chosen and i != color and is_chosen and keeps_numbers]
    kept = set(spare[:MOST_KEPT])
    if len(spare) > MOST_KEPT:
        unused = f"Of {len(spare)} columns of numbers that are no features, {MOST_KEPT} are kept as labels"
        notices += (f"{unused}, {len(spare) - MOST_KEPT} left out.",)
    labels = [i for i in free if i == color or kinds[i] != NUMBER or i in kept]
    return Roles(features=tuple(features), labels=tuple(labels), id=identity, color=color, notices=notices)


def _positions(file: File, names: Sequence[str], option: str, chosen: Sequence[str]) -> list[int]:
    """Positions of the columns that are meant by names, by patterns and by positions from 1."""
    index = {name: i for i, name in enumerate(names)} if chosen else {}
    return sorted({i for choice in chosen for i in _meant(file, names, index, option, choice)})


def _position(file: File, names: Sequence[str], option: str, chosen: str | None) -> int | None:
    meant = _positions(file, names, option, () if chosen is None else (chosen,))
    if len(meant) > 1:
        got = listed([names[i] for i in meant])
        file.refuse(f"has several columns for {option}='{shortened(str(chosen))}'", got, "Name one of them")
    return meant[0] if meant else None


def _meant(file: File, names: Sequence[str], index: dict[str, int], option: str, choice: str) -> list[int]:
    if choice in index:
        return [index[choice]]
    span = re.fullmatch(r"(\d+)(?:-(\d+))?", choice.strip())
    if span:
        first, last = int(span[1]), int(span[2] or span[1])
        if not 1 <= first <= last <= len(names):
            got = f"{option}='{shortened(choice)}'"
            file.refuse(f"has columns 1 to {len(names)}", got, "Count columns from 1, or name them")
        return list(range(first - 1, last))
    matches = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, choice)]
    if not matches:
        same = [name for name in names if name.lower() == choice.lower()]
        near = difflib.get_close_matches(choice, names, n=1) or same
        remedy = f"Did you mean {quoted(near[0])}?" if near else f"It has {listed(names)}"
        file.refuse("has no such column", f"{option}='{shortened(choice)}'", remedy)
    return matches


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


def _check_color(file: File, names: Sequence[str], color: int | None, identity: int | None, dropped: set[int]) -> None:
    if color is not None and color in dropped:
        got = f"{quoted(names[color])} for `color` and `drop`"
        file.refuse("must keep the column to color by", got, "Leave one of them out")
    if color is not None and color == identity:
        got = f"{quoted(names[color])} for both"
        file.refuse("must have a column each for `color` and `id`", got, "Leave one of them out")


def _refuse_featureless(file: File, names: Sequence[str], kinds: Sequence[str], dropped: set[int]) -> NoReturn:
    numbers = [i for i, kind in enumerate(kinds) if kind == NUMBER]
    known = listed([names[i] for i in numbers])
    if numbers and dropped.issuperset(numbers):
        got = f"`drop` for all {len(numbers)} columns of numbers: {known}"
        file.refuse("must have a feature", got, "Leave one out of `drop`")
    if numbers:
        file.refuse("must have a feature", f"none beside {known}", "Name it in `columns`")
    remedy = "Encode text as numbers first, or check `separator` and `decimal`"
    file.refuse("must have a column of numbers", f"text in all {len(names)}: {listed(names)}", remedy)


def detect_column_roles(table: Table, options: ReadOptions) -> Table:
    """The table without columns that only look like features: names of samples, counters of rows, and classes.

    A counter among the features decides the picture, which then shows the order of the rows; a class leaks the answer.
    Both are set apart with a notice, and whoever wants them as features names them in `columns`.
    """
    if table.ids is None:
        table = _name_by_text(table)
    if options.columns or options.features or issparse(table.X) or table.image_shape is not None:
        return table
    X: Any = table.X
    free = [place for place, name in enumerate(table.feature_names) if name != table.color]
    counters = _counters(X) & set(free)
    called = [place for place in free if CLASS_NAME.fullmatch(table.feature_names[place].strip())]
    classes = {place for place in called if place not in counters and _is_class(X[:, place])}
    apart = counters | classes
    if not apart or len(apart) == X.shape[1]:
        return table
    ids, id_name, labels, notices = table.ids, table.id_name, dict(table.labels), []
    for place in [*sorted(counters), *sorted(classes)]:
        name = table.feature_names[place]
        looks = "counts the rows" if place in counters else "looks like classes"
        if place in counters and ids is None:
            ids, id_name = as_ids(X[:, place]), name
            notices.append(f"Column {quoted(name)} {looks}: it names the samples, {NO_FEATURE}.")
        else:
            labels[name] = X[:, place]
            notices.append(f"Column {quoted(name)} {looks}: it is a label, {NO_FEATURE}.")
    kept = [place for place in range(X.shape[1]) if place not in apart]
    names = tuple(table.feature_names[place] for place in kept)
    table = replace(table, X=X[:, kept], feature_names=names, ids=ids, id_name=id_name, labels=labels)
    return table.noticed(*notices)


def _name_by_text(table: Table) -> Table:
    """Let the first column of text that differs in all rows name the samples."""
    for name, column in table.labels.items():
        if name != table.color and column.dtype == object and _are_names(column.tolist()):
            labels = {other: values for other, values in table.labels.items() if other != name}
            notice = f"Column {quoted(name)} differs in every row: it names the samples."
            return replace(table, ids=as_ids(column), id_name=name, labels=labels).noticed(notice)
    return table


def _are_names(texts: list[str | None]) -> bool:
    """Whether texts differ in every row, and are not numbers with a word among them."""
    if len(texts) < MIN_ROWS or None in texts or len(set(texts)) < len(texts):
        return False
    # Days are something to color by.
    if all(DAY.match(str(text)) for text in texts):
        return False
    return 2 * sum(is_number(str(text)) for text in texts) < len(texts)


def _counters(X: NDArray[Any]) -> set[int]:
    """Places of the columns that count up by one from row to row."""
    if len(X) < MIN_ROWS:
        return set()
    with np.errstate(invalid="ignore", over="ignore"):
        # Of wide tables, few columns pass the first two rows.
        suspects = np.flatnonzero(X[1] - X[0] == 1)
        return {int(place) for place in suspects if (np.diff(X[:, place]) == 1).all()}


def _is_class(column: NDArray[Any]) -> bool:
    known = column[~np.isnan(column)]
    return bool((known == np.rint(known)).all()) and len(np.unique(known)) <= min(MAX_CLASSES, len(known) // 2)


def add_hints(table: Table, options: ReadOptions) -> Table:
    """The table with notices of few features among other columns and of rows that may be images; models know theirs."""
    if table.image_shape is not None or options.features:
        return table
    n_samples, n_features = table.X.shape
    is_generic = all(GENERIC.fullmatch(name) for name in table.feature_names)
    has_others = bool(table.labels) or table.ids is not None
    if has_others and not is_generic and n_features <= LISTED:
        return table.noticed(f"Features: {listed(table.feature_names)}.")
    side = isqrt(n_features)
    # As many rows as columns are rather distances.
    may_be_images = is_generic and FEWEST_PIXELS <= n_features == side**2 != n_samples
    if may_be_images and table.X.min() >= 0:
        return table.noticed(f"Rows may be images of {side} x {side}: add image_size=({side}, {side}) to see them.")
    return table


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
        values: NDArray[Any] = (X[:, [i]].toarray() if issparse(X) else X[:, [i]])[:, 0]
        return values

    def is_unique(i: int) -> bool:
        values = column(i)
        is_whole = values.dtype == object or (np.isfinite(values) & (values == np.rint(values))).all()
        if ids is not None or not is_whole:
            return False
        return len(set(values.tolist())) == len(values)

    roles = assign_roles(file, every, kinds, options, is_unique, keeps_numbers=stored is not None)
    chosen = list(roles.features)
    if chosen == list(range(len(names))):
        return build_table(file, options, roles, every, column, X=X, feature_names=names, ids=ids, **fields)
    fields |= {"X": X[:, chosen], "feature_names": tuple(every[i] for i in chosen), "image_shape": None}
    return build_table(file, options, roles, every, column, ids=ids, **fields)
