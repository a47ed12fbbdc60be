"""Compiled kernels (src/kernels): free functions that write into the arrays of their caller, and check nothing."""

from typing import Any

from numpy.typing import NDArray

from hne.core.records import FloatArray

Entries = NDArray[Any]  # int32 or int64, all of one call alike

# triangle.cpp
def count_entries(
    start: int,
    stop: int,
    Ap: Entries,
    Ai: Entries,
    ATp: Entries,
    ATi: Entries,
    Bp: Entries,
    Bi: Entries,
    BTp: Entries,
    BTi: Entries,
    counts: Entries,
) -> None: ...
def fill_entries(
    start: int,
    stop: int,
    gamma: float,
    Ap: Entries,
    Ai: Entries,
    ATp: Entries,
    ATi: Entries,
    Bp: Entries,
    Bi: Entries,
    BTp: Entries,
    BTi: Entries,
    Ax: FloatArray,
    ATx: FloatArray,
    Bx: FloatArray,
    BTx: FloatArray,
    indptr: Entries,
    indices: Entries,
    data: FloatArray,
) -> None: ...

# cholesky.cpp
class Factor:
    def __init__(
        self,
        gamma: float,
        Ap: Entries,
        Ai: Entries,
        ATp: Entries,
        ATi: Entries,
        ATx: FloatArray,
        Bp: Entries,
        Bi: Entries,
        BTp: Entries,
        BTi: Entries,
        BTx: FloatArray,
        leaf: int,
        give_up: Entries,
    ) -> None: ...
    @property
    def n_nodes(self) -> int: ...
    def describe(self, parents: Entries, widths: Entries, heights: Entries) -> None: ...
    def eliminate(self, first: int, last: int, shift: float, give_up: Entries) -> bool: ...
    def assemble(self, node: int, shift: float) -> None: ...
    def clear(self, node: int, panel: int, packed: FloatArray) -> bool: ...
    def subtract(self, node: int, panel: int, packed: FloatArray, start: int, stop: int) -> None: ...
    def keep_factor(self) -> None: ...
    def solve(self, right: FloatArray, solution: FloatArray, first: int) -> None: ...
