"""HDF5 files -> Table: of AnnData, of MATLAB's version 7.3, and any others with matrices in them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hne.exceptions import InputError
from hne.io.anndata import is_anndata, outline_anndata, read_anndata
from hne.io.arrays import Entry, outline_arrays, table_of_arrays
from hne.io.mat_values import reason_of
from hne.io.record import Outline, ReadOptions, Table
from hne.io.sources import File, extra

# MATLAB marks each of its arrays with its class.
MATLAB_CLASS = "MATLAB_class"


def read_hdf5(file: File, choices: ReadOptions) -> Table:
    """Read an HDF5 file."""
    with _opened(file) as root:
        if is_anndata(root):
            return read_anndata(file, root, choices)
        is_matlab = _is_matlab(root)
        source = "MAT 7.3" if is_matlab else "HDF5"
        return table_of_arrays(file, _entries(root, is_matlab=is_matlab), choices, source, is_matlab=is_matlab)


def outline_hdf5(file: File, choices: ReadOptions) -> Outline:
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
            _check_is_all_here(file, h5py, root)
            yield root
    except InputError:
        raise
    except (OSError, RuntimeError, LookupError, TypeError, ValueError, AttributeError, SystemError) as error:
        # What goes wrong while h5py walks through a file is the cause of a SystemError of its own.
        reason = reason_of(error.__cause__ or error if isinstance(error, SystemError) else error)
        msg = f"must be an HDF5 file, got one that cannot be read ({reason}). Write or copy it again."
        raise file.error(msg) from error


def _check_is_all_here(file: File, h5py: Any, root: Any) -> None:
    """Refuse a file that would have others read: by links to them, or by arrays that are stored in them."""

    def look(name: str, link: Any) -> tuple[str, str] | None:
        if isinstance(link, h5py.ExternalLink):
            return name, link.filename
        if isinstance(link, h5py.HardLink) and root.get(name, getclass=True) is h5py.Dataset:
            plan = root[name].id.get_create_plist()
            if plan.get_external_count():
                return name, os.fsdecode(plan.get_external(0)[0])
            if plan.get_layout() == h5py.h5d.VIRTUAL:
                return name, plan.get_virtual_filename(0) if plan.get_virtual_count() else "nowhere"
        return None

    outside = root.visititems_links(look)
    if outside is not None:
        got = f"'{outside[0]}', which is in another file ('{outside[1]}')"
        msg = f"must hold its arrays itself, got {got}. Copy it into one file."
        raise file.error(msg)


def _is_matlab(root: Any) -> bool:
    # A link to nothing has no item.
    return any(MATLAB_CLASS in item.attrs for item in root.values() if item is not None)


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
