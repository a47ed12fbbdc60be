"""MAT files of version 7 and older -> arrays by name."""

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hne.io.arrays import Entry, outline_arrays, table_of_arrays
from hne.io.mat_values import named_values, reason_of
from hne.io.record import Outline, ReadOptions, Table
from hne.io.sources import DEFLATED, File

# MATLAB's classes of plain numbers: their kind and the bytes of one.
NUMBERS = {
    "double": ("f", 8), "single": ("f", 4), "logical": ("b", 1),
    "int8": ("i", 1), "int16": ("i", 2), "int32": ("i", 4), "int64": ("i", 8),
    "uint8": ("u", 1), "uint16": ("u", 2), "uint32": ("u", 4), "uint64": ("u", 8),
}  # fmt: skip


def read_mat(file: File, choices: ReadOptions) -> Table:
    """Read a MAT file."""
    return table_of_arrays(file, _entries(file), choices, "MAT", is_matlab=True)


def outline_mat(file: File, choices: ReadOptions) -> Outline:
    """Foresee a MAT file from the shapes of its variables."""
    return outline_arrays(file, _entries(file), choices, "MAT", is_matlab=True)


def _entries(file: File) -> list[Entry]:
    """Arrays of numbers, which wait to be read, and what structs, cells and text hold, which has been."""
    from scipy.io import whosmat

    try:
        variables = whosmat(file.path)
    except NotImplementedError as error:
        msg = "must be a whole MAT file, got one of version 7.3 that is damaged. Write or copy it again."
        raise file.error(msg) from error
    except Exception as error:  # SciPy's reader of damaged files raises whatever comes
        raise _unreadable(file, error) from error
    entries = []
    others = []
    # A number takes a byte or more, whatever its class: small ones are stored as small integers.
    most = DEFLATED * file.path.stat().st_size
    for name, shape, kind in variables:
        if kind in NUMBERS:
            if not 0 <= prod(shape) <= most:
                raise _unreadable(file, ValueError(f"{name} claims {' x '.join(map(str, shape))} numbers"))
            letter, size = NUMBERS[kind]
            entries.append(Entry(name=name, shape=tuple(shape), kind=letter, size=size, read=_reader(file, name)))
        else:
            others.append(name)
    return entries + (list(_loaded(file, others)) if others else [])


def _content(file: File, names: list[str]) -> dict[str, Any]:
    from scipy.io import loadmat

    try:
        content: dict[str, Any] = loadmat(file.path, variable_names=names)
    except Exception as error:  # as above
        raise _unreadable(file, error) from error
    return content


def _unreadable(file: File, error: BaseException) -> Exception:
    return file.error(f"must be a MAT file, got one that cannot be read ({reason_of(error)}). Write or copy it again.")


def _reader(file: File, name: str) -> Any:
    return lambda: _content(file, [name])[name]


def _loaded(file: File, names: list[str]) -> Iterator[Entry]:
    for name, value in named_values(_content(file, names)):
        if issparse(value):
            yield _entry(name, value)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "O":
            texts = _texts(value)
            if texts is not None:
                yield _entry(name, texts)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biufcU":
            yield _entry(name, value)


def _entry(name: str, value: Any) -> Entry:
    return Entry(name=name, shape=value.shape, kind=value.dtype.kind, size=value.dtype.itemsize, read=lambda: value)


def _texts(cells: Any) -> Any:
    """Texts of a cell array of them, as SciPy reads one: an array of arrays of one text each; None for other cells."""
    values = cells.reshape(-1).tolist()
    if not all(isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.size <= 1 for value in values):
        return None
    return np.array([str(value.reshape(-1)[0]) if value.size else "" for value in values], dtype=str)
