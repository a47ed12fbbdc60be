"""Cells of text -> numbers, with NaN for what is missing, or an error for what is no number."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from hne.core.records import FloatArray

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
# Digits after a zero: 007 is a code, 0, 0.5 and 0e5 are numbers; the same in a later one of many cells, a line each.
CODE = re.compile(r"\s*0[0-9]")
CODES = re.compile(r"\n[ \t]*0[0-9]")
# What spreadsheets and people write for 1000 and more.
THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+(\.\d*)?\s*")


def numbers(cells: Sequence[str], decimal: str = ".") -> FloatArray:
    """Numbers of a column's cells; ValueError where one is neither a number nor missing.

    >>> numbers(("1,5", "NA"), ",")
    array([1.5, nan])
    """
    joined = "\n".join(cells)
    # Python reads 1_2 as 12, which no other program writes: here it is a name, and so is 007.
    if "_" in joined or is_code(joined) or CODES.search(joined):
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
    if "_" in text or is_code(text) or (decimal == "," and "." in text):
        raise ValueError
    return float(text.replace(",", ".") if decimal == "," else text)


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether the cell holds a number; a missing one is none."""
    try:
        return cell.strip() not in NO_NUMBER and number(cell, decimal) is not None
    except ValueError:
        return False


def is_code(cell: str) -> bool:
    """Whether the cell holds digits that begin with a zero, which a number would lose.

    >>> [cell for cell in ("007", "00500", "0", "0.5", "-0.3", "0e5") if is_code(cell)]
    ['007', '00500']
    """
    return CODE.match(cell) is not None


def is_missing(cell: str) -> bool:
    """Whether the cell holds nothing, or a word for it."""
    return cell.strip() in NO_NUMBER


def first_text(cells: Iterable[str | None], decimal: str = ".") -> tuple[int, str] | None:
    """Place, from 1, and text of the first cell that is neither a number nor missing."""
    for place, cell in enumerate(cells, start=1):
        if cell is not None and not is_missing(cell) and not is_number(cell, decimal):
            return place, cell
    return None
