"""Path or standard input -> a file that can be opened, and its kind; what is said of it, by users and in messages."""

import difflib
import importlib
import shutil
import struct
import sys
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from scipy.io.matlab import MatReadError

from hne._runtime.files import expanded
from hne._runtime.memory import available_bytes, gigabytes
from hne._runtime.progress import one_line
from hne.exceptions import HNEError, InputError, MissingExtraError, TooLargeError, shortened

STANDARD_INPUT = "-"
# What a kind is called, and the endings of its files.
KINDS = {
    "text": ("text", (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".gz")),
    "npy": ("an NPY file", (".npy",)),
    "npz": ("an NPZ file", (".npz",)),
    "mat": ("a MAT file", (".mat",)),
    "hdf5": ("an HDF5 file", (".h5", ".hdf5", ".hdf", ".he5", ".h5ad")),
    "parquet": ("a Parquet file", (".parquet", ".pq")),
    "arrow": ("an Arrow file", (".arrow", ".feather", ".ipc")),
}
# First bytes of what can be read; HDF5's may come after 512 of another program's.
MAGIC = {
    b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PAR1": "parquet", b"ARROW1": "arrow", b"FEA1": "arrow",
    b"\xff\xff\xff\xff": "arrow", b"MATLAB 5.0 MAT-file": "mat", b"\x89HDF\r\n\x1a\n": "hdf5",
}  # fmt: skip
GZIP = b"\x1f\x8b"
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pnm", ".pbm")
# Endings of what cannot be read, and what to do about it.
REMEDIES = {
    (".xlsx", ".xls", ".xlsm", ".ods"): "In the spreadsheet, save the table as CSV",
    (".pkl", ".pickle", ".joblib"): "Loading a pickle runs what is in it: save the table as CSV, Parquet or NPY",
    (".rds", ".rda", ".rdata"): "In R, write the table with write.csv",
    (".json", ".jsonl"): "Save the table as CSV or Parquet",
    (".bz2", ".xz", ".zst", ".zip", ".7z", ".tar", ".z"): "Unpack it first",
    PICTURES: "Pass the folder that holds the images",
}
# What readers raise for files that are damaged or none of their own.
UNREADABLE = (
    ValueError, TypeError, SyntaxError, LookupError, OSError, EOFError, AttributeError, OverflowError, RuntimeError,
    SystemError, MatReadError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
# A short text in a list: its characters, Python's header, and the place in the list.
TEXT_BYTES = 72
# Characters of what a library says: its own words, and what it quotes.
MOST_REASON = 300


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What a user says about a file; None and empty leave it to be found out."""

    columns: tuple[str, ...] = ()  # features: names, patterns as gene_*, positions as 2-5 (from 1); else all numeric
    features: tuple[str, ...] = ()  # the same as exact names, all of which must be there: those of a fitted model
    drop: tuple[str, ...] = ()  # columns to forget, named in the same ways
    id: str | None = None  # the column that names the samples
    color: str | None = None  # a column to color by: carried along, a feature only if `columns` has it too
    array: str | None = None  # which of several arrays: a name in NPZ and MAT files, a path in HDF5
    transpose: bool = False  # samples are columns
    separator: str | None = None  # between the fields of a text table; " " means runs of blanks
    decimal: str | None = None  # "." or ","
    encoding: str | None = None
    header: bool | None = None  # whether the first row of a text table holds names
    image_size: tuple[int, int] | None = None  # width and height: of rows that are images, or to resize image files to
    image_mode: str | None = None  # "grey" or "rgb"
    pixel_scale: float | None = None  # what pixels of arrays are divided by, as those of a fitted model were


@dataclass(frozen=True)
class File:
    """A file that is there, and what messages call it."""

    path: Path
    title: str  # "'points.csv'", or "standard input"

    def refuse(
        self, rule: str, got: object, remedy: str = "Write or copy it again", parameter: str | None = None
    ) -> NoReturn:
        """Raise an error about this file, or an option of reading it: what must be, what is there, and what to do."""
        end = "" if remedy.endswith("?") else "."
        msg = one_line(f"{self.title} {rule}, got {got}. {remedy}{end}")
        raise InputError(msg, parameter=parameter or self.title, rule=rule, value=got, remedy=remedy)

    @contextmanager
    def reading(self, kind: str, errors: tuple[type[BaseException], ...] = UNREADABLE) -> Iterator[None]:
        """Let what goes wrong be told as damage to a file of that kind."""
        try:
            yield
        except HNEError:
            raise
        except errors as error:
            self.refuse(f"must be {kind}", f"one that cannot be read ({reason_of(error)})")

    def check_fits(self, size: int, n_samples: int, n_features: int, about: str = "") -> None:
        """Raise where reading a table of that shape would take more bytes than there are."""
        available = available_bytes()
        if size > available:
            msg = (
                f"{self.title} needs {gigabytes(size)} to be read ({about}{n_samples} samples of {n_features} "
                f"features), got {gigabytes(available)} of free memory. Choose fewer columns, or write a part of its "
                "rows to a file of their own."
            )
            raise TooLargeError(msg)


@contextmanager
def locate(source: Path | str, stream: BinaryIO | None = None) -> Iterator[File]:
    """Give the file; what comes through a pipe is kept in a temporary one, since kinds of files are told by seeking."""
    is_stream, path = str(source) == STANDARD_INPUT, expanded(source)
    title = "standard input" if is_stream else f"'{path}'"
    try:
        with ExitStack() as stack:
            if is_stream or not path.is_dir():
                opened = stream or sys.stdin.buffer if is_stream else stack.enter_context(path.open("rb"))
                if is_stream or not path.is_file():
                    path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hne-"))) / "input"
                    with path.open("wb") as copy:
                        shutil.copyfileobj(opened, copy, 1 << 20)
            yield File(path, title)
    except OSError as error:
        reason, remedy = (error.strerror or str(error)).lower(), "Check the path and the disk."
        if isinstance(error, PermissionError):
            remedy = "Ask its owner, or copy it to a place of yours."
        elif isinstance(error, FileNotFoundError):
            reason, remedy, folder = "no such file", "Check the path.", path.parent
            if not folder.is_dir():
                remedy = f"There is no folder '{folder}' either: check the path."
            elif near := difflib.get_close_matches(path.name, sorted(entry.name for entry in folder.iterdir()), n=1):
                remedy = f"Did you mean '{folder / near[0]}'?"
        msg = f"cannot read {title}: {reason}. {remedy}"
        raise InputError(msg) from error


def kind_of(file: File, *, is_text: bool = False) -> str:
    """Kind of the file: by its ending, else by its first bytes, else text; or an error for what cannot be read.

    `is_text` says that the user named an encoding, which only text has.
    """
    if file.path.is_dir():
        return "images"
    ending = file.path.suffix.lower()
    with file.path.open("rb") as stream:
        head = stream.read(520)
    if not head:
        file.refuse("must hold a table", "an empty file", "Check how it was written")
    inside = kind_inside(head)
    named = next((kind for kind, (_, endings) in KINDS.items() if ending in endings), None)
    if named is None and is_text:
        return "text"
    if named is None:
        remedy = next((remedy for endings, remedy in REMEDIES.items() if ending in endings), None)
        is_binary = inside is None and b"\x00" in head and not head.startswith((GZIP, b"\xff\xfe", b"\xfe\xff"))
        if remedy or is_binary:
            known = ", ".join(endings[0] for _, endings in KINDS.values())
            got = f"the ending '{ending}'" if ending else "bytes of no kind that is known"
            rule = f"must be a table of a known kind ({known}) or a folder of images"
            file.refuse(rule, got, remedy or "Save it as CSV")
        return inside or "text"
    if named == "text" and inside is not None:
        name, endings = KINDS[inside]
        file.refuse("must be text", name, f"Rename it to '{file.path.stem}{endings[0]}'")
    # MAT files of version 7.3 are HDF5.
    return "hdf5" if named == "mat" and inside == "hdf5" else named


def kind_inside(head: bytes) -> str | None:
    """Kind that the first 520 bytes of a file give away."""
    begins = (kind for magic, kind in MAGIC.items() if head.startswith(magic))
    return next(begins, "hdf5" if MAGIC.get(head[512:520]) == "hdf5" else None)


def extra(module: str, purpose: str, package: str | None = None, group: str = "io") -> Any:
    """Module of an optional dependency, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        needs = f"{purpose} needs {package or module.partition('.')[0]}"
        msg = f"{needs}, got none installed. Run: pip install 'hne[{group}]'."
        raise MissingExtraError(msg) from error


def reason_of(error: BaseException) -> str:
    """What an error says, in a few words of one line, to stand in a message."""
    if isinstance(error, SystemError):  # the cause is what went wrong while a library of C called back
        error = error.__cause__ or error
    reason = " ".join(str(getattr(error, "strerror", None) or error).split()).rstrip(".")
    return shortened(f"{reason[:1].lower()}{reason[1:]}", MOST_REASON) or type(error).__name__
