"""Table -> table without columns that only look like features: counters of rows, and numbers that stand for classes.

A counter among the features decides the picture, which then shows the order of the rows; a class leaks the answer. Both
are set apart with a notice, and whoever wants them as features names them in --columns.
"""

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from hne.exceptions import quoted
from hne.io.cells import is_number
from hne.io.labels import as_ids
from hne.io.record import ReadOptions, Table

# What people call a column of classes; numbers in it are names of groups, if there are no more than so many.
CLASS_NAME = re.compile(
    r"(target|class(es)?|labels?|group|cluster|species|category|kind|type|diagnosis|outcome)"
    r"([ ._-]?(id|no|nr|code))?",
    re.IGNORECASE,
)
MAX_CLASSES = 30
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
# Rows from which it is no accident that numbers count up by one, or that texts differ throughout.
MIN_ROWS = 10
UNLESS = "and is no feature unless --columns has it"


def detect_column_roles(table: Table, choices: ReadOptions) -> Table:
    """The table with names of samples and classes beside its features."""
    if table.ids is None:
        table = _named_by_text(table)
    if choices.columns or choices.features or issparse(table.X) or table.image_shape is not None:
        return table
    counters = _counters(table)
    classes = [place for place in _called_classes(table) if place not in counters]
    if not counters | set(classes) or len(counters) + len(classes) == len(table.feature_names):
        return table
    changes: dict[str, Any] = {"labels": dict(table.labels), "notices": list(table.notices)}
    for place in sorted(counters):
        _set_counter_apart(table, place, changes)
    for place in classes:
        name = table.feature_names[place]
        changes["labels"][name] = table.X[:, place]
        changes["notices"].append(f"Column {quoted(name)} looks like classes: it is a label, {UNLESS}.")
    return _without(table, counters | set(classes), changes)


def _named_by_text(table: Table) -> Table:
    """Let the first column of text that differs in all rows name the samples."""
    for name, column in table.labels.items():
        if name != table.color and column.dtype == object and _are_names(column.tolist()):
            labels = {other: values for other, values in table.labels.items() if other != name}
            notice = f"Column {quoted(name)} differs in every row: it names the samples."
            return replace(table, ids=as_ids(column), id_name=name, labels=labels, notices=(*table.notices, notice))
    return table


def _are_names(texts: list[str | None]) -> bool:
    """Whether texts differ in every row, and are not numbers with a word among them."""
    if len(texts) < MIN_ROWS or None in texts or len(set(texts)) < len(texts):
        return False
    # Days are something to color by.
    if all(DAY.match(str(text)) for text in texts):
        return False
    return 2 * sum(is_number(str(text)) for text in texts) < len(texts)


def _counters(table: Table) -> set[int]:
    """Places of the columns that count up by one from row to row."""
    X: Any = table.X
    if len(X) < MIN_ROWS:
        return set()
    with np.errstate(invalid="ignore", over="ignore"):
        # Of wide tables, few columns pass the first two rows.
        suspects = np.flatnonzero(X[1] - X[0] == 1)
        found = {int(place) for place in suspects if (np.diff(X[:, place]) == 1).all()}
    return {place for place in found if table.feature_names[place] != table.color}


def _called_classes(table: Table) -> list[int]:
    """Places of the columns of few whole numbers that are called classes."""
    X: Any = table.X
    named = [place for place, name in enumerate(table.feature_names) if CLASS_NAME.fullmatch(name.strip())]
    return [place for place in named if table.feature_names[place] != table.color and _is_class(X[:, place])]


def _is_class(column: NDArray[Any]) -> bool:
    known = column[~np.isnan(column)]
    if not (known == np.rint(known)).all():
        return False
    return len(np.unique(known)) <= min(MAX_CLASSES, len(known) // 2)


def _set_counter_apart(table: Table, place: int, changes: dict[str, Any]) -> None:
    """Let a counter of rows name the samples, or stand beside what does."""
    name, column = table.feature_names[place], table.X[:, place]
    if table.ids is None and "ids" not in changes:
        changes |= {"ids": as_ids(column), "id_name": name}
        changes["notices"].append(f"Column {quoted(name)} counts the rows: it names the samples, {UNLESS}.")
    else:
        changes["labels"][name] = column
        changes["notices"].append(f"Column {quoted(name)} counts the rows: it is a label, {UNLESS}.")


def _without(table: Table, places: set[int], changes: dict[str, Any]) -> Table:
    kept = [place for place in range(len(table.feature_names)) if place not in places]
    names = tuple(table.feature_names[place] for place in kept)
    changes["notices"] = tuple(changes["notices"])
    return replace(table, X=table.X[:, kept], feature_names=names, **changes)
