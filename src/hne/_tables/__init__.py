"""Files of any kind -> Table, and coordinates -> files."""

from hne._tables._record import Choices, Table

__all__ = ["Choices", "Table"]
