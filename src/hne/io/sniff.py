"""The beginning of a text table -> its dialect: encoding, separator, decimal mark, and where its names stand."""

import codecs
import csv
import gzip
import io
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TextIO

import numpy as np

from hne.core.records import FloatArray
from hne.exceptions import quoted, shortened
from hne.io.files import GZIP, KINDS, File, ReadOptions, kind_inside, reason_of

# Encodings that the first bytes tell; what is none of them and no UTF-8 is read as WINDOWS.
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
WINDOWS = "cp1252"
NO_UTF8 = "The text is no UTF-8 and was read as Windows-1252; `encoding` names another."
# Lines, and characters, of the beginning that a table is judged by; of very long lines at least MIN_LINES.
MAX_LINES, MAX_CHARACTERS, MIN_LINES = 200, 1 << 18, 3
SEPARATORS = (",", ";", "\t", "|")
BLANKS = " "
SEPARATOR_NAMES = {",": "','", ";": "';'", "\t": "tab", "|": "'|'", " ": "blanks"}
# Share of rows that a separator splits into equally many fields for it to be one: a broken line may be among them.
CONSISTENT = 0.9
# Whole numbers that are years if they count up in a first row.
YEARS = (1000, 2999)
# Fields of a row that its separator, its decimal mark and its header are judged by: those of a wide table are alike.
JUDGED = 500
# What programs write where a number is missing; among text, "-" or "?" may be a word of its own.
NO_TEXT = frozenset({"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>"})
NO_NUMBER = NO_TEXT | {
    "na", "None", "none", "?", "-", "--", ".", "..", "NAN", "Null", "-nan", "#NV", "#DIV/0!", "#NUM!",
}  # fmt: skip
# Digits after a zero: 007 is a code, 0, 0.5 and 0e5 are numbers.
CODE, LATER_CODE = re.compile(r"\s*0[0-9]"), re.compile(r"\n[ \t]*0[0-9]")  # the latter in a later line


def number(cell: str, decimal: str = ".") -> float:
    """One cell's number, NaN where it is missing; ValueError for anything else."""
    text = cell.strip()
    if text in NO_NUMBER:
        return math.nan
    # Python reads 1_2 as 12, which no other program writes: here it is a name, and so is 007.
    if "_" in text or CODE.match(text) or (decimal == "," and "." in text):
        raise ValueError
    return float(text.replace(",", ".") if decimal == "," else text)


def numbers(cells: Sequence[str], decimal: str = ".") -> FloatArray:
    """Numbers of a column's cells; ValueError where one is neither a number nor missing.

    >>> numbers(("1,5", "NA"), ",")
    array([1.5, nan])
    """
    joined = "\n".join(cells)
    # What `number` takes for a name, looked for in all cells at once.
    if "_" in joined or CODE.match(joined) or LATER_CODE.search(joined):
        raise ValueError
    if decimal == ",":
        if "." in joined:
            return np.array([number(cell, decimal) for cell in cells], dtype=np.float64)
        cells = tuple(cell.replace(",", ".") for cell in cells)
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return np.array([number(cell, ".") for cell in cells], dtype=np.float64)


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether the cell holds a number; a missing one is none."""
    try:
        return cell.strip() not in NO_NUMBER and number(cell, decimal) is not None
    except ValueError:
        return False


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
        parts = [f"text table, separator {SEPARATOR_NAMES.get(self.separator, repr(self.separator))}"]
        parts += ["decimal comma"] * (self.decimal == ",")
        parts += [self.encoding] * (self.encoding not in ("utf-8", "utf-8-sig"))
        return ", ".join([*parts, "header" if self.has_header else "no header"])


def _table_rows(lines: Iterable[str], separator: str) -> Any:
    """The csv module's reader of the rows."""
    if separator == BLANKS:
        # Blanks after a separator are skipped, so that runs of them count once; those at the end would count.
        lines = (line.rstrip().replace("\t", " ") + "\n" for line in lines)
    return csv.reader(lines, delimiter=separator, skipinitialspace=separator == BLANKS)


@contextmanager
def _unpacked(file: File) -> Iterator[tuple[Any, bool]]:
    """Give the bytes of a file, and whether they were packed."""
    with file.path.open("rb") as raw:
        is_packed = raw.read(2) == GZIP
        raw.seek(0)
        try:
            yield (gzip.GzipFile(fileobj=raw) if is_packed else raw), is_packed
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            file.refuse("must be a whole gzip file", f"a damaged one ({reason_of(error)})", "Copy or pack it again")


