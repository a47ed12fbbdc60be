"""HDF5 files -> Table: of AnnData, of MATLAB's version 7.3, and any others with matrices in them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hne._matlab import reason_of
from hne._tables._anndata import is_anndata, outline_anndata, read_anndata
from hne._tables._arrays import Entry, outline_arrays, table_of_arrays
from hne._tables._record import Choices, Outline, Table
from hne._tables._sources import File, extra
from hne.exceptions import InputError

# MATLAB marks each of its arrays with its class.
MATLAB_CLASS = "MATLAB_class"


def read_hdf5(file: File, choices: Choices) -> Table:
    """Read an HDF5 file."""
    with _opened(file) as root:
        if is_anndata(root):
            return read_anndata(file, root, choices)
        is_matlab = _is_matlab(root)
        source = "MAT 7.3" if is_matlab else "HDF5"
        return table_of_arrays(file, _entries(root, is_matlab=is_matlab), choices, source, is_matlab=is_matlab)


def outline_hdf5(file: File, choices: Choices) -> Outline:
    """Foresee an HDF5 file from the shapes of its arrays."""
    with _opened(file) as root:
        if is_anndata(root):
            return outline_anndata(file, root, choices)
        is_matlab = _is_matlab(root)
        source = "MAT 7.3" if is_matlab else "HDF5"
        return outline_arrays(file, _entries(root, is_matlab=is_matlab), choices, source, is_matlab=is_matlab)


@contextmanager
def _opened(file: File) -> Iterator[Any]:
    h5py = extra("h5py", f"reading {file.title}")
    try:
        with h5py.File(file.path, "r") as root:
            yield root
    except InputError:
        raise
    except (OSError, RuntimeError, LookupError, TypeError, ValueError, AttributeError) as error:
        msg = f"must be an HDF5 file, got one that cannot be read ({reason_of(error)}). Write or copy it again."
        raise file.error(msg) from error


def _is_matlab(root: Any) -> bool:
    return any(MATLAB_CLASS in item.attrs for item in root.values())


def _entries(root: Any, *, is_matlab: bool) -> list[Entry]:
    """Arrays of the file by their paths; MATLAB's, of which HDF5 reverses the dimensions, as MATLAB has them."""
    entries = []

    def visit(name: str, item: Any) -> None:
        attributes = getattr(item, "attrs", {})
        hidden = name.startswith("#") or "MATLAB_empty" in attributes or attributes.get(MATLAB_CLASS) == b"char"
        if hasattr(item, "shape") and item.shape and item.dtype.names is None and not hidden:
            entries.append(_entry(name, item, is_matlab=is_matlab))

    root.visititems(visit)
    return entries


def _entry(name: str, item: Any, *, is_matlab: bool) -> Entry:
    kind = item.dtype.kind
    if kind == "S" or (kind == "O" and item.dtype.metadata and item.dtype.metadata.get("vlen") is str):
        kind = "U"
    shape = tuple(item.shape[::-1] if is_matlab else item.shape)
    return Entry(
        name=name.replace("/", ".") if is_matlab else name,
        shape=shape,
        kind=kind if kind in "biufcU" else "O",
        size=item.dtype.itemsize,
        read=lambda: np.asarray(item[()].T if is_matlab else item[()]),
    )
