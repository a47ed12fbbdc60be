"""Bottom eigenvectors of G by shift-invert block Lanczos iteration on a sparse factorization.

(G + shift I)^-1 turns the smallest eigenvalues into the largest, factors of ten to a thousand apart, so that some four
solves with a block of 8 or 16 vectors find the wanted ones of a surface. The constant vector is projected out around
each solve: it would be the largest of all and drown the others.

Solves give the inverse in the space that they span for nothing, and with it how much the best vectors there still miss:
what the last block would add to them. That is added in the end, one more step of inverse iteration. The digits that the
factorization of G has lost come back when the eigenpairs in the span are taken by the lengths |A y| and |B y|
(`hne.core.eigen.certificate`).
"""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import triu
from scipy.sparse.linalg import splu

from hne._runtime.progress import step
from hne._runtime.random import random_generator
from hne.core.eigen.alignment import Alignment
from hne.core.eigen.cholesky import PAUSE, THREAD_NAME, NotPositiveDefiniteError, inverted
from hne.core.eigen.exchange import SHIFTS
from hne.core.eigen.iterative import centered
from hne.core.records import FloatArray, Solve, SparseMatrix
from hne.settings import Settings

logger = logging.getLogger("hne")

# Vectors a block for up to 6 wanted ones, and for more: a solve takes 8 at a time, on each of two threads. Of 20 on a
# roll of 5 000 samples, blocks of 8, 12, 16 and 22 take 7, 6, 5 and 4 steps.
NARROW, WIDE, NARROW_FOR = 8, 16, 6
# Vectors beyond the wanted ones in which eigenpairs are taken: the next eigenvalue, and what lost digits mixed in.
SPARE = 4
MAX_BLOCKS, BLOCKS_BEFORE_RESTART = 200, 12
# What vectors of a chart may miss of their span, relative to their eigenvalue in the inverse. Charts of rolls of 300 to
# 1 000 samples, with and without noise, of holes, S-curves, bands and severed spheres (eight each) are the same with
# .01 and .1, and move by a tenth with .5; with .1 the last eigenvalues are right to a tenth only, and the certificate
# refuses some.
CHART_MISSED = 0.01
# Share of the longest column from which a column adds to those before it: less is left to a slower way.
SKEWED = 1e-5
# What the last block would add to vectors that are found to all digits, relative to their eigenvalue in the inverse:
# where the next eigenvalue is the same, no plane is the right one.
EXACT = 1e-13


def direct_eigenvectors(alignment: Alignment, settings: Settings, n_threads: int = 1) -> FloatArray:
    """Basis (n, count + 4) of the bottom eigenvectors of G, ascending, the constant one left out.

    The wanted ones have converged to `tol`, the others are on their way.
    """
    n, count = alignment.n_samples, settings.n_eigenvectors(alignment.n_samples)
    width = min(NARROW if count <= NARROW_FOR else WIDE, n - 1)
    start = random_generator(settings.random_state).uniform(-1.0, 1.0, (n, width))
    solve = inverted(alignment, SHIFTS, n_threads)
    if settings.coordinates == "chart":
        return block_lanczos(solve, count, max(settings.tol, CHART_MISSED), start, is_span_enough=True)
    basis = block_lanczos(solve, count, settings.effective_tol, start)
    return np.hstack([basis, corrections(solve, alignment, basis)])[:, : n - 1]


def corrections(solve: Solve, alignment: Alignment, basis: FloatArray) -> FloatArray:
    """What brings back digits that the factorization has lost: the solver's answer to residuals that have them.

    Of those beyond the wanted ones as well, which may have the same eigenvalue.
    """
    orthonormal = np.linalg.qr(centered(basis))[0]
    triangle = np.linalg.qr(alignment.stacked(orthonormal), mode="r")
    lengths, rotation = np.linalg.svd(triangle)[1:]
    vectors = orthonormal @ rotation.T
    return solve(centered(alignment.apply(vectors) - vectors * lengths**2))


def block_lanczos(
    solve: Solve, count: int, tol: float, block: FloatArray, *, is_span_enough: bool = False
) -> FloatArray:
    """Vectors of the `count` largest eigenvalues of the solver, descending, and a few more.

    They have converged when what they miss turns their plane by less than `tol`; where their span is enough, when it is
    less than `tol` of their own eigenvalue: they may lean to those that come next.
    """
    space = KrylovSpace(block, BLOCKS_BEFORE_RESTART)
    missing = before = 1.0
    for number in range(1, MAX_BLOCKS + 1):
        step("block solves", number - 1, _expected(number - 1, missing, before, tol))
        space.add(solve(space.block))
        if space.dimension <= count and not space.is_full:
            continue
        values, missed = space.values, space.missed(count)
        gaps = values[:count] if is_span_enough else values[:count] - (values[count] if len(values) > count else 0.0)
        before, missing = missing, float((missed / np.maximum(gaps, np.finfo(float).tiny)).max())
        logger.debug("block %d: the plane misses %.1e", number, missing)
        if missing <= tol or space.is_full or (missed <= EXACT * values[:count]).all():
            logger.info("eigenpairs: %d solves with blocks of %d, %.1e missed", number, block.shape[1], missing)
            return space.vectors(count + SPARE)
        space.restart(2 * count + SPARE)
    msg = f"the plane still misses {missing:.1e} rad after {MAX_BLOCKS} block solves, tol={tol:g}"
    raise RuntimeError(msg)


def _expected(done: int, missing: float, before: float, tol: float) -> int | None:
    """Number of block solves in all, at the pace of the last one; None where there is none yet.

    >>> _expected(3, 1e-3, 1e-1, 1e-7)
    5
    """
    if not tol < missing < before:
        return None
    return done + int(np.ceil(np.log(missing / tol) / np.log(before / missing)))