@contextmanager
def _open_text(file: File, encoding: str) -> Iterator[TextIO]:
    with _unpacked(file) as (stream, _), io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
        yield text


@contextmanager
def open_rows(file: File, dialect: Dialect) -> Iterator[Any]:
    """Give the csv module's reader of the rows below the header."""
    with _open_text(file, dialect.encoding) as stream, _fields_told(file):
        for _ in range(dialect.skipped):
            next(stream)
        rows = _table_rows(stream, dialect.separator)
        if dialect.has_header:
            next(row for row in rows if any(map(str.strip, row)))
        yield rows


@contextmanager
def _fields_told(file: File) -> Iterator[None]:
    """Let a field that the csv module cannot read be told."""
    try:
        yield
    except csv.Error as error:
        rule = f"must have fields of at most {csv.field_size_limit()} characters"
        file.refuse(rule, f"a longer one ({error})", "Look for a quote that is not closed")


def sniff_dialect(file: File, options: ReadOptions) -> tuple[Dialect, list[list[str]]]:
    """Dialect of a text table, and its first rows, without the header."""
    encoding, lines, is_whole = _first_lines(file, options)
    notices = [NO_UTF8] if encoding == WINDOWS and options.encoding is None else []
    comments, excel, skipped = _preface(lines)
    lines = lines[skipped:]
    separator = options.separator or excel or _separator(lines)
    if len(separator) != 1:
        file.refuse("needs a separator of one character", f"separator={quoted(separator)}", "Write it as it is: ';'")
    with _fields_told(file):
        rows = [row for row in _table_rows(lines, separator) if any(map(str.strip, row))]
    if not rows:
        file.refuse("must hold a table", "comments and blank lines only", "Check how it was written")
    # The last row may go on beyond the beginning.
    rows = rows if is_whole or len(rows) < 2 else rows[:-1]
    decimal = options.decimal or "."
    if options.decimal is None and separator != ",":
        cells = [cell for row in rows for cell in row[:JUDGED]]
        commas = sum("," in cell and is_number(cell, ",") for cell in cells)
        decimal = "," if commas > sum("." in cell and is_number(cell, ".") for cell in cells) else "."
    n_fields = Counter(map(len, rows[1:] or rows)).most_common(1)[0][0]
    has_header = _has_header(rows, n_fields, decimal) if options.header is None else options.header
    body = rows[1:] if has_header else rows
    # np.savetxt writes names as the last comment before the table.
    first = rows[0] if has_header else next(_table_rows(comments[-1:], separator), [])
    names = [name.strip() for name in first]
    if has_header and options.header is None and any(map(is_number, names[:JUDGED])):
        notices.append("The first row was taken for names, some of them numbers; header=False says it is data.")
    if not has_header and (not len(names) == n_fields == len(set(names)) or any(map(is_number, names))):
        names = [f"x{place}" for place in range(1, n_fields + 1)]
        if options.header is None:
            notices.append("No header was found: columns are called x1, x2, ...; header=True says that there is one.")
    ends_empty = bool(body) and all(len(row) == n_fields and not row[-1].strip() for row in body)
    if len(names) == n_fields - 1 and not ends_empty:
        names = ["", *names]  # R's write.table
    if has_header and not body and is_whole:
        got = f"the header alone ({len(names)} names)"
        file.refuse("must have rows below its header", got, "Add rows or, if it is data, header=False")
    if len(names) not in (n_fields, n_fields - 1):
        got = f"{len(names)} names above rows of {n_fields}"
        file.refuse("must have as many names as fields", got, "Mend the header, or name the `separator`")
    dialect = Dialect(
        encoding=encoding,
        separator=separator,
        decimal=decimal,
        skipped=skipped,
        has_header=has_header,
        names=tuple(name or (f"x{place}" if place > 1 else "") for place, name in enumerate(names, start=1)),
        n_fields=n_fields,
        is_whole=is_whole,
        row_bytes=(2 if "16" in encoding else 4 if "32" in encoding else 1) * sum(map(len, lines)) / len(lines),
        notices=tuple(notices),
    )
    return dialect, [row for row in body if len(row) == n_fields]


