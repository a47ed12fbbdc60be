"""Files of any kind -> Table, and coordinates -> files."""

from hne.io.preprocess import ColumnPreprocessor, PreparedTable, prepare_new, prepare_table
from hne.io.read import read_table
from hne.io.table import ReadOptions, Table
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
