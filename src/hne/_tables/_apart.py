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

from hne._tables._cells import is_number
from hne._tables._labels import as_ids
from hne._tables._record import Choices, Table

# What people call a column of classes; numbers in it are names of groups, if there are no more than so many.
CLASS_NAME = re.compile(
    r"(target|class(es)?|labels?|group|cluster|species|category|kind|type|diagnosis|outcome)"
    r"([ ._-]?(id|no|nr|code))?",
    re.IGNORECASE,
)
MAX_CLASSES = 30
# Rows from which it is no accident that numbers count up by one, or that texts differ throughout.
MIN_ROWS = 10


def set_apart(table: Table, choices: Choices) -> Table:
    """The table with names of samples and classes beside its features."""
    if table.ids is None:
        table = _named_by_text(table)
    if choices.columns or choices.features or issparse(table.X) or table.image_shape is not None:
        return table
    for name in table.feature_names:
        if name == table.color or len(table.feature_names) == 1:
            continue
        column = table.X[:, table.feature_names.index(name)]
        if _is_counter(column):
            table = _counted(table, name, column)
        elif CLASS_NAME.fullmatch(name.strip()) and _is_class(column):
            table = _classed(table, name, column)
    return table


def _named_by_text(table: Table) -> Table:
    """Let the first column of text that differs in all rows name the samples."""
    for name, column in table.labels.items():
        if name != table.color and column.dtype == object and _are_names(column.tolist()):
            labels = {other: values for other, values in table.labels.items() if other != name}
            notice = f"Column {name!r} differs in every row: it names the samples."
            return replace(table, ids=as_ids(column), id_name=name, labels=labels, notices=(*table.notices, notice))
    return table


def _are_names(texts: list[str | None]) -> bool:
    """Whether texts differ in every row, and are not numbers with a word among them."""
    if len(texts) < MIN_ROWS or None in texts or len(set(texts)) < len(texts):
        return False
    return 2 * sum(is_number(str(text)) for text in texts) < len(texts)


def _is_counter(column: NDArray[Any]) -> bool:
    return len(column) >= MIN_ROWS and bool((np.diff(column) == 1).all())


def _is_class(column: NDArray[Any]) -> bool:
    known = column[~np.isnan(column)]
    if not (known == np.rint(known)).all():
        return False
    return len(np.unique(known)) <= min(MAX_CLASSES, len(known) // 2)


def _counted(table: Table, name: str, column: NDArray[Any]) -> Table:
    """Take a counter of rows for the names of samples, or beside them."""
    if table.ids is None:
        notice = f"Column {name!r} counts the rows: it names the samples, and is no feature unless --columns has it."
        table = replace(table, ids=as_ids(column), id_name=name)
    else:
        notice = f"Column {name!r} counts the rows: it is a label, and no feature unless --columns has it."
        table = replace(table, labels={**table.labels, name: column})
    return _without(table, name, notice)


def _classed(table: Table, name: str, column: NDArray[Any]) -> Table:
    notice = f"Column {name!r} looks like classes: it is a label, and no feature unless --columns has it."
    return _without(replace(table, labels={**table.labels, name: column}), name, notice)


def _without(table: Table, name: str, notice: str) -> Table:
    kept = [place for place, other in enumerate(table.feature_names) if other != name]
    names = tuple(table.feature_names[place] for place in kept)
    return replace(table, X=table.X[:, kept], feature_names=names, notices=(*table.notices, notice))