class KrylovSpace:
    """Orthonormal basis of blocks without the constant, each the solver's answer to the one before, and what it does.

    `block` is the last one, to which there is no answer yet: solve(basis) = basis @ matrix + block @ border, the border
    being about the last block of the basis alone.
    """

    def __init__(self, start: FloatArray, max_blocks: int) -> None:
        n, width = start.shape
        # By columns: blocks are added at the end, and products take the first ones. Memory is taken as it is filled.
        self._basis = np.empty((n, (max_blocks + 1) * width), order="F")
        self._max = max_blocks * width
        self._matrix = np.empty((0, 0))
        self.block = np.linalg.qr(centered(start))[0]
        self._border = np.empty((0, 0))

    @property
    def dimension(self) -> int:
        """Number of vectors in the basis."""
        return len(self._matrix)

    @property
    def is_full(self) -> bool:
        """Whether nothing is left beside the constant."""
        return self.dimension >= len(self._basis) - 1

    def add(self, answer: FloatArray) -> None:
        """Take the block into the basis, and what the answer to it has that the basis has not as the next block."""
        old, size = self.dimension, self.dimension + self.block.shape[1]
        self._basis[:, old:size] = self.block
        basis, coupling, border = self._basis[:, :size], np.zeros((size, size - old)), np.eye(size - old)
        # Orthogonal to the basis and to the constant vector; twice is enough.
        for _ in range(2):
            answer = centered(answer)
            inner = basis.T @ answer
            answer, corner = orthonormalized(answer - basis @ inner)
            coupling, border = coupling + inner @ border, corner @ border
        matrix = np.zeros((size, size))
        matrix[:old, :old] = self._matrix
        matrix[:, old:], matrix[old:, :old] = coupling, coupling[:old].T
        matrix[old:, old:] = (coupling[old:] + coupling[old:].T) / 2
        room = len(basis) - 1 - size
        self._matrix, self.block, self._border = matrix, answer[:, :room], border[:room]
        values, coefficients = np.linalg.eigh(matrix)
        self.values, self._coefficients = values[::-1], coefficients[:, ::-1]

    def missed(self, count: int) -> FloatArray:
        """How far the answers to the first vectors are from being their multiples."""
        return np.linalg.norm(self._beyond(count), axis=0)

    def vectors(self, count: int) -> FloatArray:
        """The first vectors of the matrix, as the solver would answer to them, in unit length."""
        found = self._basis[:, : self.dimension] @ (self._coefficients[:, :count] * self.values[:count])
        found += self.block @ self._beyond(count)
        return found / np.linalg.norm(found, axis=0)

    def restart(self, count: int) -> None:
        """Go on from the first vectors alone, where there are as many as there is room for."""
        if self.dimension + self.block.shape[1] <= self._max:
            return
        best = self._basis[:, : self.dimension] @ self._coefficients[:, :count]
        self._basis[:, : best.shape[1]] = best
        self._matrix = np.diag(self.values[:count])

    def _beyond(self, count: int) -> FloatArray:
        width = self._border.shape[1]
        return self._border @ self._coefficients[self.dimension - width :, :count]


def orthonormalized(block: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormal columns, and the triangle that makes the block of them.

    By Cholesky, four times as fast as Householder, where columns differ enough: their products have half of the digits.
    """
    products = block.T @ block
    try:
        triangle = np.asarray(np.linalg.cholesky(products).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.linalg.qr(block)
    pivots = np.diag(triangle)
    if not pivots.min() > SKEWED * np.sqrt(np.diag(products).max()):
        return np.linalg.qr(block)
    return block @ np.linalg.inv(triangle), triangle


@contextmanager
def shift_inverted(upper: SparseMatrix, n_threads: int) -> Iterator[Solve]:  # noqa: ARG001, SuperLU has one thread
    """Lend a solver with a matrix + shift, for the smallest shift with which its factorization succeeds.

    The matrix is given by its upper triangle, CSR with the diagonal first in each row.
    """
    whole = (upper + triu(upper, k=1).T).tocsc()
    scale, factors = float(whole.diagonal().max()), []

    def factorize(shift: float) -> None:
        # A positive definite matrix needs no pivoting, and an ordering made for symmetric ones factors G six times
        # faster than the default, which is made for unsymmetric ones.
        options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        shifted = whole.copy()
        shifted.setdiag(whole.diagonal() + shift * scale)
        factors.append(splu(shifted, **options))

    # SciPy keeps account of SuperLU's memory by thread: of a factor that another thread than its own lets go of,
    # nothing is ever given back. So the thread that factors waits until it can do so itself. After an interrupt it ends
    # by itself, and the interpreter waits for that: C that calls back into a Python which is no more would crash.
    thread = ThreadPoolExecutor(1, THREAD_NAME)
    try:
        for shift in SHIFTS:
            factoring = thread.submit(factorize, shift)
            while not wait([factoring], PAUSE).done:
                pass
            # "Factor is exactly singular". Negative pivots it does not report: the certificate sees to those.
            error: Any = factoring.exception()
            if error is None:
                break
            if not isinstance(error, RuntimeError):
                raise error
            logger.info("eigenpairs: a shift of %g of the scale is too small", shift)
            if shift == SHIFTS[-1]:
                msg = f"SuperLU: {error}"
                raise NotPositiveDefiniteError(msg) from error
        # Not the method itself, which would hold the factor wherever it goes.
        yield lambda block: factors[0].solve(block)  # noqa: PLW0108
    finally:
        thread.submit(factors.clear)
        thread.shutdown(wait=False)
