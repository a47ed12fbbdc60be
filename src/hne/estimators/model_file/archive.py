"""Header and arrays -> one file, and back: a zip of .npy members, uncompressed, each under a checksum.

NumPy's own reader evaluates the description of an array as Python and takes its word for the size. This one matches
the one form that NumPy writes, and compares it with the bytes that are there.
"""

import json
import math
import re
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hne._runtime.files import atomic_write
from hne.core.records import SparseMatrix
from hne.exceptions import ModelFileError

FORMAT, VERSION = "hne-model", 1
HEADER = "header"
SUFFIX = ".npy"
NPY_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(..)"
    rb"\{'descr': '([<|][biuf][1248])', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,200})\), \} *\n",
    re.DOTALL,
)
CHUNK_BYTES = 2**24
# Beyond two gigabytes a member needs the long form of zip's headers, which has to be known before it is written.
LONG_BYTES = 2**30
REMEDY = "Save the model again, or fetch a fresh copy of the file"
# What zipfile and struct raise where bytes are not what they expect; an OSError is a seek to nowhere.
DAMAGE = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, OverflowError, LookupError, struct.error)


@dataclass(frozen=True)
class Archive:
    """What a file holds; every question about it has an answer of the kind asked for, or is a `ModelFileError`."""

    path: Path
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    def refuse(self, reason: str, remedy: str = REMEDY) -> NoReturn:
        """Raise the error that says what is wrong with the file."""
        _refuse(self.path, reason, remedy)

    def entry(self, key: str, *kinds: type) -> Any:
        """What the header says under that key, of one of these kinds."""
        if key not in self.header:
            self.refuse(f"its header lacks '{key}'")
        value = self.header[key]
        # In Python True is a kind of integer.
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            words = " or ".join(kind.__name__ for kind in kinds)
            self.refuse(f"'{key}' in its header must be {words}, got {type(value).__name__}")
        return value

    def array(self, name: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """The array of that name, of one of the kinds ("f8 f4") and of that shape; None stands for any length."""
        if name not in self.arrays:
            self.refuse(f"array '{name}' is missing")
        found = self.arrays[name]
        if found.dtype.str[1:] not in kinds.split():
            self.refuse(f"array '{name}' must be of kind {' or '.join(kinds.split())}, got {found.dtype.str}")
        fits = found.ndim == len(shape) and all(
            want in {None, got} for want, got in zip(shape, found.shape, strict=True)
        )
        if not fits:
            wanted = tuple("any" if length is None else length for length in shape)
            self.refuse(f"array '{name}' must have shape {wanted}, got {found.shape}")
        return found

    def finite(self, name: str, shape: tuple[int | None, ...], largest: float = np.inf) -> NDArray[Any]:
        """The array of float64 of that name and shape, all of its numbers finite, and none beyond the largest."""
        found = self.array(name, "f8", shape)
        if not np.isfinite(found).all():
            self.refuse(f"array '{name}' must be finite, got inf or NaN")
        self.check_size(name, found, largest)
        return found

    def check_size(self, name: str, found: NDArray[Any], largest: float) -> None:
        """Refuse an array with a number, NaN aside, that is beyond the largest."""
        too_large = np.abs(found) > largest
        if too_large.any():
            self.refuse(f"array '{name}' must hold numbers up to {largest:.0e}, got {found[too_large][0]:.0e}")

    def known(self, name: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """The array of float64 of that name and shape: numbers of zero and more, NaN where nobody knows."""
        found = self.array(name, "f8", shape)
        if (found < 0).any():
            self.refuse(f"array '{name}' must hold numbers of zero and more, got {found[found < 0][0]}")
        return found

    def indices(self, name: str, shape: tuple[int | None, ...], smallest: int, end: int) -> NDArray[np.intp]:
        """The array of int64 of that name and shape, its numbers from `smallest` to below `end`."""
        found = self.array(name, "i8", shape)
        self._check_range(name, found, smallest, end)
        return found.astype(np.intp, copy=False)

    def csr(self, name: str, shape: tuple[int, int], kinds: str = "f8") -> SparseMatrix:
        """The CSR array of that name and shape; nothing in it points outside."""
        ends = self.array(f"{name}.indptr", "i4 i8", (shape[0] + 1,))
        data = self.array(f"{name}.data", kinds, (None,))
        columns = self.array(f"{name}.indices", ends.dtype.str[1:], data.shape)
        if ends[0] != 0 or ends[-1] != len(data) or (ends[1:] < ends[:-1]).any():
            self.refuse(f"array '{name}.indptr' must ascend from 0 to {len(data)}")
        self._check_range(f"{name}.indices", columns, 0, shape[1])
        matrix = csr_array(shape, dtype=data.dtype)
        # SciPy's constructor would choose a kind of index of its own.
        matrix.data, matrix.indices, matrix.indptr = data, columns, ends
        return matrix

    def _check_range(self, name: str, found: NDArray[Any], smallest: int, end: int) -> None:
        if found.size and (found.min() < smallest or found.max() >= end):
            worst = found.min() if found.min() < smallest else found.max()
            self.refuse(f"array '{name}' must hold numbers from {smallest} to {end - 1}, got {worst}")


def _refuse(path: Path, reason: str, remedy: str = REMEDY) -> NoReturn:
    msg = f"cannot read '{path}': {reason}. {remedy}."
    raise ModelFileError(msg)


def write_archive(path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write the file, whole or not at all; the same model gives the same bytes."""
    small_end = {name: np.asarray(one, dtype=one.dtype.newbyteorder("<")) for name, one in arrays.items()}
    header = {"format": FORMAT, "version": VERSION, **header, "arrays": _described(small_end)}
    text = json.dumps(header, allow_nan=False).encode()
    members = {HEADER: np.frombuffer(text, dtype=np.uint8), **small_end}
    with atomic_write(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            # A ZipInfo made like this is of 1980: no clock in the file.
            is_long = array.nbytes > LONG_BYTES
            with archive.open(zipfile.ZipInfo(name + SUFFIX), "w", force_zip64=is_long) as stream:
                np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)


def _described(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Kind and shape of each array, as the header lists them."""
    return {name: [one.dtype.newbyteorder("<").str, list(one.shape)] for name, one in arrays.items()}


def read_archive(path: Path) -> Archive:
    """Read a file of this format, version and wholeness."""
    _check_is_archive(path)
    try:
        with zipfile.ZipFile(path) as file:
            members = _members(path, file)
            header = _read_header(path, file, members[HEADER])
            arrays = {name: _read_array(path, file, name, info) for name, info in members.items() if name != HEADER}
    except ModelFileError:
        raise
    except DAMAGE as error:
        _refuse(path, f"it is damaged ({str(error).rstrip('.') or type(error).__name__})")
    archive = Archive(path, header, arrays)
    listed = archive.entry("arrays", dict)
    for name in sorted(listed.keys() ^ arrays.keys()):
        archive.refuse(f"array '{name}' is missing" if name in listed else f"array '{name:.60}' is not in its header")
    if listed != _described(arrays):
        archive.refuse("its arrays are not those that its header lists")
    return archive


def _check_is_archive(path: Path) -> None:
    """Raise where there is no file, or none that could be a zip."""
    if path.is_dir():
        _refuse(path, "it is a directory", "Pass the file that save, or hne embed --save, wrote")
    try:
        with path.open("rb") as file:
            begins_as_zip = file.read(4) == b"PK\x03\x04"
            is_zip = zipfile.is_zipfile(file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        _refuse(path, reason, "Check the path, and whether you may read it")
    if not is_zip:
        if begins_as_zip:
            _refuse(path, "it is cut short")
        _refuse(path, "it is not a saved model", "Pass the file that save, or hne embed --save, wrote")


def _members(path: Path, file: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The members by name; together they are no larger than the file."""
    infos = file.infolist()
    members = {info.filename.removesuffix(SUFFIX): info for info in infos}
    if HEADER not in members:
        _refuse(
            path,
            "it is not a saved model (a zip without a header)",
            "Pass the file that save, or hne embed --save, wrote",
        )
    if len(members) < len(infos) or any(not info.filename.endswith(SUFFIX) for info in infos):
        _refuse(path, "it holds members that no model has")
    if sum(info.compress_size for info in infos) > path.stat().st_size:
        _refuse(path, "its members claim more bytes than the file has")
    return members


def _read_header(path: Path, file: zipfile.ZipFile, info: zipfile.ZipInfo) -> dict[str, Any]:
    """The header of a file of this format and of a version that is known."""
    text = _read_array(path, file, HEADER, info).tobytes()
    try:
        header = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        _refuse(
            path,
            f"it is not a saved model (no header of '{FORMAT}')",
            "Pass the file that save, or hne embed --save, wrote",
        )
    version = Archive(path, header, {}).entry("version", int)
    if version > VERSION:
        later = f"it was written by a later hne (format {version}, this one reads up to {VERSION})"
        _refuse(path, later, "Update hne")
    if version < 1:
        _refuse(path, f"'version' in its header must be at least 1, got {version}")
    return header


def _refuse_constant(text: str) -> None:
    msg = f"{text} is no JSON"
    raise ValueError(msg)


def _read_array(path: Path, file: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Read a member whole, which compares its checksum, and only then look at what it is."""
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        _refuse(path, f"array '{name}' must not be compressed")
    content, filled = np.empty(info.file_size, dtype=np.uint8), 0
    with file.open(info) as stream:
        while part := stream.read(CHUNK_BYTES):
            content[filled : filled + len(part)] = np.frombuffer(part, dtype=np.uint8)
            filled += len(part)
    head = NPY_HEADER.match(content[:1024].tobytes())
    if filled < len(content) or head is None or len(head[0]) != 10 + int.from_bytes(head[1], "little"):
        _refuse(path, f"array '{name}' is not one of numbers as NumPy writes it")
    kind = np.dtype(head[2].decode())
    shape = tuple(int(length) for length in head[4].split(b",") if length.strip())
    if math.prod(shape) * kind.itemsize != len(content) - head.end():
        _refuse(path, f"array '{name}' claims shape {shape}, which its {len(content)} bytes do not hold")
    array = content[head.end() :].view(kind).reshape(shape, order="F" if head[3] == b"True" else "C")
    return np.require(array, dtype=kind.newbyteorder("="), requirements="A")
