"""Alignment, X -> EigenPairs: the problem on landmarks solved, then refined on all samples.

Nothing here is as large as G: A, B and Z, a few blocks of vectors, and the factor of a matrix on landmarks. What comes
out has been improved for a while rather than solved to the end, and its certificate says how far: residuals are
measured, eigenvalues are Ritz values and so upper bounds, and `last_move` tells by how much the last step still
improved the plane.
"""

import logging

import numpy as np

from hne._costs import SPARE_VECTORS
from hne._eigen import eigenpairs_in, shift_inverted
from hne._landmarks._choice import choose_landmarks
from hne._landmarks._interpolation import interpolation
from hne._landmarks._refinement import refined
from hne._landmarks._restriction import bottom_coefficients, restricted
from hne._threads import library_threads
from hne._types import LANDMARKS, Alignment, EigenPairs, FloatArray, Settings
from hne.exceptions import EigenSolverError

logger = logging.getLogger("hne")


def landmark_eigenpairs(
    alignment: Alignment, settings: Settings, n_landmarks: int, samples: FloatArray, n_threads: int = 1
) -> EigenPairs:
    """Close to eigenpairs 2 .. d+1 of G, found on so many landmarks and refined.

    The result depends on the number of threads as little as that of `bottom_eigenpairs`.
    """
    try:
        with library_threads(1):
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
