"""Choice of the solver, and what every solver's answer goes through before anyone sees it.

A solver returns a basis of the wanted subspace. Rayleigh-Ritz in that basis, on the factors A and B instead
of their products, then gives eigenvalues as squared lengths gamma |A y|^2 + |B y|^2, which keeps digits that
G has lost (the wanted eigenvalues are 1e-10 of its scale and less).
"""

import logging
import math

import numpy as np

from hne._eigen._dense import dense_eigenvectors
from hne._eigen._direct import SPARE_VECTORS, direct_eigenvectors
from hne._types import Alignment, EigenPairs, FloatArray, Settings
from hne.exceptions import EigenSolverError, InputError

logger = logging.getLogger("hne")

# Largest n for which LAPACK is faster than a sparse factorization (measured on rolls, faces, Gaussians).
DENSE_MAX_SAMPLES = 500
# Up to here the dense solver takes over where "auto" chose the direct one and it failed: 128 MB and seconds.
DENSE_RESCUE_SAMPLES = 4_000
# Largest residual relative to the scale of G. Solvers leave 1e-16 to 1e-14 of it; at 1e-11 a mixture with the wrong
# eigenvectors shows up to some 10 000 samples of a surface, beyond which they differ by less.
LARGEST_RESIDUAL = 1e-11
# The other source of residuals, a plane that is off by tol: how many times tol * next eigenvalue to forgive, because it
# leans to later eigenvectors as well (Gaussians in 10 and 20 dimensions, n = 2 500, leave half of one).
LEANING = 100


def bottom_eigenpairs(alignment: Alignment, settings: Settings, n_threads: int = 1) -> EigenPairs:
    """Eigenpairs 2 .. d+1 of G, ascending, with orthonormal vectors of fixed signs and their residuals."""
    solver = choose_solver(alignment.n_samples, settings.n_components, settings.eigen_solver)
    try:
        return _solved_by(solver, alignment, settings, n_threads)
    except EigenSolverError as error:
        if settings.eigen_solver != "auto" or solver == "dense" or alignment.n_samples > DENSE_RESCUE_SAMPLES:
            raise
        logger.warning("eigenpairs: %s The dense solver takes over.", error)
    return _solved_by("dense", alignment, settings, n_threads)


def _solved_by(solver: str, alignment: Alignment, settings: Settings, n_threads: int) -> EigenPairs:
    count = settings.n_components
    values, vectors = rayleigh_ritz(alignment, _basis(solver, alignment, settings, n_threads))
    next_value = float(values[count]) if len(values) > count else math.inf
    values, vectors = values[:count], fix_signs(vectors[:, :count])
    residuals = np.linalg.norm(alignment.apply(vectors) - vectors * values, axis=0)
    logger.info("eigenpairs: %s solver, eigenvalues %s, next %.2e, residuals %s", solver, values, next_value, residuals)
    pairs = EigenPairs(values=values, vectors=vectors, residuals=residuals, next_value=next_value, solver=solver)
    _check_residuals(pairs, alignment, settings.tol)
    return pairs


def _basis(solver: str, alignment: Alignment, settings: Settings, n_threads: int) -> FloatArray:
    count, n = settings.n_components, alignment.n_samples
    try:
        if solver == "dense":
            basis = dense_eigenvectors(alignment, count)
        else:
            basis = direct_eigenvectors(alignment, count, settings.tol, settings.random_state, n_threads)
        if np.isfinite(basis).all() and basis.shape[1] >= count:
            return basis
        reason = "it gave NaN"
    except (RuntimeError, MemoryError, np.linalg.LinAlgError) as error:
        reason = str(error) or type(error).__name__
    other = "dense" if solver == "direct" else "direct"
    msg = (
        f"no result of the {solver} solver for {count} eigenpairs of the {n} x {n} alignment matrix ({reason}). "
        f"Try eigen_solver='{other}', or a larger reg (now {settings.reg:g})."
    )
    raise EigenSolverError(msg)


def choose_solver(n_samples: int, count: int, asked: str) -> str:
    """Name the solver that will run; "auto" goes by size."""
    room = count + SPARE_VECTORS < n_samples - 1  # the constant vector is one of n_samples
    if asked == "auto":
        return "direct" if n_samples > DENSE_MAX_SAMPLES and room else "dense"
    if asked == "direct" and not room:
        msg = (
            f"eigen_solver='direct' needs n_components < n_samples - {SPARE_VECTORS + 1}, "
            f"got n_components={count} and n_samples={n_samples}. Use eigen_solver='dense'."
        )
        raise InputError(msg)
    return asked


def rayleigh_ritz(alignment: Alignment, basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Best eigenpairs within the span of the basis, made orthonormal and orthogonal to the constant."""
    orthonormal, _ = np.linalg.qr(basis - basis.mean(axis=0))
    _, lengths, rotation = np.linalg.svd(alignment.stacked(orthonormal), full_matrices=False)
    # Singular values descend; eigenvalues and vectors are turned round together.
    return lengths[::-1] ** 2, orthonormal @ rotation[::-1].T


def fix_signs(vectors: FloatArray) -> FloatArray:
    """Give each column the sign that makes its largest entry positive; near-ties go to the first of them."""
    magnitude = np.abs(vectors)
    leader = np.argmax(magnitude >= (1 - 1e-6) * magnitude.max(axis=0), axis=0)
    signs = np.sign(vectors[leader, np.arange(vectors.shape[1])])
    fixed: FloatArray = vectors * signs
    return fixed


def _check_residuals(pairs: EigenPairs, alignment: Alignment, tol: float) -> None:
    # A plane that is off by an angle leaves that angle times the eigenvalues it leans to.
    leaning = pairs.next_value if math.isfinite(pairs.next_value) else pairs.values[-1]
    allowed = LARGEST_RESIDUAL * alignment.diagonal().max() + LEANING * tol * leaning
    if not np.all(pairs.residuals <= allowed):
        n = alignment.n_samples
        msg = (
            f"the {pairs.solver} solver left residuals of {np.max(pairs.residuals):.1e} on the {n} x {n} alignment "
            f"matrix, where {allowed:.1e} is allowed. Try another eigen_solver, or a larger reg."
        )
        raise EigenSolverError(msg)
