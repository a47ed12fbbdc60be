"""NPY and NPZ files -> Table."""

import sys
import tokenize
import zipfile
import zlib
from functools import partial
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from hne.io.arrays import Entry, check_indices, outline_arrays, table_of_arrays
from hne.io.finish import NAME_BYTES, finished, n_features_foreseen
from hne.io.labels import as_label
from hne.io.mat_values import reason_of
from hne.io.record import Outline, ReadOptions, Table
from hne.io.sources import DEFLATED, File

# Arrays of a sparse matrix that SciPy wrote.
SPARSE = {"data", "indices", "indptr", "format", "shape"}
# The first length that NumPy's indices do not reach.
LARGEST_SIDE = 2**63
# Bytes of a header that are believed: a hundred times what NumPy reads without being told so.
LONGEST_HEADER = 1 << 20
DAMAGED = (
    ValueError, TypeError, SyntaxError, LookupError, OSError, EOFError, AttributeError, OverflowError, RuntimeError,
    zipfile.BadZipFile, zlib.error, tokenize.TokenError,
)  # fmt: skip


def read_npy(file: File, choices: ReadOptions) -> Table:
    """Read an NPY file."""
    entry, kind = _npy_entry(file)
    if kind.names:
        return _records(file, entry.read(), choices)
    return table_of_arrays(file, [entry], choices, "NPY")


def outline_npy(file: File, choices: ReadOptions) -> Outline:
    """Foresee an NPY file from its header."""
    entry, kind = _npy_entry(file)
    if kind.names:
        n_rows = prod(entry.shape)
        size = n_rows * (entry.size + 8 * len(kind.names))
        numbers, others = _fields(kind)
        n_features = n_features_foreseen(file, numbers, others, choices, keeps_numbers=True)
        return Outline(n_samples=n_rows, n_features=n_features, is_exact=True, bytes=size, source="NPY, records")
    return outline_arrays(file, [entry], choices, "NPY", is_matlab=False)


def _npy_entry(file: File) -> tuple[Entry, np.dtype[Any]]:
    """The array, and its kind, which has names where it is one of records."""
    try:
        with file.path.open("rb") as stream:
            shape, kind = _header(stream)
            held = file.path.stat().st_size - stream.tell()
    except DAMAGED as error:
        raise _damaged(file, "an NPY file", reason_of(error)) from error
    _check_kind(file, kind)
    _check_held(file, "an NPY file", held, shape, kind)
    return _entry("array", shape, kind, partial(_loaded, file)), kind


def _loaded(file: File) -> NDArray[Any]:
    try:
        values = np.array(np.load(file.path, mmap_mode="r"))
    except DAMAGED as error:
        raise _damaged(file, "an NPY file", reason_of(error)) from error
    return _checked_text(file, values)


