"""Files of any kind -> Table, and coordinates -> files."""

from hne._tables._names import numbered
from hne._tables._prepared import prepared, treated
from hne._tables._read import outline, read_table
from hne._tables._record import Choices, Coordinates, Outline, Ready, Table
from hne._tables._write import check_output_ending, write_coordinates

__all__ = [
    "Choices",
    "Coordinates",
    "Outline",
    "Ready",
    "Table",
    "check_output_ending",
    "numbered",
    "outline",
    "prepared",
    "read_table",
    "treated",
    "write_coordinates",
]
