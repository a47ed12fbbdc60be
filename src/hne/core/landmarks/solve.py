"""Alignment, X -> EigenPairs: the problem on landmarks solved, then refined on all samples.

Nothing here is as large as G: A, B and Z, a few blocks of vectors, and the factor of a matrix on landmarks. What comes
out has been improved for a while rather than solved to the end, and its certificate says how far: residuals are
measured, eigenvalues are Ritz values and so upper bounds, and `last_move` tells by how much the last step still
improved the plane.
"""

import logging
from contextlib import closing

import numpy as np
from scipy.sparse import csr_array

from hne._runtime.progress import track
from hne._runtime.random import random_generator
from hne._runtime.threads import limit_blas_threads, map_blocks
from hne.core.eigen.costs import BASIS_BLOCKS, SPARE_VECTORS
from hne.core.eigen.direct import shift_inverted
from hne.core.eigen.solve import eigenpairs_in
from hne.core.eigen.subspace import RitzSpace, centered, chebyshev, sine_between
from hne.core.landmarks.restriction import bottom_coefficients, restricted
from hne.core.neighbors.exact import nearest
from hne.core.records import (
    LANDMARKS,
    Alignment,
    EigenPairs,
    FloatArray,
    IndexArray,
    Settings,
    Solve,
    SparseMatrix,
    index_kind,
    nearest_landmarks,
)
from hne.exceptions import EigenSolverError

logger = logging.getLogger("hne")


def landmark_eigenpairs(
    alignment: Alignment, settings: Settings, n_landmarks: int, samples: FloatArray, n_threads: int = 1
) -> EigenPairs:
    """Close to eigenpairs 2 .. d+1 of G, found on so many landmarks and refined.

    The result depends on the number of threads as little as that of `bottom_eigenpairs`.
    """
    try:
        with limit_blas_threads(1):
            basis, moved = _basis(alignment, settings, n_landmarks, samples, n_threads)
            _check_finite(basis)
            return eigenpairs_in(basis, alignment, settings.n_eigenvectors(alignment.n_samples), LANDMARKS, moved)
    except (RuntimeError, np.linalg.LinAlgError) as error:
        n, reason = alignment.n_samples, str(error) or type(error).__name__
        msg = (
            f"no result on {n_landmarks} landmarks for the {n} x {n} alignment matrix ({reason}). Try another "
            f"n_landmarks, or a larger reg (now {settings.reg:g})."
        )
        raise EigenSolverError(msg) from error


def _check_finite(basis: FloatArray) -> None:
    """Raise RuntimeError for NaN, which no iteration recovers from."""
    if not np.isfinite(basis).all():
        msg = "it gave NaN"
        raise RuntimeError(msg)


