"""Files of any kind -> Table, and coordinates -> files."""

from hne._tables._read import outline, read_table
from hne._tables._record import Choices, Coordinates, Outline, Table
from hne._tables._write import check_output_ending, write_coordinates

__all__ = [
    "Choices",
    "Coordinates",
    "Outline",
    "Table",
    "check_output_ending",
    "outline",
    "read_table",
    "write_coordinates",
]
