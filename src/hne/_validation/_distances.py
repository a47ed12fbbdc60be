"""X -> Distances: what is given with metric="precomputed", and every message about it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from hne._samples import Distances, shortest_links
from hne._types import SparseMatrix
from hne._validation._tables import check_matrix, check_stored
from hne.exceptions import InputError

# Relative to the largest distance: what programs that sum in different order disagree by.
SYMMETRY = 1e-6
BLOCK_BYTES = 2**25
# From this share of stored entries on, a sparse matrix may be a full one whose zeros went unstored.
FULL = 0.5


def check_square(X: ArrayLike) -> Distances:
    """Return the distances of samples among each other: symmetric, with nothing between a sample and itself."""
    distances = check_distances(X)
    if distances.shape[0] != distances.shape[1]:
        msg = (
            f"X must be square (distances of samples to each other) with metric='precomputed', got shape "
            f"{distances.shape}. Pass pairwise distances, or coordinates with another metric."
        )
        raise InputError(msg)
    if not distances.is_complete:
        return Distances(_with_copies(_symmetric(distances.matrix)))
    matrix = distances.matrix
    largest, block = float(matrix.max(initial=0.0)), max(1, BLOCK_BYTES // (8 * max(1, len(matrix))))
    itself = np.diagonal(matrix)
    if len(itself) and itself.max() > SYMMETRY * largest:
        row = int(itself.argmax())
        msg = (
            f"X must have zero distance of samples to themselves, got {itself[row]:.3g} in row {row}. "
            "Pass distances, not similarities."
        )
        raise InputError(msg)
    for start in range(0, len(matrix), block):
        off = np.abs(matrix[start : start + block] - matrix[:, start : start + block].T)
        if off.max() > SYMMETRY * largest:
            row, column = (int(number) for number in np.unravel_index(off.argmax(), off.shape))
            row += start
            msg = (
                f"X must be symmetric with metric='precomputed', got {matrix[row, column]:.6g} from sample {row} to "
                f"{column} and {matrix[column, row]:.6g} back. Pass X + X.T of a triangle, else (X + X.T) / 2."
            )
            raise InputError(msg)
    if itself.any():
        matrix = np.array(matrix)
        np.fill_diagonal(matrix, 0.0)
    return Distances(matrix)


def _symmetric(graph: SparseMatrix) -> SparseMatrix:
    """The graph with each distance known from both ends, and zero from a sample to itself."""
    n, entries = graph.shape[0], graph.tocoo()
    everyone = np.arange(n)
    rows = np.concatenate([entries.row, entries.col, everyone])
    columns = np.concatenate([entries.col, entries.row, everyone])
    values = np.concatenate([entries.data, entries.data, np.zeros(n)])
    values[rows == columns] = 0.0
    rows, columns, values = shortest_links(rows, columns, values)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return csr_array((values, columns, ends), shape=(n, n))


def _with_copies(graph: SparseMatrix) -> SparseMatrix:
    """A nearly full graph with the zeros that went unstored.

    Samples are copies if neither's distance to the other is stored, the same others are, and these are as far of both.
    """
    n = graph.shape[0]
    if graph.nnz == n * n or graph.nnz < FULL * n * n:
        return graph
    full = np.full(graph.shape, np.nan)
    full[np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices] = graph.data
    known = ~np.isnan(full)
    known[np.arange(n), np.arange(n)] = False
    alike: dict[bytes, list[int]] = {}
    for row in range(n):
        alike.setdefault(known[row].tobytes(), []).append(row)
    for members in alike.values():
        rows = np.array(members)
        others = known[rows[0]]
        if len(rows) > 1 and others.any() and not others[rows].any():
            values = full[np.ix_(rows, np.flatnonzero(others))]
            if np.ptp(values, axis=0).max() <= SYMMETRY * graph.data.max():
                full[np.ix_(rows, rows)] = 0.0
    known = ~np.isnan(full)
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    return csr_array((full[known], np.nonzero(known)[1], ends), shape=graph.shape)


def check_distances(X: ArrayLike) -> Distances:
    if getattr(X, "ndim", 2) == 1:
        msg = (
            "X must be a matrix of distances with metric='precomputed', got one dimension. Reshape your data: "
            "scipy.spatial.distance.squareform(X) of condensed distances, X.reshape(1, -1) for one sample."
        )
        raise InputError(msg)
    matrix: Any = check_stored(X) if issparse(X) else check_matrix(X)
    values = matrix.data if issparse(matrix) else matrix
    if values.size and values.min() < 0:
        msg = (
            f"X must hold distances with metric='precomputed', got {values.min():.3g} (Negative values in data). "
            "Pass distances, not similarities."
        )
        raise InputError(msg)
    if issparse(matrix) and matrix.nnz > matrix.shape[0] and values.any() and (values[values > 0] == 1).all():
        msg = (
            "X as a graph must hold distances, got ones alone. Pass mode='distance' to KNeighborsTransformer, or fit "
            "the coordinates and pass the graph as neighbors=."
        )
        raise InputError(msg)
    return Distances(matrix)
