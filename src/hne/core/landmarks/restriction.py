"""Alignment, Z -> the eigenproblem on landmarks: K c = lambda M c with K = Z'GZ and M = Z'Z, both (m, m).

The best that functions Z c can do (Galerkin): its eigenvalues are above those of G, and its vectors Z c are near the
eigenvectors as far as these are smooth at the distance of landmarks. Of the roll of 100 000 samples, eigenvalues on
10 000 landmarks are 10 and 4 times the wanted ones, which are 50 and more times below the next.
"""

import logging
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, triu

from hne._runtime.progress import track
from hne._runtime.random import random_generator
from hne._runtime.threads import map_blocks
from hne.core.records import Alignment, FloatArray, Solve, SparseMatrix, index_kind

logger = logging.getLogger("hne")

# Rows of A, B and Z that are multiplied at once: their products are as large as Z itself.
BLOCK_ROWS = 2**17
# Inverse iterations, and the angle at which the plane is at rest: what the restriction loses is far more.
MAX_STEPS, AT_REST = 100, 1e-6
# Vectors beyond the wanted ones, which make the iteration faster and are what refinement starts from.
SPARE = 4


@dataclass(frozen=True)
class Restriction:
    """The problem on landmarks."""

    K: SparseMatrix  # (m, m), Z'GZ
    M: SparseMatrix  # (m, m), Z'Z

    def upper(self) -> SparseMatrix:
        """Upper triangle of K: CSR with sorted columns, the diagonal first in each row."""
        upper = csr_array(triu(self.K, format="csr"))
        upper.sort_indices()
        return upper


def restricted(alignment: Alignment, Z: SparseMatrix, n_threads: int = 1) -> Restriction:
    """K and M, summed over blocks of samples in their order, whatever the number of threads."""
    starts = range(0, Z.shape[0], BLOCK_ROWS)

    def of_block(start: int) -> tuple[SparseMatrix, SparseMatrix]:
        rows = slice(start, start + BLOCK_ROWS)
        own, inner, joint = Z[rows], alignment.A[rows] @ Z, alignment.B[rows] @ Z
        return alignment.gamma * (inner.T @ inner) + joint.T @ joint, own.T @ own

    m = Z.shape[1]
    K, M = csr_array((m, m)), csr_array((m, m))
    with closing(map_blocks(of_block, starts, n_threads)) as blocks:
        for energy, mass in track("problem on landmarks", blocks, len(starts)):
            K, M = K + energy, M + mass
    return Restriction(_narrow(K), _narrow(M))


def _narrow(matrix: SparseMatrix) -> SparseMatrix:
    """CSR with indices as narrow as they can be."""
    kind = index_kind(max(matrix.nnz, matrix.shape[0]))
    parts = (matrix.data, matrix.indices.astype(kind, copy=False), matrix.indptr.astype(kind, copy=False))
    narrow = csr_array(parts, shape=matrix.shape)
    narrow.sort_indices()
    return narrow


def bottom_coefficients(problem: Restriction, solve: Solve, count: int, random_state: object) -> FloatArray:
    """Coefficients c (m, count + SPARE) of the bottom eigenvectors, ascending, Z c orthonormal, no constant.

    `solve` solves with K, or nearly: inverse iteration on a block of vectors.
    """
    m = problem.K.shape[0]
    width = min(count + SPARE, m - 1)
    block = random_generator(random_state).uniform(-1.0, 1.0, (m, width))
    plane = np.empty((m, 0))
    for step in range(1, MAX_STEPS + 1):
        block = _ritz(problem, solve(problem.M @ _without_constant(problem, block)))
        moved = _sine(problem, plane, block[:, :count])
        plane = block[:, :count]
        logger.debug("landmarks: inverse iteration %d moved the plane by %.1e", step, moved)
        if moved <= AT_REST:
            break
    return block


def _without_constant(problem: Restriction, block: FloatArray) -> FloatArray:
    """Take the constant, whose coefficients are all one, out of each Z c."""
    sums = problem.M.sum(axis=0)
    without: FloatArray = block - (sums @ block) / sums.sum()
    return without


def _ritz(problem: Restriction, block: FloatArray) -> FloatArray:
    """The best eigenvectors in the span of the block."""
    # Twice: once leaves columns that are as far from orthonormal as the first were from independent.
    for _ in range(2):
        block = _orthonormal(problem, _without_constant(problem, block))
    _, rotation = np.linalg.eigh(block.T @ (problem.K @ block))
    rotated: FloatArray = block @ rotation
    return rotated


def _orthonormal(problem: Restriction, block: FloatArray) -> FloatArray:
    # Coefficients first: an inverse makes all columns alike where it has an eigenvalue far above the others.
    basis, _ = np.linalg.qr(block)
    root = np.linalg.cholesky(basis.T @ (problem.M @ basis))
    orthonormal: FloatArray = np.linalg.solve(root, basis.T).T
    return orthonormal


def _sine(problem: Restriction, plane: FloatArray, other: FloatArray) -> float:
    """Sine of the largest angle between the planes Z c; 1 where one is missing."""
    if plane.shape != other.shape:
        return 1.0
    apart = plane - other @ (other.T @ (problem.M @ plane))
    return float(np.sqrt(max(0.0, np.linalg.eigvalsh(apart.T @ (problem.M @ apart))[-1])))
