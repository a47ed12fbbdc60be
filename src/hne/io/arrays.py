"""Named arrays -> which is the matrix of samples, how it lies, what describes them -> Table; and NPY and NPZ files."""

import difflib
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, load_npz

from hne.exceptions import quoted, shortened
from hne.io.files import TEXT_BYTES, File, ReadOptions
from hne.io.table import Table, as_label, listed, matrix_table, numbered, unit_pixels

# What people call the matrix of samples, the likeliest first.
MATRIX_NAMES = ("x", "data", "features", "fea", "images", "samples", "points", "inputs", "matrix", "arr_0")
# Arrays with at most so many numbers a sample describe samples, if there is a larger one.
MOST_LABELS = 10
# Deflate, the packing of NPZ and MAT files, makes at most so many bytes of one.
DEFLATED = 1032
# Arrays of a sparse matrix that SciPy wrote.
SPARSE = {"data", "indices", "indptr", "format", "shape"}
# The first length that NumPy's indices do not reach.
LARGEST_SIDE = 2**63
# Bytes of a header that are believed: a hundred times what NumPy reads without being told so.
LONGEST_HEADER = 1 << 20


@dataclass(frozen=True)
class Entry:
    """An array of a file, not yet read."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], Any]

    @property
    def kind(self) -> str:
        """Letters of NumPy's kinds: "b", "i", "u", "f", "c", "U" for text, "O" for anything else."""
        is_text = self.dtype.kind == "S" or dict(self.dtype.metadata or {}).get("vlen") is str  # as h5py marks it
        return "U" if is_text else self.dtype.kind if self.dtype.kind in "biufcU" else "O"

    @property
    def is_matrix(self) -> bool:
        """Whether it can hold samples: numbers, neither a vector nor empty."""
        return self.kind in "biuf" and len(self.shape) in (2, 3, 4) and prod(self.shape) > max(self.shape)

    def describes(self, n_samples: int) -> bool:
        """Whether it has one entry, or a few, for each of so many samples."""
        if n_samples < 2 or n_samples not in self.shape or self.kind == "O":
            return False
        return len(self.shape) == 1 or (len(self.shape) == 2 and prod(self.shape) <= MOST_LABELS * n_samples)

    def __str__(self) -> str:
        return f"{shortened(self.name)} ({shortened(' x '.join(map(str, self.shape)))})"


def table_of_arrays(
    file: File, entries: Sequence[Entry], options: ReadOptions, source: str, *, is_matlab: bool = False, copies: int = 1
) -> Table:
    """Read the matrix of samples, and what describes them; `copies` of the table are in memory at once."""
    entry = _choose_entry(file, entries, options)
    others = [other for other in entries if other is not entry]
    axis, notices = _samples_axis(entry, others, options, is_matlab=is_matlab)
    n_samples = entry.shape[axis]
    n_features = prod(entry.shape) // max(n_samples, 1)
    beside = [other for other in others if other.describes(n_samples)]
    # Read as it is, then turned to float64 unless it is that, or float32.
    is_kept = entry.dtype in (np.float32, np.float64) and axis == 0
    size = prod(entry.shape) * (entry.dtype.itemsize + 8 * (not is_kept)) + TEXT_BYTES * n_features
    size += sum(prod(other.shape) * other.dtype.itemsize for other in beside)
    file.check_fits(copies * size, n_samples, n_features)
    values = entry.read()
    _check_matrix(file, replace(entry, dtype=values.dtype))
    X, image_shape, more = _as_samples(file, entry, values, axis)
    scale = None
    if image_shape is not None:
        X, scale, scaling = unit_pixels(X, options.pixel_scale)
        more += scaling
    labels: dict[str, NDArray[Any]] = {}
    for other in beside:
        columns = np.asarray(other.read())
        columns = (columns if columns.shape[0] == n_samples else columns.T).reshape(n_samples, -1).T
        names = (other.name,) if len(columns) == 1 else numbered(len(columns), f"{other.name}_")
        labels |= {name: as_label(column) for name, column in zip(names, columns, strict=True)}
    source = f"{source}, {entry.name}" if len(entries) > 1 or is_matlab else source
    return matrix_table(
        file, X, options, source=source, labels=labels, image_shape=image_shape, pixel_scale=scale,
        is_column_major=is_matlab, notices=(*notices, *more),
    )  # fmt: skip


