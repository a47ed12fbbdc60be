"""X, J -> X rebuilt: each sample as the weighted sum of its outer layer, and how far off that is."""

import numpy as np

from hne._types import FloatArray, SparseMatrix

BLOCK_BYTES = 2**25


def rebuild(X: FloatArray, J: SparseMatrix) -> FloatArray:
    """Rebuild targets (t, D) from the samples X by weights J (t, n), whose rows sum to one."""
    # J X = mean + J (X - mean), which keeps the digits of data far from the origin.
    center = X.mean(axis=0)
    rebuilt: FloatArray = J @ (X - center) + center
    return rebuilt


def reconstruction_errors(X: FloatArray, J: SparseMatrix) -> FloatArray:
    """Length of x_i - sum_j J_ij x_j for each sample, the error of the paper's tables."""
    centered = X - X.mean(axis=0)
    errors = np.empty(len(X))
    block = max(1, BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(X), block):
        rows = slice(start, start + block)
        errors[rows] = np.linalg.norm(centered[rows] - J[rows] @ centered, axis=1)
    return errors
