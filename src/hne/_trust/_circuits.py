"""X, NeighborGraph -> suspected short circuits: links between samples that are far from each other along the surface.

A link across a gap between two sheets leaves the tangent planes at its ends. Where the way around it, over links that
keep to the planes, is many times as long, it is suspected. The links of the way are those of larger neighborhoods, so
that sparse samples have one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from hne._neighbors import nearest
from hne._neighbors._exact import exact_method
from hne._samples import Samples
from hne._trust._limits import (
    CIRCUITS_MAX_PRODUCTS,
    CIRCUITS_MAX_SIZE,
    FARTHEST_WAY,
    MOST_CIRCUITS,
    MOST_WAYS,
    NEIGHBORS_A_DIMENSION,
    PLANE_NEIGHBORS,
    STEEP,
    WAY_AROUND,
)
from hne._types import BoolArray, FloatArray, IndexArray, NeighborGraph, SparseMatrix

# Bytes of the differences, or of the ways, that are held at once.
BLOCK_BYTES = 2**25
# Variances below this share of a plane's largest are rounding.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class _Links:
    """Links among near samples, each once."""

    smaller: IndexArray
    larger: IndexArray
    lengths: FloatArray
    is_steep: BoolArray  # whether it leaves the tangent plane at one of its ends
    is_ours: BoolArray  # whether it is one of the neighbor graph


def is_searchable(X: Samples, n_components: int) -> bool:
    """Whether samples have coordinates, are enough for tangent planes, and few enough for another search."""
    if not isinstance(X, np.ndarray) or len(X) <= 2 * plane_neighbors(n_components):
        return False
    is_cheap = exact_method(X) == "tree" or float(len(X)) * X.size <= CIRCUITS_MAX_PRODUCTS
    return is_cheap and n_components * X.size <= CIRCUITS_MAX_SIZE


def plane_neighbors(n_components: int) -> int:
    """Neighbors that a tangent plane is laid through."""
    return max(PLANE_NEIGHBORS, NEIGHBORS_A_DIMENSION * n_components)


def short_circuits(X: FloatArray, graph: NeighborGraph, n_components: int, n_threads: int) -> IndexArray:
    """Pairs (smaller, larger) of linked samples that are far along the surface, (p, 2), the worst first."""
    n, m = len(X), plane_neighbors(n_components)
    # Weights are those of the coordinates whatever the metric, and so is the surface.
    near, lengths, _ = nearest(X, X, min(max(graph.n_neighbors, m), n - 1), np.arange(n), n_threads)
    links = _links(X, graph, near, _planes(X, np.column_stack([np.arange(n), near[:, :m]]), n_components))
    usual = np.median(lengths[:, : m // 2], axis=1)
    found, ways = _ways_around(links, np.maximum(usual[links.smaller], usual[links.larger]), n)
    worst = found[np.argsort(-ways, kind="stable")][:MOST_CIRCUITS]
    return np.column_stack([links.smaller[worst], links.larger[worst]])


def _planes(X: FloatArray, near: IndexArray, d: int) -> FloatArray:
    """Orthonormal directions of the tangent plane at each sample, (n, d, D); zero where there are fewer."""
    n, n_features = X.shape
    planes = np.zeros((n, d, n_features))
    step = max(1, BLOCK_BYTES // (8 * near.shape[1] * (near.shape[1] + n_features)))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        local = X[near[rows]] - X[rows, None]
        local -= local.mean(axis=1, keepdims=True)
        if n_features <= near.shape[1]:
            vectors = np.linalg.eigh(local.transpose(0, 2, 1) @ local)[1][:, :, ::-1][:, :, :d]
            planes[rows, : min(d, n_features)] = vectors.transpose(0, 2, 1)
            continue
        values, vectors = np.linalg.eigh(local @ local.transpose(0, 2, 1))
        values, vectors = values[:, ::-1][:, :d], vectors[:, :, ::-1][:, :, :d]
        spans = values > NEGLIGIBLE * values[:, :1]
        axes = vectors * np.where(spans, 1 / np.sqrt(np.where(spans, values, 1.0)), 0.0)[:, None, :]
        planes[rows] = axes.transpose(0, 2, 1) @ local
    return planes


def _links(X: FloatArray, graph: NeighborGraph, near: IndexArray, planes: FloatArray) -> _Links:
    n, k = near.shape
    own, others = np.nonzero(graph.indices >= 0)
    ours = _codes(own, graph.indices[own, others], n)
    codes = np.sort(np.concatenate([_codes(np.repeat(np.arange(n), k), near.ravel(), n), ours]))
    codes = codes[np.diff(codes, prepend=-1) > 0]
    smaller, larger = np.divmod(codes, n)
    lengths, off = np.empty(len(codes)), np.empty(len(codes))
    step = max(1, BLOCK_BYTES // (8 * planes.shape[1] * planes.shape[2]))
    for start in range(0, len(codes), step):
        some = slice(start, start + step)
        difference = X[larger[some]] - X[smaller[some]]
        squares = (difference**2).sum(axis=1)
        within = [
            (np.matmul(planes[ends[some]], difference[:, :, None]) ** 2).sum(axis=(1, 2)) for ends in (smaller, larger)
        ]
        lengths[some] = np.sqrt(squares)
        off[some] = 1 - np.minimum(*within) / np.where(squares > 0, squares, 1.0)
    return _Links(smaller, larger, lengths, off >= STEEP, _are_among(codes, ours))


def _codes(rows: IndexArray, columns: IndexArray, n: int) -> IndexArray:
    codes: IndexArray = np.minimum(rows, columns) * n + np.maximum(rows, columns)
    return codes


def _are_among(codes: IndexArray, ours: IndexArray) -> BoolArray:
    """Which codes are some of ours; all of ours are among the codes, which ascend: np.isin would hash them."""
    are_ours = np.zeros(len(codes), dtype=bool)
    are_ours[np.searchsorted(codes, ours)] = True
    return are_ours


def _ways_around(links: _Links, usual: FloatArray, n: int) -> tuple[IndexArray, FloatArray]:
    """Steep links of the graph with a long way around, and how many times as long it is."""
    flat = _matrix(links, ~links.is_steep, n)
    # Where nothing but steep links leads across, that is how the samples hang together, and no short circuit.
    labels = connected_components(flat, directed=False)[1]
    hangs = labels[links.smaller] == labels[links.larger]
    asked = np.flatnonzero(links.is_steep & links.is_ours & hangs & (links.lengths > 0))
    if not len(asked):
        return asked, np.empty(0)
    # Whoever has a way of four links at most is no suspect: few are left to be measured.
    two = flat + flat @ flat
    asked = asked[two[links.smaller[asked]].multiply(two[links.larger[asked]]).sum(axis=1) == 0]
    # The longest beside what is usual: they do the most harm.
    lengths = np.maximum(links.lengths, usual)[asked]
    worst = np.argsort(-links.lengths[asked] / usual[asked], kind="stable")[:MOST_WAYS]
    asked, lengths = asked[worst], lengths[worst]
    ways = _shortest(flat, links.smaller[asked], links.larger[asked], FARTHEST_WAY * lengths.max(initial=0.0))
    times = np.minimum(ways / lengths, FARTHEST_WAY)
    return asked[times > WAY_AROUND], times[times > WAY_AROUND]


def _matrix(links: _Links, chosen: BoolArray, n: int) -> SparseMatrix:
    half = csr_array((links.lengths[chosen], (links.smaller[chosen], links.larger[chosen])), shape=(n, n))
    return (half + half.T).tocsr()


def _shortest(flat: SparseMatrix, starts: IndexArray, ends: IndexArray, limit: float) -> FloatArray:
    """Lengths of the shortest ways, inf beyond the limit."""
    ways = np.empty(len(starts))
    step = max(1, BLOCK_BYTES // (8 * flat.shape[0]))
    for at in range(0, len(starts), step):
        some = slice(at, at + step)
        from_starts = dijkstra(flat, indices=starts[some], limit=limit)
        ways[some] = from_starts[np.arange(len(from_starts)), ends[some]]
    return ways