def _choose_entry(file: File, entries: Sequence[Entry], options: ReadOptions) -> Entry:
    """The array that the user chose, or the one that must be meant."""
    if options.array is not None:
        named = next((entry for entry in entries if entry.name.strip("/") == str(options.array).strip("/")), None)
        if named is None:
            near = difflib.get_close_matches(options.array, [entry.name for entry in entries], n=1)
            remedy = f"Did you mean {quoted(near[0])}?" if near else f"It has {listed(entries, str)}"
            file.refuse("has no such array", f"array='{shortened(options.array)}'", remedy)
        _check_matrix(file, named)
        return named
    matrices = [entry for entry in entries if entry.is_matrix]
    # Without those that hold a few numbers for each sample of a larger one.
    sides = [(prod(entry.shape), {entry.shape[0], entry.shape[-1]}) for entry in matrices]
    matrices = [
        entry
        for entry in matrices
        if len(entry.shape) != 2
        or min(entry.shape) > MOST_LABELS
        or not any(max(entry.shape) in ends for size, ends in sides if size > 2 * prod(entry.shape))
    ] or matrices
    for name in MATRIX_NAMES:
        called = [entry for entry in matrices if entry.name.rpartition("/")[2].lower() == name]
        if len(matrices) > 1 and len(called) == 1:
            matrices = called
    if len(matrices) > 1:
        file.refuse("must hold one matrix of samples", listed(matrices, str), f"Choose one: array='{matrices[0].name}'")
    if not matrices and len(entries) != 1:
        got = listed(entries, str) or "none"
        file.refuse("must hold a matrix of numbers", got, "Save samples as rows, features as columns")
    (entry,) = matrices or entries
    _check_matrix(file, entry)
    return entry


def _check_matrix(file: File, entry: Entry) -> None:
    """Refuse what is no matrix of real numbers."""
    rule, n_dimensions = "must hold a matrix of numbers", len(entry.shape)
    if entry.kind == "c":
        file.refuse(rule, f"{entry} of complex numbers", "Save real and imaginary parts as features")
    if entry.kind not in "biuf":
        file.refuse(rule, f"{entry} of {'text' if entry.kind == 'U' else 'Python objects'}", "Save numbers")
    if n_dimensions not in (2, 3, 4):
        remedy = "Save samples as rows: reshape(n_samples, n_features)"
        file.refuse(rule, f"{entry} of {n_dimensions} dimensions", remedy)
    if prod(entry.shape) == 0:
        file.refuse(rule, f"{entry}, which is empty", "Check how it was written")


def _samples_axis(
    entry: Entry, others: Sequence[Entry], options: ReadOptions, *, is_matlab: bool
) -> tuple[int, tuple[str, ...]]:
    """Where the samples are: rows, unless the user or, in MAT files, another variable says otherwise."""
    last = len(entry.shape) - 1
    n_rows, n_columns = entry.shape[0], entry.shape[-1]
    if options.transpose:
        return last, ()
    if n_rows == n_columns or any(other.describes(n_rows) for other in others):
        return 0, ()
    by_column = [other.name for other in others if other.describes(n_columns)]
    if not is_matlab:
        notice = f"Another array has an entry for each of the {n_columns} columns of {entry}. "
        return 0, (notice + "If its columns are the samples, add transpose=True.",) if by_column else ()
    if last > 1:
        return last, (f"{entry}: samples are counted by its last dimension, as MATLAB stacks images.",)
    if by_column:
        names = " and ".join(by_column)
        return last, (f"{entry}: samples are its columns, because {names} has an entry for each of them.",)
    return 0, (f"{entry}: samples are its {n_rows} rows; if they are its columns, add transpose=True.",)


def _as_samples(
    file: File, entry: Entry, values: Any, axis: int
) -> tuple[Any, tuple[int, ...] | None, tuple[str, ...]]:
    """Samples as rows, the shape of an image where they are images, and what was decided."""
    kind = np.float32 if values.dtype.kind == "f" and values.dtype.itemsize <= 4 else np.float64
    if issparse(values):
        check_indices(file, values)
        return csr_array(values.T if axis else values, dtype=kind), None, ()
    values = np.moveaxis(values, axis, 0)
    if values.ndim == 2:
        return np.ascontiguousarray(values, dtype=kind), None, ()
    notices: tuple[str, ...] = ()
    if values.ndim == 4 and values.shape[1] in (1, 3) and values.shape[3] not in (1, 3):
        values = np.moveaxis(values, 1, 3)
        notices = (f"{entry}: its second dimension is taken for the colors of images.",)
    if values.ndim == 4 and values.shape[3] not in (1, 3):
        file.refuse("must hold images with one or three colors", entry, "Save samples as (n, height, width, 3)")
    shape = values.shape[1:3] if values.ndim == 3 or values.shape[3] == 1 else values.shape[1:]
    flat = np.ascontiguousarray(values.reshape(len(values), -1), dtype=kind)
    return flat, tuple(map(int, shape)), notices


def check_indices(file: File, matrix: Any) -> None:
    """Refuse a sparse matrix whose indices lead out of it: compiled code would follow them to wherever that is."""
    try:
        matrix.check_format(full_check=True)
        # SciPy looks no further where the last end says that there is nothing.
        is_sound = matrix.indptr[0] == 0 and bool((np.diff(matrix.indptr) >= 0).all())
    except (ValueError, IndexError):
        is_sound = False
    if not is_sound:
        file.refuse("must hold a whole sparse matrix", "a damaged one, with indices outside it")


