"""Weights -> Alignment: A = I - W and B = I - J, whose G = gamma A'A + B'B is PSD with G @ 1 == 0."""

from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from hne import _kernels
from hne._runtime.progress import track
from hne._runtime.threads import map_blocks
from hne.core.records import FloatArray, SparseMatrix, Weights, index_kind

# Rows a block, and its multiplications, near 10 ns each: half a second that an interrupt may have to wait.
BLOCK_ROWS, BLOCK_WORK, MIN_BLOCKS = 16_384, 50_000_000, 8


class Operator(Protocol):
    """G as what can be done with it, wherever A and B are."""

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""

    def diagonal(self) -> FloatArray:
        """Diagonal of G."""

    def stacked(self, Y: FloatArray) -> FloatArray:
        """[sqrt(gamma) A Y; B Y]."""

    def apply(self, Y: FloatArray) -> FloatArray:
        """G @ Y."""


@dataclass(frozen=True)
class Alignment:
    """A = I - W and B = I - J; G = gamma A'A + B'B is symmetric, PSD, and G @ 1 == 0."""

    A: SparseMatrix
    B: SparseMatrix
    gamma: float

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""
        return int(self.A.shape[0])

    def matrix(self) -> SparseMatrix:
        """G itself, CSC with sorted indices."""
        G = (self.gamma * (self.A.T @ self.A) + self.B.T @ self.B).tocsc()
        G.sort_indices()
        return G

    def diagonal(self) -> FloatArray:
        """Diagonal of G; its largest entry is the scale of G."""
        return self.gamma * self.A.power(2).sum(axis=0) + self.B.power(2).sum(axis=0)

    def stacked(self, Y: FloatArray) -> FloatArray:
        """[sqrt(gamma) A Y; B Y]: its squared column lengths are the Rayleigh quotients of Y's columns."""
        n = self.n_samples
        image = np.empty((2 * n, Y.shape[1]))
        image[:n] = self.A @ Y
        image[:n] *= np.sqrt(self.gamma)
        image[n:] = self.B @ Y
        return image

    def apply(self, Y: FloatArray) -> FloatArray:
        """G @ Y without forming G, which keeps digits that the product A'A has lost."""
        product: FloatArray = self.A.T @ (self.A @ Y)
        product *= self.gamma
        product += self.B.T @ (self.B @ Y)
        return product


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
    return (csr_array((is_rebuilt, columns, ends), shape=W.shape) - W).tocsr()


def upper_triangle(alignment: Alignment, n_threads: int = 1, block_rows: int = BLOCK_ROWS) -> SparseMatrix:
    """Upper triangle of G, diagonal included: CSR with sorted columns, int32 where they fit."""
    A, B, n = alignment.A, alignment.B, alignment.n_samples
    work = int((np.diff(A.indptr) ** 2).sum() + (np.diff(B.indptr) ** 2).sum())
    # So that each of a few threads has some.
    block_rows = max(1, min(block_rows, BLOCK_WORK * n // max(1, work), 1 + n // MIN_BLOCKS))
    blocks = [(start, min(start + block_rows, n)) for start in range(0, n, block_rows)]
    matrices = (A, A.tocsc(), B, B.tocsc())
    kind = np.result_type(*(part for matrix in matrices for part in (matrix.indptr, matrix.indices)))
    patterns = [part.astype(kind, copy=False) for matrix in matrices for part in (matrix.indptr, matrix.indices)]
    values = [matrix.data for matrix in matrices]
    row_entries = np.empty(n, dtype=np.int64)
    kernels: Any = _kernels  # their arguments come in lists

    def count(block: tuple[int, int]) -> None:
        kernels.count_entries(*block, *patterns, row_entries)

    with closing(map_blocks(count, blocks, n_threads)) as counted:
        for _ in track("pattern of G", counted, len(blocks)):
            pass
    indptr = np.concatenate([[0], np.cumsum(row_entries)])
    indices, data = np.empty(indptr[-1], dtype=kind), np.empty(indptr[-1])

    def fill(block: tuple[int, int]) -> None:
        kernels.fill_entries(*block, alignment.gamma, *patterns, *values, indptr, indices, data)

    with closing(map_blocks(fill, blocks, n_threads)) as filled:
        for _ in track("entries of G", filled, len(blocks)):
            pass
    indices_kind = index_kind(max(indptr[-1], n))
    return csr_array((data, indices.astype(indices_kind, copy=False), indptr.astype(indices_kind)), shape=(n, n))