def _header(stream: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        # NumPy takes what a header claims to be long, up to 4 GB, before it looks.
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(-4, 1)
        if length > LONGEST_HEADER:
            msg = f"a header of {length} bytes"
            raise ValueError(msg)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = reader(stream, max_header_size=LONGEST_HEADER)
    wrong = [side for side in shape if not 0 <= side < LARGEST_SIDE]
    if wrong:
        msg = f"a side of {wrong[0]}"
        raise ValueError(msg)
    return shape, kind


def _check_held(file: File, what: str, held: int, shape: tuple[int, ...], kind: np.dtype[Any], place: str = "") -> None:
    """Refuse an array that claims more bytes than there are: nothing has been made for it yet."""
    expected = prod(shape) * kind.itemsize
    if held < expected:
        raise _damaged(file, what, f"{held} bytes of numbers{place}, not {expected}")


def _entry(name: str, shape: tuple[int, ...], kind: np.dtype[Any], read: Any) -> Entry:
    letter = "U" if kind.kind in "US" else kind.kind
    return Entry(name=name, shape=shape, kind=letter if letter in "biufcU" else "O", read=read, size=kind.itemsize)


def _check_kind(file: File, kind: np.dtype[Any]) -> None:
    if kind.hasobject:
        msg = "must hold numbers, got Python objects (a pickle, which could run anything). "
        raise file.error(msg + "Save numbers: np.save(name, array.astype(float)).")


def _checked_text(file: File, values: NDArray[Any]) -> NDArray[Any]:
    """The same values, or an error where characters among them are none: Python would stumble over them later."""
    names = values.dtype.names
    for field in [values] if names is None else [values[name] for name in names]:
        if field.dtype.kind == "U" and field.dtype.itemsize:
            characters = np.ascontiguousarray(field, dtype=field.dtype.newbyteorder("=")).view(np.uint32)
            if (characters > sys.maxunicode).any():
                raise _damaged(file, "an array of text", "characters that are none")
    return values


def _damaged(file: File, kind: str, reason: str) -> Exception:
    return file.error(f"must be {kind}, got a damaged one or another kind ({reason}). Write or copy it again.")


def _fields(kind: np.dtype[Any]) -> tuple[list[str], list[str]]:
    """Names of the fields of records that are numbers, and of others; arrays in fields are neither."""
    plain = [name for name in kind.names or () if not kind[name].shape]
    numbers = [name for name in plain if kind[name].kind in "iuf"]
    return numbers, [name for name in plain if name not in numbers]


def _records(file: File, records: NDArray[Any], choices: ReadOptions) -> Table:
    """Fields of records as columns: numbers are features, anything else labels."""
    records = records.reshape(-1)
    numbers, others = _fields(records.dtype)
    labels = {name: as_label(records[name]) for name in others}
    X = np.empty((len(records), len(numbers)))
    for place, name in enumerate(numbers):
        X[:, place] = records[name]
    stored = {name: records[name] for name in numbers}
    return finished(file, X, choices, feature_names=tuple(numbers), labels=labels, stored=stored, source="NPY, records")


def read_npz(file: File, choices: ReadOptions) -> Table:
    """Read an NPZ file: arrays, or a sparse matrix as SciPy writes it."""
    entries = _npz_entries(file)
    if {entry.name for entry in entries} >= SPARSE:
        try:
            matrix = load_npz(file.path)
        except DAMAGED as error:
            raise _damaged(file, "an NPZ file", reason_of(error)) from error
        if matrix.dtype.kind not in "biuf":
            raise _damaged(file, "an NPZ file of numbers", f"a sparse matrix of {matrix.dtype}")
        check_indices(file, matrix)
        with np.errstate(invalid="ignore", over="ignore"):
            matrix = csr_array(matrix.T if choices.transpose else matrix, dtype=np.float64)
        return finished(file, matrix, choices, source="NPZ, sparse")
    return table_of_arrays(file, entries, choices, "NPZ")


def outline_npz(file: File, choices: ReadOptions) -> Outline:
    """Foresee an NPZ file from the headers of its arrays."""
    entries = _npz_entries(file)
    known = {entry.name: entry for entry in entries}
    if known.keys() >= SPARSE:
        n_samples, n_features = _sparse_shape(file, known["shape"], transpose=choices.transpose)
        # Indices, values and both once more; an end for each row or column; names of the features.
        size = 24 * prod(known["data"].shape) + 8 * max(n_samples, n_features) + NAME_BYTES * n_features
        n_features = n_features_foreseen(file, n_features, (), choices)
        return Outline(n_samples=n_samples, n_features=n_features, is_exact=True, bytes=size, source="NPZ, sparse")
    return outline_arrays(file, entries, choices, "NPZ", is_matlab=False)


def _sparse_shape(file: File, entry: Entry, *, transpose: bool) -> tuple[int, int]:
    try:
        n_rows, n_columns = (int(side) for side in entry.read())
    except DAMAGED as error:
        raise _damaged(file, "an NPZ file", f"no shape of a matrix: {reason_of(error)}") from error
    if min(n_rows, n_columns) < 0:
        raise _damaged(file, "an NPZ file", f"a shape of {n_rows} x {n_columns}")
    return (n_columns, n_rows) if transpose else (n_rows, n_columns)


def _npz_entries(file: File) -> list[Entry]:
    entries = []
    try:
        with zipfile.ZipFile(file.path) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if name != member.filename:
                    with archive.open(member) as stream:
                        shape, kind = _header(stream)  # type: ignore[arg-type]
                        # What is said of a member's size is bounded by what it is packed in.
                        held = min(member.file_size, DEFLATED * member.compress_size) - stream.tell()
                    _check_held(file, "an NPZ file", held, shape, kind, f" in {name}")
                    entries.append(_entry(name, shape, kind, _reader(file, member.filename)))
    except DAMAGED as error:
        raise _damaged(file, "an NPZ file", reason_of(error)) from error
    if not entries:
        raise _damaged(file, "an NPZ file", "no arrays in it")
    return entries


def _reader(file: File, member: str) -> Any:
    def read() -> NDArray[Any]:
        try:
            with zipfile.ZipFile(file.path) as archive, archive.open(member) as stream:
                values: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False, max_header_size=1 << 20)
        except DAMAGED as error:
            raise _damaged(file, "an NPZ file", reason_of(error)) from error
        return _checked_text(file, values)

    return read
