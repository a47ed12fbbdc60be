"""Eigenpairs -> what can be measured about them, and an error where they do not deserve the name."""

import math

import numpy as np

from hne.core.records import Certificate, EigenPairs, FloatArray, Operator
from hne.exceptions import EigenSolverError

# Largest residual relative to the scale of G. Solvers leave 1e-16 to 1e-14 of it; at 1e-11 a mixture with the wrong
# eigenvectors shows up to some 10 000 samples of a surface, beyond which they differ by less.
LARGEST_RESIDUAL = 1e-11
# The other source of residuals, a plane that is off by tol: how many times tol * next eigenvalue to forgive, because it
# leans to later eigenvectors as well (Gaussians in 10 and 20 dimensions, n = 2 500, leave half of one).
LEANING = 100
# Vectors are orthonormal by construction, to a few roundings a sum.
LARGEST_SKEW = 1e-10
# Roundings that a length |A y| gathers, in units of one rounding of the longest.
ROUNDINGS_OF_LENGTH = 10


def certificate(
    alignment: Operator, values: FloatArray, vectors: FloatArray, next_value: float, last_move: float = 0.0
) -> Certificate:
    """Measure residuals, gap, orthogonality and eigenvalues of what a solver found."""
    scale = float(alignment.diagonal().max())
    # Eigenvalues are squared lengths; a length is right to a few roundings of the longest one.
    blur = ROUNDINGS_OF_LENGTH * np.finfo(float).eps * math.sqrt(scale)
    skew = np.abs(vectors.T @ vectors - np.eye(vectors.shape[1])).max()
    lean = np.abs(vectors.sum(axis=0)).max() / math.sqrt(len(vectors))
    lengths = (alignment.stacked(vectors) ** 2).sum(axis=0)
    return Certificate(
        residuals=np.linalg.norm(alignment.apply(vectors) - vectors * values, axis=0),
        gap=next_value - float(values[-1]),
        rounding=float(np.finfo(float).eps * scale),
        resolution=2 * blur * math.sqrt(next_value) + blur**2 if math.isfinite(next_value) else 0.0,
        orthogonality=float(max(skew, lean)),
        ritz_error=float((np.abs(lengths - values) / np.maximum(values, blur**2)).max()),
        last_move=last_move,
    )


def allowed_residual(scale: float, next_value: float, tol: float) -> float:
    """The largest residual that rounding, and a plane that is off by `tol`, explain."""
    # A plane that is off by an angle leaves that angle times the eigenvalues it leans to.
    return LARGEST_RESIDUAL * scale + LEANING * tol * next_value


def check_certificate(pairs: EigenPairs, alignment: Operator, tol: float) -> None:
    """Raise EigenSolverError for pairs whose residuals or angles are beyond what rounding and `tol` explain."""
    proof = pairs.certificate
    leaning = pairs.next_value if math.isfinite(pairs.next_value) else float(pairs.values[-1])
    allowed = allowed_residual(float(alignment.diagonal().max()), leaning, tol)
    n = alignment.n_samples
    if not np.all(proof.residuals <= allowed):
        msg = (
            f"the {pairs.solver} solver left residuals of {np.max(proof.residuals):.1e} on the {n} x {n} alignment "
            f"matrix, where {allowed:.1e} is allowed. Try another eigen_solver, or a larger reg."
        )
        raise EigenSolverError(msg)
    if not proof.orthogonality <= LARGEST_SKEW:
        msg = (
            f"the {pairs.solver} solver left vectors of the {n} x {n} alignment matrix that are orthonormal only to "
            f"{proof.orthogonality:.1e}. Try another eigen_solver, or a larger reg."
        )
        raise EigenSolverError(msg)
