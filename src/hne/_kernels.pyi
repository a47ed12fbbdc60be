"""Compiled kernels (src/kernels): free functions that write into the arrays of their caller, and check nothing."""

from typing import Any

from numpy.typing import NDArray

from hne.core.records import BoolArray, FloatArray, IndexArray

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

# chart.cpp
def pack_ratios(
    vectors: FloatArray, first: IndexArray, second: IndexArray, lengths: FloatArray, ratios: FloatArray
) -> None: ...
def descend_spread(
    ratios: FloatArray, count: int, pull: float, inverse: FloatArray, B: FloatArray, steps: int, share: float
) -> float: ...
def descend_stress(ratios: FloatArray, count: int, inverse: FloatArray, B: FloatArray, steps: int) -> float: ...

# graph.cpp
def list_edges(lists: IndexArray, smaller: IndexArray, larger: IndexArray, is_listed: BoolArray) -> int: ...
def join_edges(
    smaller: IndexArray, larger: IndexArray, starts: IndexArray, columns: IndexArray, numbers: IndexArray
) -> None: ...
def most_pairs(starts: IndexArray, columns: IndexArray, rows: IndexArray) -> int: ...
def list_pairs(
    starts: IndexArray, columns: IndexArray, rows: IndexArray, first: IndexArray, second: IndexArray
) -> int: ...
def measure_pairs(X: FloatArray, one: IndexArray, other: IndexArray, lengths: FloatArray) -> None: ...
def shortest_ways(
    starts: IndexArray, columns: IndexArray, lengths: FloatArray, sources: IndexArray, ways: FloatArray
) -> None: ...
def spread_landmarks(starts: IndexArray, columns: IndexArray, lengths: FloatArray, landmarks: IndexArray) -> int: ...

# ways.cpp
def pull_ways(
    Y: FloatArray,
    places: FloatArray,
    shares: FloatArray,
    least: float,
    samples: FloatArray,
    landmarks: FloatArray,
) -> None: ...
def relax_ways(
    Y: FloatArray,
    places: FloatArray,
    lengths: FloatArray,
    shortest: float,
    least: float,
    share: float,
    relaxed: FloatArray,
) -> None: ...
