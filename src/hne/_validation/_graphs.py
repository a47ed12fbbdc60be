"""A given graph -> NeighborGraph: a sparse matrix of distances, or a pair of neighbors and their distances."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from hne._types import FloatArray, IndexArray, NeighborGraph, SparseMatrix
from hne.exceptions import InputError, InputTypeError

REMEDY = "Pass what KNeighborsTransformer.fit_transform returns, or (indices, distances)"


def check_graph(given: Any) -> NeighborGraph:
    """Return the neighbors that are given for each sample; a sample may still be its own, or be listed twice."""
    if isinstance(given, NeighborGraph):
        return given
    if issparse(given):
        return _from_matrix(given)
    if isinstance(given, tuple | list) and len(given) == 2:
        if _kind(given[0]) == "f" and _kind(given[1]) in "iu":
            msg = "neighbors must be (indices, distances), got (distances, indices). Swap the two."
            raise InputError(msg)
        indices = _check_indices(given[0])
        return NeighborGraph(indices, _check_lengths(given[1], indices), "given")
    msg = f"neighbors must be 'auto', 'exact', 'approximate' or a graph, got {type(given).__name__}. {REMEDY}."
    raise InputTypeError(msg)


def _kind(given: Any) -> str:
    """Kind of numbers in an array, as NumPy's letter; nothing for what is none."""
    return str(getattr(getattr(given, "dtype", None), "kind", "-"))


def _from_matrix(matrix: SparseMatrix) -> NeighborGraph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        msg = f"neighbors as a sparse matrix must be square, got shape {matrix.shape}. {REMEDY}."
        raise InputError(msg)
    if matrix.dtype.kind not in "biuf":
        msg = f"neighbors as a sparse matrix must hold distances, got values of {matrix.dtype}. {REMEDY}."
        raise InputError(msg)
    graph = csr_array(matrix, dtype=np.float64)
    counts = np.diff(graph.indptr)
    width = max(1, int(counts.max(initial=0)))
    slots = np.arange(width) < counts[:, None]
    indices, distances = np.full(slots.shape, -1, dtype=np.intp), np.full(slots.shape, np.inf)
    indices[slots], distances[slots] = graph.indices, graph.data
    return NeighborGraph(indices, _check_lengths(distances, indices), "given")


def _check_indices(given: Any) -> IndexArray:
    try:
        indices = np.asarray(given)
    except ValueError:
        indices = np.empty(0)
    if indices.ndim != 2 or indices.dtype.kind not in "iu" or not indices.size:
        msg = (
            "neighbors as (indices, distances) must have a row of sample numbers for each sample, got indices of shape "
            f"{indices.shape} and kind {indices.dtype}. Fill short rows up with -1."
        )
        raise InputError(msg)
    if indices.min() < -1 or indices.max() >= len(indices):
        worst = int(indices.min() if indices.min() < -1 else indices.max())
        msg = (
            f"neighbors must be numbers of samples from 0 to {len(indices) - 1}, or -1 for none, got {worst}. "
            "Pass a graph of X itself."
        )
        raise InputError(msg)
    return indices.astype(np.intp)


def _check_lengths(given: Any, indices: IndexArray) -> FloatArray:
    """Return distances that belong to the indices; None stands for unknown ones, all alike."""
    if given is None:
        return np.where(indices >= 0, 1.0, np.inf)
    try:
        distances = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        distances = np.empty(0)
    if distances.shape != indices.shape:
        msg = (
            f"neighbors as (indices, distances) must have two arrays of one shape, got {indices.shape} and "
            f"{distances.shape}. Pass (indices, None) to have distances measured."
        )
        raise InputError(msg)
    known = distances[indices >= 0]
    if not ((known >= 0) & np.isfinite(known)).all():
        worst = known[~((known >= 0) & np.isfinite(known))][0]
        msg = f"neighbors must have finite distances of zero and more, got {worst}. {REMEDY}."
        raise InputError(msg)
    return np.where(indices >= 0, distances, np.inf)
