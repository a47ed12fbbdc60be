"""The beginning of a text table -> its dialect: encoding, separator, decimal mark, and where its names stand."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from hne.exceptions import quoted
from hne.io.cells import is_missing, is_number
from hne.io.characters import FALLBACK, beginning, check_text, encoding_notice, encoding_of
from hne.io.names import numbered
from hne.io.record import ReadOptions
from hne.io.sources import File

SEPARATORS = (",", ";", "\t", "|")
BLANKS = " "
# Share of rows that a separator splits into equally many fields for it to be one: a broken line may be among them.
CONSISTENT = 0.9
# Whole numbers that are years if they count up in a first row.
YEARS = (1000, 2999)
# Fields of a row that its separator, its decimal mark and its header are judged by: those of a wide table are alike.
JUDGED = 500
WORDS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'", " ": "blanks"}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a text table is written."""

    encoding: str
    separator: str = ","
    decimal: str = "."
    skipped: int = 0  # lines before the table: comments, and Excel's "sep=;"
    has_header: bool = False
    names: tuple[str, ...] = ()  # of all fields; "" for a first one without a name, which names the samples
    n_fields: int = 0  # of a row; one more than names where each row ends in a separator
    is_whole: bool = False  # whether the beginning is all there is
    row_bytes: float = 1.0  # of a row, on average over the beginning
    notices: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The dialect in a line."""
        parts = [f"text table, separator {WORDS.get(self.separator, repr(self.separator))}"]
        parts += ["decimal comma"] * (self.decimal == ",")
        parts += [self.encoding] * (self.encoding not in ("utf-8", "utf-8-sig"))
        return ", ".join([*parts, "header" if self.has_header else "no header"])


def table_rows(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """Rows of fields."""
    if separator == BLANKS:
        # Blanks after a separator are skipped, so that runs of them count once; those at the end would count.
        lines = (line.rstrip().replace("\t", " ") + "\n" for line in lines)
    return csv.reader(lines, delimiter=separator, skipinitialspace=separator == BLANKS)


def dialect_of(file: File, choices: ReadOptions) -> tuple[Dialect, list[list[str]]]:
    """Dialect of a text table, and its first rows, without the header."""
    head = check_text(file, choices)
    encoding = choices.encoding or encoding_of(head)
    try:
        lines, is_whole = beginning(file, encoding)
    except UnicodeDecodeError:
        encoding, (lines, is_whole) = FALLBACK, beginning(file, FALLBACK)
    lines, comments, skipped, separator = _without_preface(lines)
    separator = choices.separator or separator or _separator(lines)
    rows = _first_rows(file, lines, separator, is_whole=is_whole)
    width = 2 if "16" in encoding else 4 if "32" in encoding else 1
    return _with_names(
        Dialect(
            encoding=encoding,
            separator=separator,
            decimal=choices.decimal or _decimal(rows, separator),
            skipped=skipped,
            is_whole=is_whole,
            row_bytes=width * sum(map(len, lines)) / len(lines),
            notices=encoding_notice(encoding, choices),
        ),
        rows,
        comments,
        choices,
    )


def with_fallback(dialect: Dialect) -> Dialect:
    """The dialect for text that turned out to be no UTF-8 beyond its beginning."""
    notices = (*dialect.notices, *encoding_notice(FALLBACK, ReadOptions()))
    return replace(dialect, encoding=FALLBACK, notices=notices)


def _without_preface(lines: list[str]) -> tuple[list[str], list[str], int, str | None]:
    """Lines of the table, comments before it, number of lines that are no part of it, and Excel's "sep=;"."""
    comments: list[str] = []
    separator = None
    for skipped, line in enumerate(lines):
        named = re.fullmatch(r"sep=(.)", line.rstrip("\r\n"), re.IGNORECASE)
        if named:
            separator = named[1]
        elif line.lstrip().startswith("#"):
            comments.append(line.strip().lstrip("#").strip())
        elif line.strip():
            return lines[skipped:], comments, skipped, separator
    return [], comments, len(lines), separator


def _separator(lines: list[str]) -> str:
    """The separator under which most fields are numbers and most rows equally long; a comma where there is none.

    Blanks are in names and sentences too: where a mark splits the rows evenly, they separate only what is numbers
    throughout, as 1,5 2,5 is.
    """
    scores = {separator: _score(lines, separator) for separator in (*SEPARATORS, BLANKS)}
    marks = [separator for separator in SEPARATORS if scores[separator][1] >= CONSISTENT]
    if marks and scores[BLANKS] < (1, 1, 0):
        return max(marks, key=lambda separator: scores[separator])
    best = max(scores, key=lambda separator: scores[separator])
    return best if scores[best] > (0, 0, 0) else ","


def _score(lines: list[str], separator: str) -> tuple[float, float, float]:
    """Share of numbers in rows of the usual length, the share of such rows, and that with the first row, of names."""
    try:
        rows = [row for row in table_rows(lines, separator) if row]
    except csv.Error:  # Without its separator, a wide table is one field that is too long.
        rows = []
    body = rows[1:] or rows
    width, count = Counter(map(len, body)).most_common(1)[0] if body else (0, 0)
    if width < 2:
        return 0, 0, 0
    cells = [cell for row in body for cell in row[:JUDGED] if not is_missing(cell)]
    marks = "." if separator == "," else ".,"
    share = sum(any(is_number(cell, mark) for mark in marks) for cell in cells) / max(len(cells), 1)
    # Tables without numbers are told by the length of their rows alone.
    even = count / len(body)
    return share * even, even, sum(len(row) == width for row in rows) / len(rows)


