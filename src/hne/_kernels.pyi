"""Compiled kernels (src/kernels): free functions that write into the arrays of their caller, and check nothing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import FloatArray

Entries = NDArray[Any]  # int32 or int64, all of one call alike
AnyFloats = NDArray[Any]  # float32 or float64, all of one call alike

# nearest.cpp
def keep_nearest(
    products: NDArray[np.float32],
    halves: NDArray[np.float32],
    first: int,
    scores: NDArray[np.float32],
    found: NDArray[np.int64],
) -> None: ...

# products.cpp
def multiply_block(
    start: int,
    stop: int,
    indptr: Entries,
    indices: Entries,
    data: AnyFloats,
    block: AnyFloats,
    out: AnyFloats,
) -> None: ...
def combine_block(
    start: int,
    stop: int,
    indptr: Entries,
    indices: Entries,
    data: AnyFloats,
    image: AnyFloats,
    scale: float,
    shift: float,
    past: float,
    block: AnyFloats,
    out: AnyFloats,
) -> None: ...

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
