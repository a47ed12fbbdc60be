"""Compiled kernels (src/kernels): free functions that write into the arrays of their caller, and check nothing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import BoolArray, FloatArray, IndexArray

Entries = NDArray[Any]  # int32 or int64, all of one call alike
AnyFloats = NDArray[Any]  # float32 or float64, all of one call alike

# chart.cpp
def pack_ratios(
    vectors: FloatArray, first: IndexArray, second: IndexArray, lengths: FloatArray, ratios: FloatArray
) -> None: ...
def descend_spread(
    ratios: FloatArray, count: int, pull: float, inverse: FloatArray, B: FloatArray, steps: int, share: float
) -> float: ...
def descend_stress(ratios: FloatArray, count: int, inverse: FloatArray, B: FloatArray, steps: int) -> float: ...

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

# graph.cpp
def most_pairs(starts: IndexArray, columns: IndexArray, rows: IndexArray) -> int: ...
def list_pairs(
    starts: IndexArray, columns: IndexArray, rows: IndexArray, first: IndexArray, second: IndexArray
) -> int: ...
def measure_pairs(X: FloatArray, one: IndexArray, other: IndexArray, lengths: FloatArray) -> None: ...
def shortest_ways(
    starts: IndexArray, columns: IndexArray, lengths: FloatArray, sources: IndexArray, ways: FloatArray
) -> None: ...
def spread_landmarks(starts: IndexArray, columns: IndexArray, lengths: FloatArray, landmarks: IndexArray) -> int: ...

# judge.cpp
def compare_frames(
    start: int,
    stop: int,
    local: FloatArray,
    U: FloatArray,
    S: FloatArray,
    losses: FloatArray,
    shapes: FloatArray,
) -> None: ...
def fill_stretches(
    W: FloatArray,
    shapes: FloatArray,
    most: float,
    logs: FloatArray,
    axes: FloatArray,
) -> None: ...
def told_by_others(
    others: FloatArray,
    values: FloatArray,
    order: IndexArray,
    K: int,
    means: FloatArray,
) -> None: ...
def own_shares(
    starts: Entries,
    columns: Entries,
    weights: FloatArray,
    shares: FloatArray,
) -> None: ...

# layout.cpp
def repel_all(
    start: int, stop: int, points: FloatArray, Y: FloatArray, forces: FloatArray, sums: FloatArray
) -> None: ...
def bin_rows(positions: FloatArray, starts: IndexArray, order: IndexArray) -> None: ...
def spread_charges(
    start: int, stop: int, positions: FloatArray, starts: IndexArray, order: IndexArray, grid: NDArray[np.float32]
) -> None: ...
def gather_potential(
    start: int,
    stop: int,
    positions: FloatArray,
    grid: NDArray[np.float32],
    potential: FloatArray,
    gradient: FloatArray,
) -> None: ...
def descend_layout(
    start: int,
    stop: int,
    starts: IndexArray,
    columns: NDArray[np.int32],
    affinities: NDArray[np.float32],
    Y: FloatArray,
    single: NDArray[np.float32],
    push: FloatArray,
    rate: float,
    momentum: float,
    velocities: FloatArray,
    moved: FloatArray,
) -> None: ...
def fill_divergences(
    start: int,
    stop: int,
    starts: IndexArray,
    columns: NDArray[np.int32],
    affinities: NDArray[np.float32],
    Y: FloatArray,
    divergences: FloatArray,
) -> None: ...

# nearest.cpp
def keep_nearest(
    products: NDArray[np.float32],
    halves: NDArray[np.float32],
    first: int,
    scores: NDArray[np.float32],
    found: NDArray[np.int64],
) -> None: ...

# paths.cpp
def list_edges(
    indices: IndexArray,
    smaller: IndexArray,
    larger: IndexArray,
    is_listed: BoolArray,
) -> int: ...
def fill_rows(
    smaller: IndexArray,
    larger: IndexArray,
    numbers: IndexArray,
    starts: IndexArray,
    columns: IndexArray,
    of_edges: IndexArray,
) -> None: ...
def bounded_ways(
    starts: IndexArray,
    columns: IndexArray,
    numbers: IndexArray,
    is_usable: BoolArray,
    lengths: FloatArray,
    suspicion: FloatArray,
    sources: IndexArray,
    ends: IndexArray,
    limits: FloatArray,
    ways: FloatArray,
    worst: IndexArray,
) -> None: ...
def join_in_order(
    one: IndexArray,
    other: IndexArray,
    order: IndexArray,
    n: int,
    joins: BoolArray,
) -> None: ...
def take_while_enough(
    smaller: IndexArray,
    larger: IndexArray,
    is_listed: BoolArray,
    wanted: IndexArray,
    n: int,
    fewest: int,
    taken: IndexArray,
) -> int: ...
def label_pieces(
    indices: IndexArray,
    labels: IndexArray,
) -> int: ...
def fill_blocks(
    starts: IndexArray,
    columns: IndexArray,
    numbers: IndexArray,
    parents: IndexArray,
    sizes: IndexArray,
    blocks: IndexArray,
) -> int: ...

# planes.cpp
def fill_frames(
    start: int,
    stop: int,
    X: FloatArray,
    members: IndexArray,
    U: FloatArray,
    S: FloatArray,
    spreads: FloatArray,
) -> None: ...
def fill_gram_frames(
    start: int,
    stop: int,
    K: FloatArray,
    U: FloatArray,
    S: FloatArray,
    spreads: FloatArray,
) -> None: ...
def fill_sines(
    start: int,
    stop: int,
    X: FloatArray,
    near: IndexArray,
    starts: IndexArray,
    others: IndexArray,
    unit: float,
    d: int,
    sizes: IndexArray,
    sines: FloatArray,
) -> None: ...
def fill_gram_sines(
    K: FloatArray,
    counts: BoolArray,
    units: FloatArray,
    d: int,
    sines: FloatArray,
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

# ranks.cpp
def squared_distances(columns: FloatArray, rows: IndexArray, distances: FloatArray) -> None: ...
def neighbor_sums(in_X: FloatArray, in_Y: FloatArray, k: int, sums: Entries) -> None: ...
def larger_rank_counts(in_X: FloatArray, in_Y: FloatArray, counts: Entries) -> None: ...
def nearest_columns(
    start: int,
    stop: int,
    away: FloatArray,
    own: IndexArray,
    near: IndexArray,
) -> None: ...
def lost_ranks(
    start: int,
    stop: int,
    away: FloatArray,
    own: IndexArray,
    near: IndexArray,
    Y: FloatArray,
    lost: IndexArray,
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

# weights.cpp; variants are numbers in hne.settings.VARIANTS. Whether weights are finite.
def dense_weights(
    X: FloatArray,
    targets: FloatArray,
    neighbors: IndexArray,
    lists: IndexArray,
    left_out: IndexArray,
    variant: int,
    n_rounds: int,
    reg: float,
    outer_reg: float,
    inner: FloatArray,
    values: FloatArray,
    columns: IndexArray,
    counts: IndexArray,
) -> bool: ...
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
    variant: int,
    n_rounds: int,
    reg: float,
    outer_reg: float,
    inner: FloatArray,
    joint: FloatArray,
) -> bool: ...
