"""X, NeighborGraph, Edges -> how steeply each edge leaves the tangent planes at its ends.

A tangent plane is that of the principal directions of a sample and its nearest neighbors, near ones counting more.
"""

import numpy as np
from scipy.sparse import issparse

from hne.core.neighbors.edges import Edges
from hne.core.records import FloatArray, IndexArray, NeighborGraph, SparseMatrix
from hne.core.samples.kinds import Distances, Samples, gram_of_distances, lengths_between, width

# Neighbors that a plane is laid through: one of these numbers, or so many more than it has dimensions. Five tell wrong
# edges of sparse rolls from right ones with an area under the ROC curve of .998 and more; where there is noise, planes
# of more neighbors see less of it.
PLANE_NEIGHBORS, MORE_THAN_DIMENSIONS = (5, 7, 9), 3
# Edges by which the number is chosen.
COMPARED_EDGES = 20_000
# Variances below this share of a plane's largest are rounding.
NEGLIGIBLE = 1e-10
BLOCK_BYTES = 2**25


def lengths_of_pairs(X: Samples, one: IndexArray, other: IndexArray) -> FloatArray:
    """Lengths in the coordinates, whatever the metric of the graph, as weights are; NaN where not known."""
    if isinstance(X, Distances):
        return X.at(one, other)
    lengths = np.empty(len(one))
    step = max(1, BLOCK_BYTES // (8 * 2 * width(X)))
    for start in range(0, len(one), step):
        some = slice(start, start + step)
        lengths[some] = lengths_between(X, X[one[some]], other[some, None])[:, 0]
    return lengths


def plane_neighbors(X: Samples, graph: NeighborGraph, edges: Edges, unit: float, n_components: int) -> int:
    """Neighbors of a tangent plane with which the edges leave the planes the least."""
    if len(edges) > COMPARED_EDGES:
        edges = edges.chosen(np.sort(np.random.RandomState(0).choice(len(edges), COMPARED_EDGES, replace=False)))
    fewest = n_components + MORE_THAN_DIMENSIONS
    sizes = sorted({min(max(fewest, size), graph.n_neighbors) for size in PLANE_NEIGHBORS})
    if len(sizes) == 1:
        return sizes[0]
    middles = []
    for size in sizes:
        sines = steepness(X, graph, edges, unit, n_components, size)
        known = sines[~np.isnan(sines)]
        middles.append(float(np.median(known)) if len(known) else np.inf)
    return sizes[int(np.argmin(middles))]


def steepness(X: Samples, graph: NeighborGraph, edges: Edges, unit: float, n_components: int, size: int) -> FloatArray:
    """Mean sine of the angles between an edge and the planes at its ends, (e,); NaN where distances are not known.

    A plane is that of `size` neighbors; `unit` is a usual length: a neighbor so far away counts half.
    """
    near = graph.indices[:, :size]
    ends = np.concatenate([edges.smaller, edges.larger])
    others = np.concatenate([edges.larger, edges.smaller])
    order = np.argsort(ends, kind="stable")
    sines = np.empty(len(ends))
    angles = _gram_sines if isinstance(X, Distances) else _sparse_sines if issparse(X) else _dense_sines
    sines[order] = angles(X, near, ends[order], others[order], unit, n_components)
    mean: FloatArray = (sines[: len(edges)] + sines[len(edges) :]) / 2
    return mean


def _dense_sines(
    X: FloatArray, near: IndexArray, ends: IndexArray, others: IndexArray, unit: float, d: int
) -> FloatArray:
    """Sines at one end of each edge; ends ascend, so that a plane is made once and forgotten."""
    sines = np.empty(len(ends))
    rows, starts = np.unique(ends, return_index=True)
    starts = np.append(starts, len(ends))
    # A sample and its neighbors span no more.
    d = min(d, near.shape[1] + 1, X.shape[1])
    step = max(1, BLOCK_BYTES // (8 * X.shape[1] * (3 * near.shape[1] + 1 + d)))
    # Each edge has a copy of its plane, and a sample may have as many edges as there are samples.
    edges_at_once = max(1, BLOCK_BYTES // (8 * X.shape[1] * (1 + d)))
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        planes = _planes(X, some, near, unit, d)
        for start in range(starts[first], starts[first + len(some)], edges_at_once):
            stop = min(start + edges_at_once, starts[first + len(some)])
            difference = X[others[start:stop]] - X[ends[start:stop]]
            squares = np.einsum("ij,ij->i", difference, difference)
            within = np.einsum("idj,ij->id", planes[np.searchsorted(some, ends[start:stop])], difference)
            sines[start:stop] = _sine((within**2).sum(axis=1), squares)
    return sines


def _sparse_sines(
    X: SparseMatrix, near: IndexArray, ends: IndexArray, others: IndexArray, unit: float, d: int
) -> FloatArray:
    """The same for sparse samples: some edges at a time, dense over the columns that their samples use."""
    sines = np.empty(len(ends))
    n_features, mates = X.shape[1], near.shape[1] + 2
    # So many samples are no larger than a block in all columns, or in those that they use if they share none.
    count = max(BLOCK_BYTES // (8 * n_features), int(np.sqrt(BLOCK_BYTES / (8 * width(X)))))
    step = max(1, count // mates)
    for start in range(0, len(ends), step):
        some = slice(start, start + step)
        rows = np.unique(ends[some])
        near_some = near[rows]
        samples = np.unique(np.concatenate([rows, near_some[near_some >= 0], others[some]]))
        taken = X[samples]
        columns, slots = np.unique(taken.indices, return_inverse=True)
        local = np.zeros((len(samples), max(1, len(columns))))
        local[np.repeat(np.arange(len(samples)), np.diff(taken.indptr)), slots] = taken.data
        numbered = np.full((len(samples), near.shape[1]), -1)
        is_there = near_some >= 0
        numbered[np.searchsorted(samples, rows)] = np.where(is_there, np.searchsorted(samples, near_some), -1)
        one, other = np.searchsorted(samples, ends[some]), np.searchsorted(samples, others[some])
        sines[some] = _dense_sines(local, numbered, one, other, unit, d)
    return sines


def _planes(X: FloatArray, rows: IndexArray, near: IndexArray, unit: float, d: int) -> FloatArray:
    """Orthonormal directions (b, d, D) of the tangent plane at each row; zero where there are fewer."""
    near = near[rows]
    local = np.concatenate([np.zeros((len(rows), 1, X.shape[1])), X[near] - X[rows, None]], axis=1)
    weights = _weights(np.sqrt(np.einsum("ijk,ijk->ij", local, local)), near, unit)
    mean = np.einsum("ij,ijk->ik", weights, local) / weights.sum(axis=1)[:, None]
    local = (local - mean[:, None]) * np.sqrt(weights)[:, :, None]
    m, n_features = local.shape[1:]
    planes = np.zeros((len(rows), d, n_features))
    if n_features <= m:
        vectors = np.linalg.eigh(local.transpose(0, 2, 1) @ local)[1][:, :, ::-1][:, :, :d]
        planes[:, : min(d, n_features)] = vectors.transpose(0, 2, 1)
        return planes
    axes = _leading(local @ local.transpose(0, 2, 1), d)
    planes[:, : axes.shape[2]] = axes.transpose(0, 2, 1) @ local
    return planes


def _weights(lengths: FloatArray, near: IndexArray, unit: float) -> FloatArray:
    """What a sample and its neighbors count in a plane, (b, m + 1); nothing behind the last neighbor."""
    is_there = np.column_stack([np.ones(len(near), dtype=bool), near >= 0])
    weights: FloatArray = is_there / (1 + (lengths / unit) ** 2)
    return weights


def _leading(gram: FloatArray, d: int) -> FloatArray:
    """Combinations (b, m, min(d, m)) of samples that give orthonormal directions of the largest variances."""
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[:, ::-1][:, :d], vectors[:, :, ::-1][:, :, :d]
    spans = values > NEGLIGIBLE * np.maximum(values[:, :1], 0.0)
    axes: FloatArray = vectors * np.where(spans, 1 / np.sqrt(np.where(spans, values, 1.0)), 0.0)[:, None, :]
    return axes


def _gram_sines(
    X: Distances, near: IndexArray, ends: IndexArray, others: IndexArray, unit: float, d: int
) -> FloatArray:
    """The same from inner products alone, an edge at a time: for samples known by distances."""
    sines = np.full(len(ends), np.nan)
    m = near.shape[1]
    step = max(1, BLOCK_BYTES // (8 * 4 * (m + 2) ** 2))
    for start in range(0, len(ends), step):
        some = np.arange(start, min(start + step, len(ends)))
        absent = near[ends[some]] < 0
        # The sample stands where a neighbor is absent, and does not count there.
        ids = np.column_stack([ends[some], np.where(absent, ends[some, None], near[ends[some]]), others[some]])
        if not X.is_complete:
            known = ~np.isnan(X.at(ids[:, :, None], ids[:, None, :])).any(axis=(1, 2))
            some, ids, absent = some[known], ids[known], absent[known]
            if not len(some):
                continue
        K, units = gram_of_distances(X, X[ends[some]], ids)
        lengths = np.sqrt(np.maximum(np.diagonal(K, axis1=1, axis2=2), 0.0)) * units[:, None]
        weights = _weights(lengths[:, :-1], np.where(absent, -1, 0), unit)
        share = (weights / weights.sum(axis=1, keepdims=True))[:, :, None]
        inside, across = K[:, :-1, :-1], K[:, :-1, -1:]
        centered = inside - (inside @ share) - (inside @ share).transpose(0, 2, 1)
        centered += share.transpose(0, 2, 1) @ inside @ share
        root = np.sqrt(weights)
        axes = _leading(centered * root[:, :, None] * root[:, None, :], d)
        moved = (across - (share.transpose(0, 2, 1) @ across)) * root[:, :, None]
        within = (axes.transpose(0, 2, 1) @ moved)[:, :, 0]
        sines[some] = _sine((within**2).sum(axis=1), K[:, -1, -1])
    return sines


def _sine(within: FloatArray, squares: FloatArray) -> FloatArray:
    """Sine of an angle, of the squared length within a plane and the whole; 0 for an edge without length."""
    sine: FloatArray = np.sqrt(np.clip(1 - within / np.where(squares > 0, squares, 1.0), 0.0, 1.0))
    return np.where(squares > 0, sine, 0.0)
