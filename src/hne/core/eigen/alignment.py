"""Weights -> Alignment: A = I - W and B = I - J, whose G = gamma A'A + B'B is PSD with G @ 1 == 0."""

from contextlib import closing
from typing import Any

import numpy as np
from scipy.sparse import csr_array, triu

from hne._runtime.progress import track
from hne._runtime.threads import load_unbroken, map_blocks
from hne.core.records import Alignment, SparseMatrix, Weights, index_kind


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


# Multiplications below which SciPy's product, near 20 ns each, is done before numba is loaded.
NUMBA_MIN_WORK = 30_000_000
# Rows a block, and its multiplications, near 10 ns each: half a second that an interrupt may have to wait.
BLOCK_ROWS, BLOCK_WORK = 16_384, 50_000_000


def upper_triangle(alignment: Alignment, n_threads: int = 1, kernel: str | None = None) -> SparseMatrix:
    """Upper triangle of G, diagonal included: CSR with sorted columns, int32 where they fit.

    `kernel` is "scipy" or "numba", None to choose by the amount of work.
    """
    A, B = alignment.A, alignment.B
    work = int((np.diff(A.indptr) ** 2).sum() + (np.diff(B.indptr) ** 2).sum())
    kernel = kernel or ("numba" if work >= NUMBA_MIN_WORK else "scipy")
    if kernel == "scipy":
        upper = csr_array(triu(alignment.matrix(), format="csr"))
        upper.sort_indices()
        return upper
    block_rows = max(1, min(BLOCK_ROWS, BLOCK_WORK * A.shape[0] // max(1, work)))
    return _compiled_triangle(A, B, alignment.gamma, n_threads, block_rows)


def _compiled_triangle(A: SparseMatrix, B: SparseMatrix, gamma: float, n_threads: int, block_rows: int) -> SparseMatrix:
    # numba is loaded where it is worth it, and its functions have no signature that a type checker reads.
    kernels: Any = load_unbroken("hne.core.eigen.numba_triangle")
    n = A.shape[0]
    columns_A, columns_B = A.tocsc(), B.tocsc()
    patterns = [part for matrix in (A, columns_A, B, columns_B) for part in (matrix.indptr, matrix.indices)]
    blocks = [(start, min(start + block_rows, n)) for start in range(0, n, block_rows)]
    with closing(map_blocks(lambda block: kernels.count_entries(*block, *patterns), blocks, n_threads)) as numbers:
        row_entries = np.concatenate(list(track("pattern of G", numbers, len(blocks))))
    indptr = np.concatenate([[0], np.cumsum(row_entries)])
    indptr = indptr.astype(index_kind(indptr[-1]))
    indices, data = np.empty(indptr[-1], dtype=indptr.dtype), np.empty(indptr[-1])
    values = [matrix.data for matrix in (A, columns_A, B, columns_B)]
    fill = map_blocks(
        lambda block: kernels.fill_entries(*block, gamma, *patterns, *values, indptr, indices, data),
        blocks,
        n_threads,
    )
    with closing(fill) as filled:
        for _ in track("entries of G", filled, len(blocks)):
            pass
    return csr_array((data, indices, indptr), shape=(n, n))
