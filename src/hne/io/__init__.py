"""Files of any kind -> Table, and coordinates -> files."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from hne.io.arrays import read_npy, read_npz
from hne.io.columnar import read_columnar
from hne.io.files import File, ReadOptions, kind_of, locate
from hne.io.hdf5 import read_hdf5, read_in_child, read_mat
from hne.io.images import read_images
from hne.io.preprocess import ColumnPreprocessor, PreparedTable, detect_column_roles, prepare_new, prepare_table
from hne.io.table import Table
from hne.io.text import read_text
from hne.io.write import Coordinates, check_output_ending, write_coordinates

__all__ = [
    "ColumnPreprocessor",
    "Coordinates",
    "PreparedTable",
    "ReadOptions",
    "Table",
    "check_output_ending",
    "prepare_new",
    "prepare_table",
    "read_table",
    "write_coordinates",
]

READERS: dict[str, Callable[[File, ReadOptions], Table]] = {
    "text": read_text,
    "npy": read_npy,
    "npz": read_npz,
    "mat": read_mat,
    "hdf5": read_hdf5,
    "parquet": read_columnar,
    "arrow": read_columnar,
    "images": read_images,
}
# Kinds whose parsers, of libraries of C, crash or hang on files that were made to do it.
FOREIGN = ("mat", "hdf5")


def read_table(source: Path | str, options: ReadOptions | None = None, stream: BinaryIO | None = None) -> Table:
    """Read a file of any kind that is known, or a folder of images.

    Parameters
    ----------
    source : Path or str
        The file. "-" is standard input, whose kind is found out from its first bytes.
    options : ReadOptions or None
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
    options = options or ReadOptions()
    with locate(source, stream) as file:
        kind = kind_of(file, is_text=options.encoding is not None)
        read = partial(READERS[kind], file, options)
        table = read_in_child(file, read) if kind in FOREIGN else read()
        if not table.X.shape[0]:
            file.refuse("must have samples", "none", "Check how it was written")
        return detect_column_roles(table, options)