def _first_rows(file: File, lines: list[str], separator: str, *, is_whole: bool) -> list[list[str]]:
    try:
        rows = [row for row in table_rows(lines, separator) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise unreadable_field(file, str(error)) from error
    except TypeError as error:
        msg = f"needs a separator of one character, got --separator {quoted(separator)}. Write it as it is: ';'."
        raise file.error(msg) from error
    if not rows:
        msg = "must hold a table, got comments and blank lines only. Check how it was written."
        raise file.error(msg)
    # The last row may go on beyond the beginning.
    return rows if is_whole or len(rows) < 2 else rows[:-1]


def unreadable_field(file: File, reason: str) -> Exception:
    """Error for a field that the csv module cannot read."""
    msg = f"must have fields of at most {csv.field_size_limit()} characters, got a longer one ({reason}). "
    return file.error(msg + "Look for a quote that is not closed.")


def _decimal(rows: list[list[str]], separator: str) -> str:
    if separator == ",":
        return "."
    cells = [cell for row in rows for cell in row[:JUDGED]]
    commas = sum("," in cell and is_number(cell, ",") for cell in cells)
    points = sum("." in cell and is_number(cell, ".") for cell in cells)
    return "," if commas > points else "."


def _with_names(
    dialect: Dialect, rows: list[list[str]], comments: list[str], choices: ReadOptions
) -> tuple[Dialect, list[list[str]]]:
    """The dialect with the names of the fields, and the rows below them."""
    body = rows[1:] or rows
    n_fields = Counter(map(len, body)).most_common(1)[0][0] if body else 0
    notices = dialect.notices
    has_header = _has_header(rows, n_fields, dialect.decimal) if choices.header is None else choices.header
    if has_header:
        names, body = [name.strip() for name in rows[0]], rows[1:]
        if choices.header is None and any(map(is_number, names[:JUDGED])):
            notices = (
                *notices,
                "The first row was taken for names, some of them numbers; --no-header says it is data.",
            )
    else:
        names, body = _commented(comments, n_fields, dialect.separator), rows
        if not names and choices.header is None:
            notices = (
                *notices,
                "No header was found: columns are called x1, x2, ...; --header says that there is one.",
            )
    ends_empty = bool(body) and all(len(row) == n_fields and not row[-1].strip() for row in body)
    if len(names) == n_fields - 1 and ends_empty:
        pass  # each row ends in a separator
    elif len(names) == n_fields - 1 and names:
        names = ["", *names]  # R's write.table
    elif not names:
        names = list(numbered(n_fields))
    names = [name or (f"x{place}" if place > 1 else "") for place, name in enumerate(names, start=1)]
    named = replace(dialect, has_header=has_header, names=tuple(names), n_fields=n_fields, notices=notices)
    return named, [row for row in body if len(row) == n_fields]


def _commented(comments: list[str], n_fields: int, separator: str) -> list[str]:
    """Names from the last comment before the table, as np.savetxt writes them, if they are as many as fields."""
    for comment in comments[-1:]:
        names = [name.strip() for name in next(iter(table_rows([comment], separator)), [])]
        if len(names) == n_fields and not any(map(is_number, names)) and len(set(names)) == n_fields:
            return names
    return []


def _has_header(rows: list[list[str]], n_fields: int, decimal: str) -> bool:
    first, body = rows[0], rows[1:]
    if not body:
        return not any(is_number(cell, decimal) for cell in first)
    if len(first) == n_fields - 1 and not any(is_number(cell, decimal) for cell in first):
        return True
    votes = 0
    for place, cell in enumerate(first[: min(n_fields, JUDGED)]):
        below = [row[place] for row in islice(body, 50) if len(row) == n_fields and not is_missing(row[place])]
        if below and 2 * sum(is_number(other, decimal) for other in below) > len(below) and not is_missing(cell):
            votes += -1 if is_number(cell, decimal) else 1
    if votes < 0:
        return _counts(first, body)
    return votes > 0 or not any(is_number(cell, decimal) for cell in first[:JUDGED])


def _counts(first: Sequence[str], body: list[list[str]]) -> bool:
    """Whether the first row counts, as 0, 1, 2, ..., which pandas calls columns, or as years do beside another name.

    Rows of data may count too: where no cell beside the numbers tells, those below must not be whole.
    """
    cells = [cell.strip() for cell in first if is_number(cell)]
    if len(cells) < 2 or not all(cell.isdecimal() for cell in cells):
        return False
    start = int(cells[0])
    if cells != [str(start + i) for i in range(len(cells))]:
        return False
    if not first[0].strip():
        return True
    has_fractions = any(is_number(cell) and "." in cell for row in body for cell in row[:JUDGED])
    is_year = len(cells) < len(first) and YEARS[0] <= start <= YEARS[1]
    return has_fractions and (start == 0 or is_year)
