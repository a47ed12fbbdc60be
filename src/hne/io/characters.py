"""Bytes of a text file -> characters: unpacked, in the encoding that it has, or an error where it is no text."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from hne.exceptions import shortened
from hne.io.mat_values import reason_of
from hne.io.record import ReadOptions
from hne.io.sources import GZIP, NAMES, File, kind_inside

# Lines, and characters, of the beginning that a table is judged by; of very long lines at least MIN_LINES.
MAX_LINES, MAX_CHARACTERS, MIN_LINES = 200, 1 << 18, 3
FALLBACK = "cp1252"
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


def encoding_of(head: bytes) -> str:
    """Encoding that the first bytes tell; UTF-8 where they do not."""
    return next((name for mark, name in MARKS if head.startswith(mark)), "utf-8")


@contextmanager
def unpacked(file: File) -> Iterator[tuple[Any, bool]]:
    """Give the bytes of a file, and whether they were packed."""
    with file.path.open("rb") as raw:
        is_packed = raw.read(2) == GZIP
        raw.seek(0)
        try:
            yield (gzip.GzipFile(fileobj=raw) if is_packed else raw), is_packed
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            msg = f"must be a whole gzip file, got a damaged one ({reason_of(error)}). Copy or pack it again."
            raise file.error(msg) from error


@contextmanager
def opened(file: File, encoding: str) -> Iterator[TextIO]:
    """Give the characters of a file, unpacked if need be."""
    with unpacked(file) as (stream, _), io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
        yield text


def check_text(file: File, choices: ReadOptions) -> bytes:
    """First bytes of a file, unpacked if need be, or an error where they are no text."""
    with unpacked(file) as (stream, packed):
        head: bytes = stream.read(1 << 16)
    inside = kind_inside(head)
    if inside is not None and packed:
        msg = f"must be packed text, got {NAMES[inside]} in it. Unpack it first: gunzip."
        raise file.error(msg)
    marked = any(head.startswith(mark) for mark, _ in MARKS)
    if b"\x00" in head and not marked and choices.encoding is None:
        msg = "must be text, got bytes that are none (NUL). Save it as CSV, or name its --encoding, such as utf-16."
        raise file.error(msg)
    if not head.strip():
        msg = "must hold a table, got blank lines only. Check how it was written."
        raise file.error(msg)
    return head


def beginning(file: File, encoding: str) -> tuple[list[str], bool]:
    """First lines of a file, and whether they are all; UnicodeDecodeError where UTF-8 was a guess that failed."""
    lines: list[str] = []
    size = 0
    try:
        with opened(file, encoding) as stream:
            for line in stream:
                lines.append(line)
                size += len(line)
                if len(lines) >= MAX_LINES or (size > MAX_CHARACTERS and len(lines) >= MIN_LINES):
                    return lines, False
    except LookupError as error:
        msg = f"needs an encoding that Python knows, got --encoding {shortened(encoding)}. Try utf-8, cp1252 or utf-16."
        raise file.error(msg) from error
    except UnicodeDecodeError as error:
        if encoding == "utf-8":
            raise
        msg = f"must be text, got bytes that are none in {encoding}. Name its --encoding, such as latin-1."
        raise file.error(msg) from error
    return lines, True


def encoding_notice(encoding: str, choices: ReadOptions) -> tuple[str, ...]:
    """A notice where the encoding was guessed."""
    guessed = encoding == FALLBACK and choices.encoding is None
    return ("The text is no UTF-8 and was read as Windows-1252; --encoding names another.",) if guessed else ()
