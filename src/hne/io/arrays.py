"""Named arrays of a file -> which is the matrix of samples, how it lies, and which describe the samples -> Table."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from hne.exceptions import quoted, shortened
from hne.io.finish import NAME_BYTES, finished, n_features_foreseen, unit_pixels
from hne.io.labels import as_label
from hne.io.names import LISTED, numbered
from hne.io.record import Outline, ReadOptions, Table
from hne.io.sources import File

# What people call the matrix of samples, the likeliest first.
MATRIX_NAMES = ("x", "data", "features", "fea", "images", "samples", "points", "inputs", "matrix", "arr_0")
# Arrays with at most so many numbers a sample describe samples, if there is a larger one.
MOST_LABELS = 10


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An array of a file, not yet read."""

    name: str
    shape: tuple[int, ...]
    kind: str  # letters of NumPy's kinds: "b", "i", "u", "f", "c", "U" for text, "O" for anything else
    read: Callable[[], Any]
    size: int = 8  # bytes of a number

    @property
    def is_matrix(self) -> bool:
        """Whether it can hold samples: numbers, neither a vector nor empty."""
        return self.kind in "biuf" and len(self.shape) in (2, 3, 4) and prod(self.shape) > max(self.shape)

    @property
    def words(self) -> str:
        """Name and shape, for messages."""
        return f"{shortened(self.name)} ({shortened(' x '.join(map(str, self.shape)))})"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where the samples of an array are."""

    entry: Entry
    axis: int  # along which samples are counted: 0, or the last
    notices: tuple[str, ...] = ()

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.entry.shape[self.axis]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return prod(self.entry.shape) // max(self.n_samples, 1)


def chosen_entry(file: File, entries: Sequence[Entry], choices: ReadOptions) -> Entry:
    """The array that the user chose, or the one that must be meant."""
    if choices.array is not None:
        return _named(file, entries, choices.array)
    matrices = [entry for entry in entries if entry.is_matrix]
    if len(matrices) > 1:
        matrices = [entry for entry in matrices if not _describes(entry, matrices)] or matrices
    for name in MATRIX_NAMES:
        called = [entry for entry in matrices if entry.name.rpartition("/")[2].lower() == name]
        if len(matrices) > 1 and len(called) == 1:
            matrices = called
    if len(matrices) == 1:
        return matrices[0]
    if len(entries) == 1:
        _check_matrix(file, entries[0])
        return entries[0]
    held = _in_words(matrices or entries) or "none"
    if not matrices:
        msg = f"must hold a matrix of numbers, got {held}. Save samples as rows, features as columns."
        raise file.error(msg)
    msg = f"must hold one matrix of samples, got {held}. Choose one: --array {matrices[0].name}."
    raise file.error(msg)


def _named(file: File, entries: Sequence[Entry], name: str) -> Entry:
    found = next((entry for entry in entries if entry.name.strip("/") == name.strip("/")), None)
    if found is None:
        near = difflib.get_close_matches(name, [entry.name for entry in entries], n=1)
        msg = f"has no such array, got --array {shortened(name)}. "
        raise file.error(msg + (f"Did you mean {quoted(near[0])}?" if near else f"It has {_in_words(entries)}."))
    _check_matrix(file, found)
    return found


def _in_words(entries: Sequence[Entry]) -> str:
    more = ", ..." if len(entries) > LISTED else ""
    return ", ".join(entry.words for entry in entries[:LISTED]) + more


def _check_matrix(file: File, entry: Entry) -> None:
    """Refuse what is no matrix of real numbers."""
    named = f"must hold a matrix of numbers, got {entry.words}"
    if entry.kind == "c":
        msg = f"{named} of complex numbers. Save real and imaginary parts as features."
    elif entry.kind not in "biuf":
        msg = f"{named} of {'text' if entry.kind == 'U' else 'Python objects'}. Save numbers."
    elif len(entry.shape) not in (2, 3, 4):
        msg = f"{named} of {len(entry.shape)} dimensions. Save samples as rows: reshape(n_samples, n_features)."
    elif prod(entry.shape) == 0:
        msg = f"{named}, which is empty. Check how it was written."
    else:
        return
    raise file.error(msg)


def _describes(entry: Entry, matrices: Sequence[Entry]) -> bool:
    """Whether this holds a few numbers for each sample of a larger array."""
    if len(entry.shape) != 2 or min(entry.shape) > MOST_LABELS:
        return False
    larger = (other for other in matrices if prod(other.shape) > 2 * prod(entry.shape))
    return any(max(entry.shape) in (other.shape[0], other.shape[-1]) for other in larger)


def laid_out(entry: Entry, others: Sequence[Entry], choices: ReadOptions, *, is_matlab: bool) -> Layout:
    """Where the samples are: rows, unless the user or, in MAT files, another variable says otherwise."""
    last = len(entry.shape) - 1
    if choices.transpose:
        return Layout(entry=entry, axis=last)
    by_row = any(_length_for(other, entry.shape[0]) for other in others)
    by_column = any(_length_for(other, entry.shape[-1]) for other in others)
    if by_row or entry.shape[0] == entry.shape[-1]:
        return Layout(entry=entry, axis=0)
    if not is_matlab:
        word = "If its columns are the samples, add --transpose."
        notice = f"Another array has an entry for each of the {entry.shape[-1]} columns of {entry.words}. {word}"
        return Layout(entry=entry, axis=0, notices=(notice,) if by_column else ())
    if last > 1:
        notice = f"{entry.words}: samples are counted by its last dimension, as MATLAB stacks images."
        return Layout(entry=entry, axis=last, notices=(notice,))
    if by_column:
        names = " and ".join(other.name for other in others if _length_for(other, entry.shape[-1]))
        notice = f"{entry.words}: samples are its columns, because {names} has an entry for each of them."
        return Layout(entry=entry, axis=last, notices=(notice,))
    notice = f"{entry.words}: samples are its {entry.shape[0]} rows; if they are its columns, add --transpose."
    return Layout(entry=entry, axis=0, notices=(notice,))


def _length_for(other: Entry, n_samples: int) -> bool:
    """Whether an array has one entry, or a few, for each of so many samples."""
    if n_samples < 2 or n_samples not in other.shape or other.kind == "O":
        return False
    return len(other.shape) == 1 or (len(other.shape) == 2 and prod(other.shape) <= MOST_LABELS * n_samples)


def outline_arrays(
    file: File, entries: Sequence[Entry], choices: ReadOptions, source: str, *, is_matlab: bool
) -> Outline:
    """Foresee the table from the shapes of the arrays."""
    entry = chosen_entry(file, entries, choices)
    others = [other for other in entries if other is not entry]
    layout = laid_out(entry, others, choices, is_matlab=is_matlab)
    labels = [name for other in others for name in _label_names(other, layout.n_samples)]
    n_features = n_features_foreseen(file, layout.n_features, labels, choices)
    # Read as it is, then turned to float64 unless it is that, or float32.
    count = prod(entry.shape)
    is_float = entry.kind == "f" and entry.size in (4, 8)
    size = count * entry.size if is_float and layout.axis == 0 else count * (entry.size + 8)
    size += NAME_BYTES * layout.n_features
    size += sum(prod(other.shape) * other.size for other in others if _length_for(other, layout.n_samples))
    return Outline(n_samples=layout.n_samples, n_features=n_features, is_exact=True, bytes=size, source=source)


def table_of_arrays(
    file: File, entries: Sequence[Entry], choices: ReadOptions, source: str, *, is_matlab: bool = False
) -> Table:
    """Read the matrix of samples, and what describes them."""
    entry = chosen_entry(file, entries, choices)
    others = [other for other in entries if other is not entry]
    layout = laid_out(entry, others, choices, is_matlab=is_matlab)
    values = entry.read()
    _check_values(file, entry, values)
    X, image_shape, notices = as_samples(file, entry, values, layout.axis)
    scale = None
    if image_shape is not None:
        X, scale, scaled = unit_pixels(X, choices.pixel_scale)
        notices += scaled
    labels: dict[str, NDArray[Any]] = {}
    for other in others:
        labels |= _labels(other, layout.n_samples)
    named = len(entries) > 1 or is_matlab
    return finished(
        file,
        X,
        choices,
        source=f"{source}, {entry.name}" if named else source,
        labels=labels,
        image_shape=image_shape,
        pixel_scale=scale,
        is_column_major=is_matlab,
        notices=(*layout.notices, *notices),
    )


def _check_values(file: File, entry: Entry, values: Any) -> None:
    if values.dtype.kind not in "biuf":
        _check_matrix(file, Entry(name=entry.name, shape=entry.shape, kind=values.dtype.kind, read=entry.read))


def check_indices(file: File, matrix: Any) -> None:
    """Refuse a sparse matrix whose indices lead out of it: compiled code would follow them to wherever that is."""
    try:
        matrix.check_format(full_check=True)
        # SciPy looks no further where the last end says that there is nothing.
        is_sound = matrix.indptr[0] == 0 and bool((np.diff(matrix.indptr) >= 0).all())
    except (ValueError, IndexError):
        is_sound = False
    if not is_sound:
        msg = "must hold a whole sparse matrix, got a damaged one, with indices outside it. Write or copy it again."
        raise file.error(msg)


def as_samples(file: File, entry: Entry, values: Any, axis: int) -> tuple[Any, tuple[int, ...] | None, tuple[str, ...]]:
    """Samples as rows, the shape of an image where they are images, and what was decided."""
    if issparse(values):
        check_indices(file, values)
        values = values.T if axis else values
        return csr_array(values, dtype=_float_kind(values.dtype)), None, ()
    values = np.moveaxis(values, axis, 0)
    if values.ndim == 2:
        return np.ascontiguousarray(values, dtype=_float_kind(values.dtype)), None, ()
    notices: tuple[str, ...] = ()
    if values.ndim == 4 and values.shape[1] in (1, 3) and values.shape[3] not in (1, 3):
        values = np.moveaxis(values, 1, 3)
        notices = (f"{entry.words}: its second dimension is taken for the colors of images.",)
    if values.ndim == 4 and values.shape[3] not in (1, 3):
        msg = f"must hold images with one or three colors, got {entry.words}. Save samples as (n, height, width, 3)."
        raise file.error(msg)
    shape = values.shape[1:3] if values.ndim == 3 or values.shape[3] == 1 else values.shape[1:]
    flat = np.ascontiguousarray(values.reshape(len(values), -1), dtype=_float_kind(values.dtype))
    return flat, tuple(map(int, shape)), notices


def _float_kind(kind: np.dtype[Any]) -> type[np.floating[Any]]:
    return np.float32 if kind.kind == "f" and kind.itemsize <= 4 else np.float64


def _label_names(entry: Entry, n_samples: int) -> tuple[str, ...]:
    """Names of these columns: that of the array, with numbers where it has several."""
    if not _length_for(entry, n_samples):
        return ()
    count = prod(entry.shape) // n_samples
    return (entry.name,) if count == 1 else numbered(count, f"{entry.name}_")


def _labels(entry: Entry, n_samples: int) -> dict[str, NDArray[Any]]:
    """Columns of an array that has one entry, or a few, for each sample; none of others."""
    names = _label_names(entry, n_samples)
    if not names:
        return {}
    values = np.asarray(entry.read())
    values = values if values.shape[0] == n_samples else values.T
    return {name: as_label(column) for name, column in zip(names, values.reshape(n_samples, -1).T, strict=True)}
