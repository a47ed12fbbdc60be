"""Weights -> Alignment: A = I - W and B = I - J, whose G = gamma A'A + B'B is PSD with G @ 1 == 0."""

import numpy as np
from scipy.sparse import csr_array

from hne._types import Alignment, SparseMatrix, Weights, index_kind


def alignment(weights: Weights, gamma: float) -> Alignment:
    """Pair the two layers' deviations from being rebuilt; `gamma` weighs the inner layer."""
    return Alignment(A=_deviation(weights.W), B=_deviation(weights.J), gamma=gamma)


def _deviation(W: SparseMatrix) -> SparseMatrix:
    """I - W; a row without weights stays empty, for a sample that nobody rebuilds is not to be drawn to the origin."""
    n = W.shape[0]
    is_rebuilt = (np.diff(W.indptr) > 0).astype(np.float64)
    # Indices of the kind that W has: SciPy would take the wider kind for all of the difference.
    kind = index_kind(W.nnz + n)
    identity = csr_array((is_rebuilt, np.arange(n, dtype=kind), np.arange(n + 1, dtype=kind)), shape=(n, n))
    return (identity - W).tocsr()