def _basis(
    alignment: Alignment, settings: Settings, n_landmarks: int, samples: FloatArray, n_threads: int
) -> tuple[FloatArray, float]:
    d, seed = settings.n_components, settings.random_state
    count = settings.n_eigenvectors(alignment.n_samples)
    landmarks = choose_landmarks(samples, n_landmarks, seed, n_threads)
    Z = interpolation(samples, landmarks, d, n_threads)
    problem = restricted(alignment, Z, n_threads)
    logger.info("landmarks: %d of %d samples, %d entries a row", *Z.shape[::-1], problem.K.nnz // n_landmarks)
    with shift_inverted(problem.upper(), n_threads) as solve:
        coefficients = bottom_coefficients(problem, solve, count, seed)
        start = Z @ coefficients[:, : count + SPARE_VECTORS[LANDMARKS]]
        return refined(alignment, Z, solve, start, count, settings.effective_tol)


# Samples a landmark among which landmarks are moved, and how often.
SAMPLES_A_LANDMARK, ROUNDS = 20, 3


def choose_landmarks(X: FloatArray, count: int, random_state: object, n_threads: int = 1) -> IndexArray:
    """Numbers of `count` evenly spread samples, ascending; the samples are all different."""
    random = random_generator(random_state)
    some = np.sort(random.permutation(len(X))[: SAMPLES_A_LANDMARK * count])
    among = X[some]
    chosen = np.sort(random.permutation(len(some))[:count])
    for _ in range(ROUNDS):
        near = nearest(among[chosen], among, 1, None, n_threads)[0][:, 0]
        chosen = _most_central(among, near, count)
    return some[chosen]


def _most_central(X: FloatArray, near: IndexArray, count: int) -> IndexArray:
    """Of the samples of each landmark, `near` of theirs, the one nearest to their center; ascending."""
    # Every landmark has a sample: itself, for no other is as near.
    cells = csr_array((np.ones(len(near)), (near, np.arange(len(near)))), shape=(count, len(near)))
    centers = (cells @ X) / np.bincount(near, minlength=count)[:, None]
    away = np.empty(len(X))
    step = max(1, 2**22 // X.shape[1])
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        away[rows] = ((X[rows] - centers[near[rows]]) ** 2).sum(axis=1)
    order = np.lexsort((away, near))
    is_first = np.diff(near[order], prepend=-1) > 0
    return np.sort(order[is_first])


# rho relative to the trace of Q Q': a ridge of 1e-4 bends planes, 1e-8 changes nothing any more.
RIDGE = 1e-6
# How little a landmark may count, for samples as far from all of them.
LEAST = 1e-9
# Samples whose landmarks are searched at once, and whose weights are solved for at once.
SEARCH_ROWS, BLOCK_ROWS, BLOCK_BYTES = 2**19, 2**13, 2**25


def interpolation(X: FloatArray, landmarks: IndexArray, n_components: int, n_threads: int = 1) -> SparseMatrix:
    """Z, a CSR matrix of n rows with q entries each, columns ascending."""
    L, q, n = X[landmarks], nearest_landmarks(n_components), len(X)
    columns, values = np.empty((n, q), dtype=index_kind(n * q)), np.empty((n, q))
    block = max(1, min(BLOCK_ROWS, BLOCK_BYTES // (8 * q * X.shape[1])))
    for start in track("landmarks of samples", range(0, n, SEARCH_ROWS), -(-n // SEARCH_ROWS)):
        stop = min(start + SEARCH_ROWS, n)
        near, lengths, _ = nearest(L, X[start:stop], q + 1, None, n_threads)

        def solve(first: int, start: int = start, near: IndexArray = near, lengths: FloatArray = lengths) -> None:
            some = slice(first, first + block)
            own, fading = _ascending(near[some, :q], _fading(lengths[some]))
            rows = slice(start + first, start + first + len(own))
            columns[rows], values[rows] = own, smooth_weights(L[own] - X[rows, None], fading)

        with closing(map_blocks(solve, range(0, stop - start, block), n_threads)) as solved:
            for _ in solved:
                pass
    ends = np.arange(0, n * q + 1, q, dtype=columns.dtype)
    return csr_array((values.ravel(), columns.ravel(), ends), shape=(n, len(landmarks)))


def _fading(lengths: FloatArray) -> FloatArray:
    """How much each landmark but the last counts, by its distance beside that of the last."""
    ratios = lengths[:, :-1] / lengths[:, -1:]
    fading: FloatArray = np.maximum((1 - ratios**2) ** 3, LEAST)
    return fading


def _ascending(own: IndexArray, fading: FloatArray) -> tuple[IndexArray, FloatArray]:
    order = np.argsort(own, axis=1)
    return np.take_along_axis(own, order, axis=1), np.take_along_axis(fading, order, axis=1)


def smooth_weights(Q: FloatArray, fading: FloatArray) -> FloatArray:
    """Weights (b, q) with which points at the differences Q (b, q, D) rebuild the origin; see the top of the file."""
    # With v = u sqrt(s): (sqrt(s) Q Q' sqrt(s) + rho I) u is proportional to sqrt(s), and nothing is divided by s.
    roots = np.sqrt(fading)
    scaled = roots[:, :, None] * Q
    matrices = scaled @ scaled.transpose(0, 2, 1)
    slots = np.arange(Q.shape[1])
    matrices[:, slots, slots] += RIDGE * np.einsum("bij,bij->b", Q, Q)[:, None]
    weights = roots * np.linalg.solve(matrices, roots[:, :, None])[:, :, 0]
    normalized: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return normalized


# Steps, few because each costs as much as a dozen products with G, and the blocks of vectors that the basis may have.
STEPS, BLOCKS, BLOCKS_KEPT = 4, BASIS_BLOCKS[LANDMARKS], 2
# Chebyshev steps, and the share of the spectrum that they damp: the upper 39/40, to a tenth.
SMOOTHING_STEPS, SMOOTHED_RATIO = 10, 40.0


def refined(
    alignment: Alignment, Z: SparseMatrix, solve: Solve, start: FloatArray, count: int, tol: float
) -> tuple[FloatArray, float]:
    """Ritz vectors (n, width) after the last step, and the angle by which the first `count` moved in it.

    `start` (n, width) has no constant in its span; `solve` solves with Z'GZ.
    """
    smooth = chebyshev(alignment.apply, alignment.diagonal(), SMOOTHING_STEPS, SMOOTHED_RATIO)
    width = start.shape[1]
    space = RitzSpace(alignment, BLOCKS * width)
    space.add(start)
    values, best = space.ritz(width)
    moved = np.inf
    for step in track("refinements", range(STEPS), STEPS):
        residuals = centered(alignment.apply(best) - best * values[:width])
        # The basis makes room for one more block.
        if space.dimension + width > BLOCKS * width:
            space.keep(BLOCKS_KEPT * width)
        space.add(smooth(Z @ solve(Z.T @ residuals), residuals))
        plane = best[:, :count]
        values, best = space.ritz(width)
        moved = sine_between(plane, best[:, :count])
        logger.info("landmarks: refinement %d moved the plane by %.1e, values %s", step + 1, moved, values[: count + 1])
        if moved <= tol:
            break
    return best, moved
