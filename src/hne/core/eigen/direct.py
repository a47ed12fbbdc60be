"""Bottom eigenvectors of G by shift-invert block Krylov iteration on a sparse factorization.

(G + shift I)^-1 turns the smallest eigenvalues into the largest, factors of ten to a thousand apart, so that some four
solves with a block of d + 2 vectors find the wanted ones of a surface; a block of four costs about two single solves.
The constant vector is projected out around each solve: it would be the largest of all and drown the others.

Ritz vectors come from the lengths |A y| and |B y| rather than from the inverse, and the iteration ends when their span
no longer moves: residuals in G would not tell, being all rounding noise of high frequency that hardly turns the plane.

Samples are taken in an order in which neighbors are near in memory (reverse Cuthill-McKee), which makes the assembly of
G four times faster.
"""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
from scipy.sparse.csgraph import reverse_cuthill_mckee

from hne._runtime.progress import track
from hne._runtime.random import random_generator
from hne.core.eigen.alignment import Alignment, upper_triangle
from hne.core.eigen.costs import BASIS_BLOCKS, SPARE_VECTORS
from hne.core.eigen.exchange import SHIFTS
from hne.core.eigen.factor import NotPositiveDefiniteError, factorized
from hne.core.eigen.iterative import RitzSpace, centered, sine_between
from hne.core.records import FloatArray, IndexArray, Solve, SparseMatrix
from hne.settings import Settings

logger = logging.getLogger("hne")

MAX_BLOCKS, BLOCKS_BEFORE_RESTART, BLOCKS_KEPT = 200, BASIS_BLOCKS["direct"], 6
# Residuals of found eigenvectors, in units of what one rounding of G's largest entry makes.
ROUNDING = 100
# A plane that moves by less than this, and no less than the step before, is shaken by the rounding of G alone.
SHAKING = 1e-5
# Gaps up to which that happens, in the same units (a roll of a million samples: 300; it shakes by 1e-7).
SHAKEN = 1e4


def direct_eigenvectors(alignment: Alignment, settings: Settings, n_threads: int = 1) -> FloatArray:
    """Orthonormal basis (n, count + 2) of the bottom eigenvectors of G, ascending, the constant one left out.

    The wanted ones have converged to `tol`, the others are on their way.
    """
    order, local = in_local_order(alignment)
    n, count = alignment.n_samples, settings.n_eigenvectors(alignment.n_samples)
    start = random_generator(settings.random_state).uniform(-1.0, 1.0, (n, count + SPARE_VECTORS["direct"]))
    with shift_inverted(upper_triangle(local, n_threads), n_threads) as solve:
        vectors = block_krylov(solve, local, count, settings.effective_tol, start)
    basis = np.empty_like(vectors)
    basis[order] = vectors
    return basis


def in_local_order(alignment: Alignment) -> tuple[IndexArray, Alignment]:
    """An order of the samples in which neighbors are near each other, and the alignment of the samples in it."""
    order = reverse_cuthill_mckee(alignment.A)
    A, B = (matrix[order][:, order].tocsr() for matrix in (alignment.A, alignment.B))
    A.sort_indices()
    B.sort_indices()
    return order, Alignment(A, B, alignment.gamma)


@contextmanager
def shift_inverted(upper: SparseMatrix, n_threads: int) -> Iterator[Solve]:
    """Lend a solver with G + shift, for the smallest shift with which its factorization succeeds.

    G is given by its upper triangle, CSR with the diagonal first in each row, which is changed.
    """
    scale, shifted_by = float(upper.diagonal().max()), 0.0
    with ExitStack() as factor:
        for shift in SHIFTS:
            # The diagonal is each row's first entry.
            upper.data[upper.indptr[:-1]] += (shift - shifted_by) * scale
            shifted_by = shift
            try:
                solve = factor.enter_context(factorized(upper, None, n_threads))
                break
            except NotPositiveDefiniteError:
                logger.info("eigenpairs: a shift of %g of the scale of G is too small", shift)
                if shift == SHIFTS[-1]:
                    raise
        del upper
        yield solve


def block_krylov(solve: Solve, alignment: Alignment, count: int, tol: float, block: FloatArray) -> FloatArray:
    """Ritz vectors, ascending, in the Krylov space of the solver, until the first `count` span a resting plane."""
    n, width = block.shape
    space, plane, before = RitzSpace(alignment, (BLOCKS_BEFORE_RESTART + 1) * width), np.empty((n, 0)), 1.0
    digits = np.finfo(float).eps * alignment.diagonal().max()
    for step in track("block solves", range(MAX_BLOCKS)):
        block = space.add(solve(centered(block)))
        values, ritz = space.ritz(width)
        moved = sine_between(plane, ritz[:, :count])
        logger.debug("block %d: the plane moved by %.1e", step + 1, moved)
        gap = values[count] - values[count - 1] if len(values) > count else np.inf
        # Eigenvalues that are equal to all digits, both found: no plane will come to rest. Below rounding, eigenvalues
        # may look equal that are not: a plane gets its time.
        is_free = step >= BLOCKS_BEFORE_RESTART and gap <= digits
        if is_free:
            residuals = alignment.apply(ritz[:, : count + 1]) - ritz[:, : count + 1] * values[: count + 1]
            is_free = bool((np.linalg.norm(residuals, axis=0) <= ROUNDING * digits).all())
        is_shaking = before <= SHAKING and moved >= before and gap <= SHAKEN * digits
        # All that is orthogonal to the constant vector has n - 1 dimensions.
        if moved <= tol or space.dimension == n - 1 or is_free or is_shaking:
            logger.info("eigenpairs: %d solves with blocks of %d, the last moved by %.1e", step + 1, width, moved)
            return ritz
        plane, before = ritz[:, :count], moved
        if space.dimension >= BLOCKS_BEFORE_RESTART * width:
            space.keep(BLOCKS_KEPT * width)
            block = ritz
    msg = f"the plane still moves by {moved:.1e} rad after {MAX_BLOCKS} block solves, tol={tol:g}"
    raise RuntimeError(msg)
