"""Cells of text -> numbers, with NaN for what is missing, or an error for what is no number."""

from collections.abc import Iterable, Sequence

import numpy as np

from hne._types import FloatArray

# What programs write where a number is missing; among text, "-" or "?" may be a word of its own.
NO_TEXT = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>"})
NO_NUMBER = NO_TEXT | {
    "na",
    "None",
    "none",
    "?",
    "-",
    "--",
    ".",
    "..",
    "NAN",
    "Null",
    "-nan",
    "#NV",
    "#DIV/0!",
    "#NUM!",
}


def numbers(cells: Sequence[str], decimal: str = ".") -> FloatArray:
    """Numbers of a column's cells; ValueError where one is neither a number nor missing.

    >>> numbers(("1,5", "NA"), ",")
    array([1.5, nan])
    """
    joined = "\n".join(cells)
    if "_" in joined:  # Python reads 1_2 as 12, which no other program writes: here it is a name.
        raise ValueError
    if decimal == ",":
        if "." in joined:
            return np.array([number(cell, decimal) for cell in cells], dtype=np.float64)
        cells = tuple(cell.replace(",", ".") for cell in cells)
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return np.array([number(cell, ".") for cell in cells], dtype=np.float64)


def number(cell: str, decimal: str = ".") -> float:
    """One cell's number, NaN where it is missing; ValueError for anything else."""
    text = cell.strip()
    if text in NO_NUMBER:
        return np.nan
    if "_" in text or (decimal == "," and "." in text):
        raise ValueError
    return float(text.replace(",", ".") if decimal == "," else text)


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether the cell holds a number; a missing one is none."""
    try:
        return cell.strip() not in NO_NUMBER and number(cell, decimal) is not None
    except ValueError:
        return False


def is_missing(cell: str) -> bool:
    """Whether the cell holds nothing, or a word for it."""
    return cell.strip() in NO_NUMBER


def first_text(cells: Iterable[str | None], decimal: str = ".") -> tuple[int, str] | None:
    """Place, from 1, and text of the first cell that is neither a number nor missing."""
    for place, cell in enumerate(cells, start=1):
        if cell is not None and not is_missing(cell) and not is_number(cell, decimal):
            return place, cell
    return None