def _first_lines(file: File, options: ReadOptions) -> tuple[str, list[str], bool]:
    """Encoding that the user or the first bytes tell, first lines in it, and whether they are all."""
    with _unpacked(file) as (stream, is_packed):
        head: bytes = stream.read(1 << 16)
    inside = kind_inside(head)
    if inside is not None and is_packed:
        file.refuse("must be packed text", f"{KINDS[inside][0]} in it", "Unpack it first: gunzip")
    marked = next((name for mark, name in MARKS if head.startswith(mark)), None)
    if b"\x00" in head and marked is None and options.encoding is None:
        remedy = "Save it as CSV, or name its `encoding`, such as utf-16"
        file.refuse("must be text", "bytes that are none (NUL)", remedy)
    if not head.strip():
        file.refuse("must hold a table", "blank lines only", "Check how it was written")
    encoding = options.encoding or marked or "utf-8"
    lines: list[str] = []
    size = 0
    try:
        with _open_text(file, encoding) as text:
            for line in text:
                lines.append(line)
                size += len(line)
                if len(lines) >= MAX_LINES or (size > MAX_CHARACTERS and len(lines) >= MIN_LINES):
                    return encoding, lines, False
    except LookupError:
        got = f"encoding='{shortened(encoding)}'"
        file.refuse("needs an encoding that Python knows", got, "Try utf-8, cp1252 or utf-16")
    except UnicodeDecodeError:
        if encoding == "utf-8" and options.encoding is None:
            return _first_lines(file, replace(options, encoding=WINDOWS))
        file.refuse("must be text", f"bytes that are none in {encoding}", "Name its `encoding`, such as latin-1")
    return encoding, lines, True


def _preface(lines: list[str]) -> tuple[list[str], str | None, int]:
    """Comments before the table, Excel's "sep=;", and the number of lines that are no part of it."""
    comments: list[str] = []
    separator = None
    for skipped, line in enumerate(lines):
        named = re.fullmatch(r"sep=(.)", line.rstrip("\r\n"), re.IGNORECASE)
        if named:
            separator = named[1]
        elif line.lstrip().startswith("#"):
            comments.append(line.strip().lstrip("#").strip())
        elif line.strip():
            return comments, separator, skipped
    return comments, separator, len(lines)


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
        rows = [row for row in _table_rows(lines, separator) if row]
    except csv.Error:  # Without its separator, a wide table is one field that is too long.
        rows = []
    body = rows[1:] or rows
    width, count = Counter(map(len, body)).most_common(1)[0] if body else (0, 0)
    if width < 2:
        return 0, 0, 0
    cells = [cell for row in body for cell in row[:JUDGED] if cell.strip() not in NO_NUMBER]
    marks = "." if separator == "," else ".,"
    share = sum(any(is_number(cell, mark) for mark in marks) for cell in cells) / max(len(cells), 1)
    # Tables without numbers are told by the length of their rows alone.
    even = count / len(body)
    return share * even, even, sum(len(row) == width for row in rows) / len(rows)


def _has_header(rows: list[list[str]], n_fields: int, decimal: str) -> bool:
    first, body = rows[0], rows[1:]
    if not body:
        return not any(is_number(cell, decimal) for cell in first)
    if len(first) == n_fields - 1 and not any(is_number(cell, decimal) for cell in first):
        return True
    votes = 0
    for place, cell in enumerate(first[: min(n_fields, JUDGED)]):
        column = (row[place] for row in islice(body, 50) if len(row) == n_fields)
        below = [other for other in column if other.strip() not in NO_NUMBER]
        is_numeric = bool(below) and 2 * sum(is_number(other, decimal) for other in below) > len(below)
        if is_numeric and cell.strip() not in NO_NUMBER:
            votes += -1 if is_number(cell, decimal) else 1
    if votes < 0:
        return _counts(first, body)
    return votes > 0 or not any(is_number(cell, decimal) for cell in first[:JUDGED])


def _counts(first: list[str], body: list[list[str]]) -> bool:
    """Whether the first row counts, as 0, 1, 2, ..., which pandas calls columns, or as years do beside another name.

    Rows of data may count too: where no cell beside the numbers tells, those below must not be whole.
    """
    cells = [cell.strip() for cell in first if is_number(cell)]
    if len(cells) < 2 or not re.fullmatch(r"[0-9]{1,9}", cells[0]):
        return False
    start = int(cells[0])
    if cells != [str(start + i) for i in range(len(cells))]:
        return False
    is_year = len(cells) < len(first) and YEARS[0] <= start <= YEARS[1]
    has_fractions = any(is_number(cell) and "." in cell for row in body for cell in row[:JUDGED])
    return not first[0].strip() or (has_fractions and (start == 0 or is_year))
