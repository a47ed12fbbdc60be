"""Weights -> Alignment: A = I - W and B = I - J, whose G = gamma A'A + B'B is PSD with G @ 1 == 0."""

import numpy as np
from scipy.sparse import csr_array

from hne._types import Alignment, SparseMatrix, Weights, index_kind


def alignment(weights: Weights, gamma: float) -> Alignment:
    """Pair the two layers' deviations from being rebuilt; `gamma` weighs the inner layer."""
    return Alignment(A=deviation(weights.W), B=deviation(weights.J), gamma=gamma)


def deviation(W: SparseMatrix, first: int = 0) -> SparseMatrix:
    """I - W, or rows of it from the first on.

    A row without weights stays empty, for a sample that nobody rebuilds is not to be drawn to the origin.
    """
    rows = W.shape[0]
    is_rebuilt = (np.diff(W.indptr) > 0).astype(np.float64)
    # Indices of the kind that W has: SciPy would take the wider kind for all of the difference.
    kind = index_kind(max(W.nnz + rows, W.shape[1]))
    columns, ends = np.arange(first, first + rows, dtype=kind), np.arange(rows + 1, dtype=kind)
    identity = csr_array((is_rebuilt, columns, ends), shape=W.shape)
    return (identity - W).tocsr()
