"""Rows of a text table -> columns: each chunk's cells to numbers, in one growing matrix, and texts beside it."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from hne._runtime.progress import step
from hne.core.records import FloatArray
from hne.exceptions import quoted
from hne.io.cells import first_text, numbers
from hne.io.characters import opened
from hne.io.dialect import Dialect, table_rows, unreadable_field
from hne.io.labels import INEXACT
from hne.io.selection import NUMBER, Roles
from hne.io.sources import File

# Cells, and rows, of a chunk: short enough to stay in the processor's cache, long enough to hide the calls.
CHUNK_CELLS, LEAST_ROWS, MOST_ROWS = 6_000, 4, 4_000


@dataclass
class Gathered:
    """What has been read: a matrix with room to grow, texts, and what turned out to be no number."""

    roles: Roles
    kinds: list[str]
    decimal: str
    n_rows: int = 0
    values: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    columns: dict[int, list[Any]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    turned: dict[int, tuple[int, str]] = field(default_factory=dict)  # columns with text: its row, from 1, and the text
    n_filled: int = 0  # rows up to the last one in which something is written
    n_empty: int = 0  # rows below it, which spreadsheets leave

    def add(self, chunk: list[list[str]]) -> None:
        """Add a chunk of rows."""
        count = len(chunk)
        self._make_room(self.n_rows + count)
        block = self.values[self.n_rows : self.n_rows + count]
        if len(self.roles.features) <= count or not self._fill_rows(chunk, block):
            self._fill_columns(chunk, block)
        for i in self._beside():
            cells = tuple(row[i] for row in chunk)
            column = self.columns.setdefault(i, [])
            if self.is_number_beside(i):
                column.extend(self._exact(i, cells).tolist())
            elif i == self.roles.id:
                column.extend(cells)
            else:
                # Words of a label come again and again: one copy of each will do.
                column.extend(map(self.words.setdefault, cells, cells))
        for place in range(count, 0, -1):
            if any(map(str.strip, chunk[place - 1])):
                self.n_filled = self.n_rows + place
                break
        self.n_rows += count

    def _fill_rows(self, chunk: list[list[str]], block: FloatArray) -> bool:
        """Turn rows of a wide table to numbers, which is faster than its many short columns; False where one fails."""
        pick = itemgetter(*self.roles.features)
        try:
            for row, numbers_of_row in zip(chunk, block, strict=True):
                numbers_of_row[:] = numbers(pick(row), self.decimal)
        except ValueError:
            return False
        return True

    def _fill_columns(self, chunk: list[list[str]], block: FloatArray) -> None:
        cells = list(zip(*chunk, strict=True))
        for place, i in enumerate(self.roles.features):
            block[:, place] = self._numbers(i, cells[i])

    def is_number_beside(self, i: int) -> bool:
        """Whether a column beside the features is kept as numbers."""
        return self.kinds[i] == NUMBER and i != self.roles.id

    def _beside(self) -> set[int]:
        return {*self.roles.labels, *(() if self.roles.id is None else (self.roles.id,))}

    def _numbers(self, i: int, cells: tuple[str, ...]) -> FloatArray:
        try:
            return numbers(cells, self.decimal)
        except ValueError:
            place, text = first_text(cells, self.decimal) or (1, cells[0])
            self.turned.setdefault(i, (self.n_rows + place, text))
            return np.full(len(cells), np.nan)

    def _exact(self, i: int, cells: tuple[str, ...]) -> FloatArray:
        """Numbers beside the features, which are to be told as the file has them: text where float64 has no room."""
        values = self._numbers(i, cells)
        with np.errstate(invalid="ignore"):
            large = np.flatnonzero(np.abs(values) >= INEXACT)
        for place in large:
            if cells[place].strip().lstrip("+-").isdecimal() and i not in self.roles.features:
                self.turned.setdefault(i, (self.n_rows + int(place) + 1, cells[place]))
        return values

    def _make_room(self, n_rows: int) -> None:
        """Grow by an eighth at a time: what is not written yet takes no memory, and moving is the system's business."""
        if n_rows > len(self.values):
            shape = (max(n_rows, len(self.values) * 9 // 8), len(self.roles.features))
            if self.values.size:
                self.values.resize(shape, refcheck=False)
            else:
                self.values = np.empty(shape)

    def cut(self) -> None:
        """Keep no empty rows at the end, and no room to grow."""
        n_rows = min(max(self.n_filled, 1), self.n_rows)
        self.n_rows, self.n_empty = n_rows, self.n_rows - n_rows
        self.values.resize((n_rows, len(self.roles.features)), refcheck=False)
        self.columns = {i: column[:n_rows] for i, column in self.columns.items()}


def gather(file: File, dialect: Dialect, roles: Roles, kinds: list[str]) -> Gathered:
    """Read all rows; a column of numbers in which text was met has NaN there, and is told in `turned`."""
    gathered = Gathered(roles, kinds, dialect.decimal)
    size = min(max(CHUNK_CELLS // dialect.n_fields, LEAST_ROWS), MOST_ROWS)
    with _rows(file, dialect) as rows:
        for chunk in iter(lambda: list(islice(rows, size)), []):
            if set(map(len, chunk)) != {dialect.n_fields}:
                # Blank lines are no rows; a row of empty fields is one.
                chunk = [row for row in chunk if len(row) == dialect.n_fields or any(map(str.strip, row))]  # noqa: PLW2901
                _check_lengths(file, dialect, chunk)
            if chunk:
                gathered.add(chunk)
                step("rows", gathered.n_rows)
    gathered.cut()
    return gathered


@contextmanager
def _rows(file: File, dialect: Dialect) -> Iterator[Any]:
    """Give the rows below the header."""
    try:
        with opened(file, dialect.encoding) as stream:
            for _ in range(dialect.skipped):
                next(stream)
            rows = table_rows(stream, dialect.separator)
            if dialect.has_header:
                next(row for row in rows if any(cell.strip() for cell in row))
            yield rows
    except csv.Error as error:
        raise unreadable_field(file, str(error)) from error


def _check_lengths(file: File, dialect: Dialect, chunk: list[list[str]]) -> None:
    if all(len(row) == dialect.n_fields for row in chunk):
        return
    with _rows(file, dialect) as rows:
        for row in rows:
            if len(row) != dialect.n_fields and any(cell.strip() for cell in row):
                # Lines, not rows: that is what editors show.
                line = rows.line_num + dialect.skipped
                msg = (
                    f"must have {dialect.n_fields} fields in every row, got {len(row)} in line {line}. "
                    f"Mend that line, or name the --separator (now {quoted(dialect.separator)})."
                )
                raise file.error(msg)
