"""X, J -> X rebuilt: each sample as the weighted sum of its outer layer, and how far off that is."""

import numpy as np
from scipy.sparse import issparse

from hne.core.records import FloatArray, IndexArray, SparseMatrix
from hne.core.samples.kinds import Distances, Samples, gram_of_distances, row_lengths, width

BLOCK_BYTES = 2**25


def reconstruct(X: FloatArray | SparseMatrix, J: SparseMatrix) -> FloatArray | SparseMatrix:
    """Rebuild targets (t, D) from the samples X by weights J (t, n), whose rows sum to one."""
    if issparse(X):
        return J @ X
    # J X = mean + J (X - mean), which keeps the digits of data far from the origin.
    center = X.mean(axis=0)
    rebuilt: FloatArray = J @ (X - center) + center
    return rebuilt


def reconstruction_errors(X: Samples, J: SparseMatrix) -> FloatArray:
    """Length of x_i - sum_j J_ij x_j for each sample, the error of the paper's tables; NaN where row i is empty."""
    if isinstance(X, Distances):
        errors = _errors_from_distances(X, J)
    else:
        errors = np.empty(X.shape[0])
        centered = X if issparse(X) else X - X.mean(axis=0)
        block = max(1, BLOCK_BYTES // (8 * width(X) * (max(1, J.nnz // J.shape[0]) if issparse(X) else 1)))
        for start in range(0, len(errors), block):
            rows = slice(start, start + block)
            errors[rows] = row_lengths(centered[rows] - J[rows] @ centered)
    errors[np.diff(J.indptr) == 0] = np.nan
    return errors


def errors_of_rows(near: FloatArray, rows: IndexArray, J: SparseMatrix) -> FloatArray:
    """The same for some of the samples near each other, where J has the weights of those rows alone."""
    centered = near - near.mean(axis=0)
    errors = row_lengths(centered[rows] - J @ centered)
    errors[np.diff(J.indptr) == 0] = np.nan
    return errors


def _errors_from_distances(X: Distances, J: SparseMatrix) -> FloatArray:
    """|x - J x|^2 = v' K v with K the Gram matrix of the differences from x, for rows with equally many weights."""
    errors, sizes = np.zeros(X.shape[0]), np.diff(J.indptr)
    for size in np.unique(sizes[sizes > 0]):
        of_size = np.flatnonzero(sizes == size)
        step = max(1, BLOCK_BYTES // (8 * int(size) ** 2))
        for start in range(0, len(of_size), step):
            rows = of_size[start : start + step]
            entries = J.indptr[rows][:, None] + np.arange(size)
            ids, v = J.indices[entries].astype(np.intp), J.data[entries]
            K, unit = gram_of_distances(X, X[rows], ids)
            errors[rows] = unit * np.sqrt(np.maximum(np.einsum("bi,bij,bj->b", v, K, v), 0.0))
    return errors
