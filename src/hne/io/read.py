"""Path -> Table, by the kind of the file; refused beforehand where it would not fit into memory."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from hne.io.apart import detect_column_roles
from hne.io.child import can_fork, read_in_child
from hne.io.columnar import outline_columnar, read_columnar
from hne.io.finish import check_fits
from hne.io.hdf5 import outline_hdf5, read_hdf5
from hne.io.hints import with_hints
from hne.io.images import outline_images, read_images
from hne.io.matlab import outline_mat, read_mat
from hne.io.numpy import outline_npy, outline_npz, read_npy, read_npz
from hne.io.record import Outline, ReadOptions, Table
from hne.io.sources import File, found, kind_of
from hne.io.text import outline_text, read_text

READERS: dict[str, tuple[Callable[[File, ReadOptions], Outline], Callable[[File, ReadOptions], Table]]] = {
    "text": (outline_text, read_text),
    "npy": (outline_npy, read_npy),
    "npz": (outline_npz, read_npz),
    "mat": (outline_mat, read_mat),
    "hdf5": (outline_hdf5, read_hdf5),
    "parquet": (outline_columnar, read_columnar),
    "arrow": (outline_columnar, read_columnar),
    "images": (outline_images, read_images),
}
# Kinds whose parsers, of libraries of C, crash or hang on files that were made to do it.
FOREIGN = ("mat", "hdf5")


def read_table(source: Path | str, choices: ReadOptions | None = None, stream: BinaryIO | None = None) -> Table:
    """Read a file of any kind that is known, or a folder of images.

    Parameters
    ----------
    source : Path or str
        The file. "-" is standard input, whose kind is found out from its first bytes.
    choices : Choices or None
        What the user says about the file; None leaves everything to be found out.
    stream : binary file or None
        What to read for "-"; None means standard input.

    Returns
    -------
    Table
        Numbers to embed with the names and labels beside them, and notices of what was decided.

    Raises
    ------
    InputError
        There is no such file, it is damaged, or it holds no table of numbers; the message says what to do.
    TooLargeError
        The table would not fit into memory; it has not been read.
    MissingExtraError
        Files of this kind need a library that is not installed.
    """
    wanted = choices or ReadOptions()
    with found(source, stream) as file:
        kind = kind_of(file, is_text=wanted.encoding is not None)
        outlined, read = READERS[kind]

        def checked() -> Table:
            _check_fits(file, _foreseen(kind, outlined(file, wanted)))
            return read(file, wanted)

        table = read_in_child(file, checked) if kind in FOREIGN else checked()
        if not table.X.shape[0]:
            msg = "must have samples, got none. Check how it was written."
            raise file.error(msg)
        return with_hints(detect_column_roles(table, wanted), wanted)


def outline(source: Path | str, choices: ReadOptions | None = None, stream: BinaryIO | None = None) -> Outline:
    """What `read_table` would give, and the memory it would take, without reading all of a file.

    Columns that only their values show to be names of samples, counters of rows or classes are still counted as
    features here, even where `is_exact` is True: reading sets them apart.
    Standard input is read to its end all the same: there is no other way to know it.
    """
    wanted = choices or ReadOptions()
    with found(source, stream) as file:
        kind = kind_of(file, is_text=wanted.encoding is not None)
        outlined, _ = READERS[kind]
        look = partial(outlined, file, wanted)
        return _foreseen(kind, read_in_child(file, look) if kind in FOREIGN else look())


def _foreseen(kind: str, expected: Outline) -> Outline:
    """The outline, with memory for both where a child hands a table over."""
    return replace(expected, bytes=2 * expected.bytes) if kind in FOREIGN and can_fork() else expected


def _check_fits(file: File, expected: Outline) -> None:
    about = "" if expected.is_exact else "about "
    check_fits(file, expected.bytes, f"{about}{expected.n_samples} samples of {expected.n_features} features")
