"""Path or standard input -> a file that can be opened, and its kind; what messages say of it."""

import difflib
import importlib
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from hne._runtime.files import expanded
from hne._runtime.memory import available_bytes, gigabytes
from hne._runtime.progress import one_line
from hne.exceptions import InputError, MissingExtraError, TooLargeError, shortened

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
# First bytes of what can be read, at their place.
MAGIC = (
    (0, b"\x93NUMPY", "npy"),
    (0, b"PK\x03\x04", "npz"),
    (0, b"PAR1", "parquet"),
    (0, b"ARROW1", "arrow"),
    (0, b"FEA1", "arrow"),
    (0, b"\xff\xff\xff\xff", "arrow"),
    (0, b"\x89HDF\r\n\x1a\n", "hdf5"),
    (512, b"\x89HDF\r\n\x1a\n", "hdf5"),
    (0, b"MATLAB 5.0 MAT-file", "mat"),
)
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
# Characters of what a library says: its own words, and what it quotes.
MOST_REASON = 300


@dataclass(frozen=True)
class File:
    """A file that is there, and what messages call it."""

    path: Path
    title: str  # "'points.csv'", or "standard input"

    def refuse(self, rule: str, got: object, remedy: str, parameter: str | None = None) -> NoReturn:
        """Raise an error about this file, or an option of reading it: what must be, what is there, and what to do."""
        end = "" if remedy.endswith("?") else "."
        msg = one_line(f"{self.title} {rule}, got {got}. {remedy}{end}")
        raise InputError(msg, parameter=parameter or self.title, rule=rule, value=got, remedy=remedy)


@contextmanager
def locate(source: Path | str, stream: BinaryIO | None = None) -> Iterator[File]:
    """Give the file; what comes through a pipe is kept in a temporary one, since kinds of files are told by seeking."""
    if str(source) == STANDARD_INPUT:
        with _copy(stream or sys.stdin.buffer) as copy:
            yield File(copy, "standard input")
        return
    path = expanded(source)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            yield File(path, f"'{path}'")
            return
        with path.open("rb") as opened:
            if stat.S_ISREG(mode):
                yield File(path, f"'{path}'")
                return
            with _copy(opened) as copy:
                yield File(copy, f"'{path}'")
    except OSError as error:
        reason, remedy = (error.strerror or str(error)).lower(), "Check the path and the disk."
        if isinstance(error, FileNotFoundError):
            reason, remedy = "no such file", _similar(path)
        elif isinstance(error, PermissionError):
            remedy = "Ask its owner, or copy it to a place of yours."
        msg = f"cannot read '{path}': {reason}. {remedy}"
        raise InputError(msg) from error


@contextmanager
def _copy(stream: BinaryIO) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hne-") as folder:
        path = Path(folder) / "input"
        with path.open("wb") as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
        yield path


def _similar(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"There is no folder '{folder}' either: check the path."
    near = difflib.get_close_matches(path.name, sorted(entry.name for entry in folder.iterdir()), n=1)
    return f"Did you mean '{folder / near[0]}'?" if near else "Check the path."


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
    return next((kind for place, magic, kind in MAGIC if head[place:].startswith(magic)), None)


def extra(module: str, purpose: str, package: str | None = None, group: str = "io") -> Any:
    """Module of an optional dependency, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        needs = f"{purpose} needs {package or module.partition('.')[0]}"
        msg = f"{needs}, got none installed. Run: pip install 'hne[{group}]'."
        raise MissingExtraError(msg) from error


def check_fits(file: File, size: int, n_samples: int, n_features: int, about: str = "") -> None:
    """Raise where reading a table of that shape would take more bytes than there are."""
    available = available_bytes()
    if size > available:
        msg = (
            f"{file.title} needs {gigabytes(size)} to be read ({about}{n_samples} samples of {n_features} features), "
            f"got {gigabytes(available)} of free memory. Choose fewer columns, or write a part of its rows to a file "
            "of their own."
        )
        raise TooLargeError(msg)


def reason_of(error: BaseException) -> str:
    """What an error says, in a few words of one line, to stand in a message."""
    reason = " ".join(str(getattr(error, "strerror", None) or error).split()).rstrip(".")
    return shortened(f"{reason[:1].lower()}{reason[1:]}", MOST_REASON) or type(error).__name__
