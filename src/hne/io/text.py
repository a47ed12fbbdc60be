"""A text table -> Table: rows to columns chunk by chunk, numbers in one growing matrix and texts beside it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._runtime.progress import step
from hne.core.records import FloatArray
from hne.exceptions import quoted
from hne.io.files import GZIP, TEXT_BYTES, File, ReadOptions
from hne.io.sniff import (
    CODE,
    NO_NUMBER,
    NO_TEXT,
    NO_UTF8,
    WINDOWS,
    Dialect,
    is_number,
    numbers,
    open_rows,
    sniff_dialect,
)
from hne.io.table import (
    INEXACT,
    LABEL,
    NAMED_BY_FIRST,
    NUMBER,
    TEXT,
    Roles,
    Table,
    assign_roles,
    build_table,
    listed,
    matrix_table,
)

# Cells, and rows, of a chunk: short enough to stay in the processor's cache, long enough to hide the calls.
CHUNK_CELLS, LEAST_ROWS, MOST_ROWS = 6_000, 4, 4_000
# Cells of a column that decide whether it is text with a few numbers, or numbers with a few texts.
JUDGED = 10_000
# What spreadsheets and people write for 1000 and more.
THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+(\.\d*)?\s*")


def read_text(file: File, options: ReadOptions) -> Table:
    """Read a text table."""
    dialect, sample = sniff_dialect(file, options)
    try:
        return (_read_transposed if options.transpose else _read)(file, dialect, sample, options)
    except UnicodeDecodeError:
        if dialect.encoding != "utf-8" or options.encoding is not None:
            got = f"bytes that are none in {dialect.encoding}"
            file.refuse("must be text", got, "Name its `encoding`, such as latin-1")
    return read_text(file, replace(options, encoding=WINDOWS)).noticed(NO_UTF8)


def _first_text(cells: Iterable[str], decimal: str) -> tuple[int, str] | None:
    """Place, from 1, and text of the first cell that is neither a number nor missing."""
    for place, cell in enumerate(cells, start=1):
        if cell.strip() not in NO_NUMBER and not is_number(cell, decimal):
            return place, cell
    return None


def _is_unique(cells: Sequence[str]) -> bool:
    """Whether texts, or whole numbers, differ from each other."""
    if len(set(cells)) < len(cells):
        return False
    return not any("." in cell or "," in cell for cell in cells if is_number(cell) or is_number(cell, ","))


def _read(file: File, dialect: Dialect, sample: list[list[str]], options: ReadOptions) -> Table:
    """Read with the kinds that the first rows show; read again where later rows show that a column is text."""
    names, index = list(dialect.names), None
    cells = list(zip(*sample, strict=True)) or [()] * len(names)
    kinds = [NUMBER if _first_text(column, dialect.decimal) is None else TEXT for column in cells[: len(names)]]
    if names[0] == "":
        index, kinds[0] = 0, LABEL
        names[0] = next(name for name in ("id", "row", "index", "unnamed", "-") if name not in names)
    repeated: set[int] = set()
    while True:
        roles = assign_roles(file, names, kinds, options, lambda i: i not in repeated and _is_unique(cells[i]), index)
        _check_fits(file, dialect, roles, len(sample))
        columns = _read_columns(file, dialect, roles)
        for i, (row, text) in columns.texts.items():
            if options.columns:
                got = f"{quoted(text)} in column {quoted(names[i])}, row {row}"
                file.refuse("must have numbers in features", got, "Mend it, or leave the column out of `columns`")
            kinds[i] = TEXT
        is_guess = roles.id is not None and roles.id != index and options.id is None
        if is_guess and not columns.texts and not _is_unique(columns.beside[int(roles.id or 0)]):
            repeated.add(int(roles.id or 0))
        elif not columns.texts:
            break
    beside = {i: columns.values(i, kinds[i]) for i in columns.beside}
    notices = [NAMED_BY_FIRST] if roles.id == index == 0 else []
    for i in roles.labels:
        notices += _mixed_notice(names[i], columns.beside[i], dialect.decimal) if beside[i].dtype == object else []
    if columns.n_empty:
        notices.append(f"Left out {columns.n_empty} empty row{'s' * (columns.n_empty != 1)} at the end of the file.")
    X, features = columns.X, [names[i] for i in roles.features]
    # A column that begins with a number is not empty; few are left to be looked at.
    suspects = np.flatnonzero(np.isnan(X[:1]).all(axis=0)).tolist() if len(X) and not options.columns else []
    empty = [i for i in suspects if np.isnan(X[:, i]).all()]
    if 0 < len(empty) < len(features):
        notices.append(f"Columns without any value are left out: {listed([features[i] for i in empty])}.")
        kept = np.setdiff1d(np.arange(len(features)), empty)
        X, features = X[:, kept], [features[i] for i in kept]
    table = build_table(
        file, options, roles, names, beside.__getitem__, X=X, feature_names=tuple(features), source=dialect.source,
        notices=dialect.notices,
    )  # fmt: skip
    return table.noticed(*notices)


def _check_fits(file: File, dialect: Dialect, roles: Roles, n_first: int) -> None:
    """Foresee a text table from its size and its beginning."""
    size = file.path.stat().st_size
    with file.path.open("rb") as stream:
        if stream.read(2) == GZIP:
            stream.seek(-4, 2)
            # The end knows the size of the text modulo 4 GB; text seldom packs worse than to a third.
            size = max(int.from_bytes(stream.read(4), "little"), size)
    n_rows = n_first if dialect.is_whole else max(n_first, round(size / dialect.row_bytes))
    n_texts = len(roles.labels) + (roles.id is not None)
    needed = n_rows * (8 * len(roles.features) + TEXT_BYTES * n_texts)
    file.check_fits(needed, n_rows, len(roles.features), "" if dialect.is_whole else "about ")


@dataclass
class _Columns:
    """What has been read: a matrix with room to grow, cells of columns beside it, and what is no number."""

    roles: Roles
    decimal: str
    n_rows: int = 0
    X: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    beside: dict[int, list[str]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    texts: dict[int, tuple[int, str]] = field(default_factory=dict)  # features with text: its row, from 1, and the text
    n_filled: int = 0  # rows up to the last one in which something is written
    n_empty: int = 0  # rows below it, which spreadsheets leave

    def add(self, chunk: list[list[str]]) -> None:
        """Add a chunk of rows."""
        count, features = len(chunk), self.roles.features
        if self.n_rows + count > len(self.X):
            # By an eighth at a time: what is not written yet takes no memory, and moving is the system's business.
            shape = (max(self.n_rows + count, len(self.X) * 9 // 8), len(features))
            if self.X.size:
                self.X.resize(shape, refcheck=False)
            else:
                self.X = np.empty(shape)
        block = self.X[self.n_rows : self.n_rows + count]
        try:
            block[:] = numbers([row[i] for row in chunk for i in features], self.decimal).reshape(block.shape)
        except ValueError:
            for place, i in enumerate(features):
                cells = [row[i] for row in chunk]
                try:
                    block[:, place] = numbers(cells, self.decimal)
                except ValueError:
                    row, text = _first_text(cells, self.decimal) or (1, cells[0])
                    self.texts.setdefault(i, (self.n_rows + row, text))
        for i in (*self.roles.labels, *(() if self.roles.id is None else (self.roles.id,))):
            # Words of a label come again and again: one copy of each will do.
            cells = [row[i] for row in chunk]
            self.beside.setdefault(i, []).extend(map(self.words.setdefault, cells, cells))
        filled = (place for place in range(count, 0, -1) if any(map(str.strip, chunk[place - 1])))
        self.n_filled = self.n_rows + next(filled, self.n_filled - self.n_rows)
        self.n_rows += count

    def values(self, i: int, kind: str) -> NDArray[Any]:
        """A column beside the features: numbers, names as they are, or texts with None for what is missing."""
        cells = self.beside[i]
        if i == self.roles.id:
            return np.array(cells, dtype=object)
        try:
            values = numbers(cells, self.decimal) if kind == NUMBER else None
        except ValueError:
            values = None
        if values is not None:
            # Numbers beside the features are told as the file has them: they are text where float64 has no room.
            large = np.flatnonzero(np.abs(values) >= INEXACT) if i not in self.roles.features else ()
            if not any(cells[row].strip().lstrip("+-").isdecimal() for row in large):
                return values
        stripped = {cell: cell.strip() for cell in set(cells)}
        shared = {cell: None if text in NO_TEXT else text for cell, text in stripped.items()}
        return np.array([shared[cell] for cell in cells], dtype=object)


def _read_columns(file: File, dialect: Dialect, roles: Roles) -> _Columns:
    """Read all rows; columns of numbers in which text was met are told in `texts`."""
    columns, n_fields = _Columns(roles, dialect.decimal), dialect.n_fields
    size = min(max(CHUNK_CELLS // n_fields, LEAST_ROWS), MOST_ROWS)
    with open_rows(file, dialect) as rows:
        for chunk in iter(lambda: list(islice(rows, size)), []):
            if set(map(len, chunk)) != {n_fields}:
                # Blank lines are no rows; a row of empty fields is one.
                chunk = [row for row in chunk if len(row) == n_fields or any(map(str.strip, row))]  # noqa: PLW2901
                if any(len(row) != n_fields for row in chunk):
                    _refuse_length(file, dialect)
            if chunk:
                columns.add(chunk)
                step("rows", columns.n_rows)
    n_rows = max(columns.n_filled, min(columns.n_rows, 1))
    columns.n_empty, columns.n_rows = columns.n_rows - n_rows, n_rows
    columns.X.resize((n_rows, len(roles.features)), refcheck=False)
    columns.beside = {i: column[:n_rows] for i, column in columns.beside.items()}
    return columns


def _refuse_length(file: File, dialect: Dialect) -> None:
    """Name the first line with too few or too many fields: lines, not rows, are what editors show."""
    with open_rows(file, dialect) as rows:
        wrong = next(row for row in rows if len(row) != dialect.n_fields and any(map(str.strip, row)))
        got = f"{len(wrong)} in line {rows.line_num + dialect.skipped}"
    remedy = f"Mend that line, or name the `separator` (now {quoted(dialect.separator)})"
    file.refuse(f"must have {dialect.n_fields} fields in every row", got, remedy)


def _mixed_notice(name: str, column: list[str], decimal: str) -> list[str]:
    """A notice where most of a column's cells are numbers, and it is a label all the same."""
    cells = [cell for cell in column[:JUDGED] if cell.strip() not in NO_NUMBER]
    numeric = sum(is_number(cell, ".") or is_number(cell, ",") or bool(THOUSANDS.fullmatch(cell)) for cell in cells)
    first = _first_text(column, decimal) if 2 * numeric > len(cells) else None
    # Whole numbers with more digits than float64 has are numbers too.
    if first is None:
        return []
    row, text = first
    other = "," if decimal == "." else "."
    if CODE.match(text):
        remedy = "Digits after a zero are codes; if they are numbers, write them without it."
    elif decimal == "." and THOUSANDS.fullmatch(text):
        remedy = "Its commas separate thousands: remove them to use it as a feature."
    elif is_number(text, other):
        remedy = f"If numbers are written that way, add decimal='{other}'"
    else:
        remedy = "If that stands for a missing value, leave the cell empty."
    return [f"Column {quoted(name)} is text, not a feature, because of {quoted(text)} in row {row}. {remedy}"]


def _read_transposed(file: File, dialect: Dialect, sample: list[list[str]], options: ReadOptions) -> Table:
    """A table whose columns are samples: its names are those of samples, its first column names the features."""
    table = _read(file, dialect, sample, ReadOptions())
    names, labels = table.ids, dict(table.labels)
    if names is None and labels:
        names = tuple(str(name) for name in labels.pop(next(iter(labels))))
    notices = [notice for notice in table.notices if "names the samples" not in notice]
    if labels:
        notices.append(f"Columns of text are left out of a transposed table: {listed(list(labels))}.")
    return matrix_table(
        file,
        np.ascontiguousarray(table.X.T),
        options,
        feature_names=names,
        ids=table.feature_names if dialect.has_header else None,
        source=f"{table.source}, transposed",
        notices=tuple(notices),
    )
