"""Compiled kernels (src/kernels): free functions that write into the arrays of their caller, and check nothing."""

from typing import Any

from numpy.typing import NDArray

from hne.core.records import FloatArray, IndexArray

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

# ranks.cpp
def squared_distances(columns: FloatArray, rows: IndexArray, distances: FloatArray) -> None: ...
def neighbor_sums(in_X: FloatArray, in_Y: FloatArray, k: int, sums: Entries) -> None: ...
def larger_rank_counts(in_X: FloatArray, in_Y: FloatArray, counts: Entries) -> None: ...

# weights.cpp; variants are numbers in hne.settings.VARIANTS. The first setting whose weights are not finite, or -1.
def dense_weights(
    X: FloatArray,
    targets: FloatArray,
    neighbors: IndexArray,
    lists: IndexArray,
    left_out: IndexArray,
    variants: IndexArray,
    rounds: IndexArray,
    regs: FloatArray,
    outer_regs: FloatArray,
    inner: FloatArray,
    values: FloatArray,
    columns: IndexArray,
    counts: IndexArray,
) -> int: ...
def local_sets(
    neighbors: IndexArray,
    lists: IndexArray,
    left_out: IndexArray,
    ids: IndexArray,
    inner_slots: IndexArray,
    outer_slots: IndexArray,
    sizes: IndexArray,
) -> None: ...
def gram_weights(
    K: FloatArray,
    inner_slots: IndexArray,
    outer_slots: IndexArray,
    variants: IndexArray,
    rounds: IndexArray,
    regs: FloatArray,
    outer_regs: FloatArray,
    inner: FloatArray,
    joint: FloatArray,
) -> int: ...
