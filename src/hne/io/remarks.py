"""What is said about columns of a text table: why numbers are kept as text, and what is left out."""

from dataclasses import replace

import numpy as np

from hne.exceptions import quoted
from hne.io.cells import THOUSANDS, first_text, is_code, is_missing, is_number
from hne.io.dialect import Dialect
from hne.io.gather import Gathered
from hne.io.names import listed
from hne.io.record import ReadOptions, Table

# Cells of a column that decide whether it is text with a few numbers, or numbers with a few texts.
JUDGED = 10_000


def mixed_notice(dialect: Dialect, gathered: Gathered, i: int, text: tuple[int, str] | None) -> list[str]:
    """A notice where most of a column's cells are numbers, and it is a label all the same."""
    if gathered.is_number_beside(i):
        return []
    cells = [cell for cell in gathered.columns[i][:JUDGED] if not is_missing(cell)]
    if 2 * sum(map(_is_numeric, cells)) <= len(cells):
        return []
    found = text or first_text(gathered.columns[i], dialect.decimal)
    if found is None or is_number(found[1], dialect.decimal):  # whole numbers with more digits than float64 has
        return []
    notice = (
        f"Column {quoted(dialect.names[i])} is text, not a feature, because of {quoted(found[1])} in row {found[0]}."
    )
    return [f"{notice} {_remedy(dialect, found[1])}"]


def _is_numeric(cell: str) -> bool:
    return is_number(cell, ".") or is_number(cell, ",") or THOUSANDS.fullmatch(cell) is not None


def _remedy(dialect: Dialect, text: str) -> str:
    other = "," if dialect.decimal == "." else "."
    if is_code(text):
        return "Digits after a zero are codes; if they are numbers, write them without it."
    if dialect.decimal == "." and THOUSANDS.fullmatch(text):
        return "Its commas separate thousands: remove them to use it as a feature."
    if is_number(text, other):
        return f"If numbers are written that way, add --decimal {other}"
    return "If that stands for a missing value, leave the cell empty."


def empty_rows_notice(n_empty: int) -> list[str]:
    """A notice of rows at the end in which nothing is written."""
    return [f"Left out {n_empty} empty row{'s' * (n_empty != 1)} at the end of the file."] if n_empty else []


def without_empty(table: Table, choices: ReadOptions) -> Table:
    """The table without columns that hold nothing at all, unless the user named them."""
    if choices.columns or not len(table.X):
        return table
    # A column that begins with a number is not empty; few are left to be looked at.
    suspects = np.flatnonzero(np.isnan(table.X[0]))
    empty = [i for i in suspects if np.isnan(table.X[:, i]).all()]
    if not empty or len(empty) == table.X.shape[1]:
        return table
    kept = np.setdiff1d(np.arange(table.X.shape[1]), empty)
    notice = f"Columns without any value are left out: {listed([table.feature_names[i] for i in empty])}."
    return replace(
        table,
        X=table.X[:, kept],
        feature_names=tuple(table.feature_names[i] for i in kept),
        notices=(*table.notices, notice),
    )