def read_npy(file: File, options: ReadOptions) -> Table:
    """Read an NPY file: an array, or records, whose fields are columns."""
    with file.reading("an NPY file"), file.path.open("rb") as stream:
        shape, dtype = _npy_header(stream, file.path.stat().st_size)
    if dtype.hasobject:
        got = "Python objects (a pickle, which could run anything)"
        file.refuse("must hold numbers", got, "Save numbers: np.save(name, array.astype(float))")

    def read() -> NDArray[Any]:
        with file.reading("an NPY file"):
            return _check_characters(np.array(np.load(file.path, mmap_mode="r")))

    if not dtype.names:
        return table_of_arrays(file, [Entry("array", shape, dtype, read)], options, "NPY")
    plain = [name for name in dtype.names if not dtype[name].shape]
    numbers = [name for name in plain if dtype[name].kind in "iuf"]
    file.check_fits(prod(shape) * (dtype.itemsize + 8 * len(plain)), prod(shape), len(numbers))
    records = read().reshape(-1)
    X = np.empty((len(records), len(numbers)))
    for place, name in enumerate(numbers):
        X[:, place] = records[name]
    labels = {name: as_label(records[name]) for name in plain if name not in numbers}
    stored = {name: records[name] for name in numbers}
    return matrix_table(
        file, X, options, feature_names=tuple(numbers), labels=labels, stored=stored, source="NPY, records"
    )


def _npy_header(stream: BinaryIO, size: int, place: str = "") -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and kind of an array; ValueError where it claims more bytes than there are, before any are made for it."""
    version, wrong = np.lib.format.read_magic(stream), ""
    if version != (1, 0):
        # NumPy takes what a header claims to be long, up to 4 GB, before it looks.
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(-4, 1)
        wrong = f"a header of {length} bytes" if length > LONGEST_HEADER else ""
    if not wrong:
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = reader(stream, max_header_size=LONGEST_HEADER)
        held, expected = size - stream.tell(), prod(shape) * dtype.itemsize
        if held < expected and not dtype.hasobject:
            wrong = f"{held} bytes of numbers{place}, not {expected}"
        for side in shape:
            wrong = wrong if 0 <= side < LARGEST_SIDE else f"a side of {side}"
    if wrong:
        raise ValueError(wrong)
    return shape, dtype


def _check_characters(values: NDArray[Any]) -> NDArray[Any]:
    """The same values; ValueError where characters among them are none: Python would stumble over them later."""
    names = values.dtype.names
    for field in [values] if names is None else [values[name] for name in names]:
        if field.dtype.kind == "U" and field.dtype.itemsize:
            characters = np.ascontiguousarray(field, dtype=field.dtype.newbyteorder("=")).view(np.uint32)
            if (characters > sys.maxunicode).any():
                msg = "characters that are none"
                raise ValueError(msg)
    return values


def read_npz(file: File, options: ReadOptions) -> Table:
    """Read an NPZ file: arrays, or a sparse matrix as SciPy writes it."""
    kind = "an NPZ file"

    def read(member: str) -> NDArray[Any]:
        with file.reading(kind), zipfile.ZipFile(file.path) as archive, archive.open(member) as stream:
            values = np.lib.format.read_array(stream, allow_pickle=False, max_header_size=LONGEST_HEADER)
            return _check_characters(values)

    entries = {}
    with file.reading(kind), zipfile.ZipFile(file.path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name != member.filename:
                # What is said of a member's size is bounded by what it is packed in.
                size = min(member.file_size, DEFLATED * member.compress_size)
                with archive.open(member) as stream:
                    shape, dtype = _npy_header(stream, size, f" in {name}")  # type: ignore[arg-type]
                entries[name] = Entry(name, shape, dtype, partial(read, member.filename))
    if not entries:
        file.refuse(f"must be {kind}", "one without arrays")
    if not entries.keys() >= SPARSE:
        return table_of_arrays(file, list(entries.values()), options, "NPZ")
    with file.reading(kind):
        n_rows, n_columns = (int(side) for side in entries["shape"].read())
        if min(n_rows, n_columns) < 0:
            file.refuse(f"must be {kind}", f"one with a shape of {n_rows} x {n_columns}")
        # Indices, values and both once more; an end for each row or column; names of the features.
        n_samples, n_features = (n_columns, n_rows) if options.transpose else (n_rows, n_columns)
        size = 24 * prod(entries["data"].shape) + 8 * max(n_rows, n_columns) + TEXT_BYTES * n_features
        file.check_fits(size, n_samples, n_features)
        matrix = load_npz(file.path)
    if matrix.dtype.kind not in "biuf":
        file.refuse("must be an NPZ file of numbers", f"a sparse matrix of {matrix.dtype}")
    check_indices(file, matrix)
    with np.errstate(invalid="ignore", over="ignore"):
        matrix = csr_array(matrix.T if options.transpose else matrix, dtype=np.float64)
    return matrix_table(file, matrix, options, source="NPZ, sparse")
