"""Which solver runs, what takes over where it fails, and what every answer goes through before anyone sees it.

A solver returns a basis of the wanted subspace. Rayleigh-Ritz in that basis, on the factors A and B instead
of their products, then gives eigenvalues as squared lengths gamma |A y|^2 + |B y|^2, which keeps digits that
G has lost (the wanted eigenvalues are 1e-10 of its scale and less).
"""

import logging
import math
from itertools import pairwise

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array

from hne._runtime.memory import available_bytes
from hne._runtime.threads import limit_blas_threads
from hne.core.eigen.costs import Sizes, choose_solver
from hne.core.eigen.direct import direct_eigenvectors
from hne.core.eigen.iterative import allowed_residual, iterative_eigenvectors, preconditioner
from hne.core.eigen.slepc import is_worth_ranks, slepc_eigenvectors
from hne.core.principal import fix_signs
from hne.core.records import Alignment, Certificate, EigenPairs, FloatArray, Operator, Settings
from hne.exceptions import EigenSolverError

logger = logging.getLogger("hne")

# Rows of G whose entries are counted to know how many there are in all.
COUNTED_ROWS = 256
# Vectors are orthonormal by construction, to a few roundings a sum.
LARGEST_SKEW = 1e-10
# Roundings that a length |A y| gathers, in units of one rounding of the longest.
ROUNDINGS_OF_LENGTH = 10


def bottom_eigenpairs(
    alignment: Alignment, settings: Settings, n_threads: int = 1, samples: FloatArray | None = None
) -> EigenPairs:
    """Eigenpairs 2 .. d+1 of G, or more for a chart, ascending, vectors of fixed signs, with their certificate.

    `samples` are those that the alignment came from, where there are any: the iterative solver is faster with them.
    """
    sizes = sizes_of(alignment, settings.n_eigenvectors(alignment.n_samples))
    needs_no_ranks = settings.eigen_solver == "slepc" and not is_worth_ranks(alignment.n_samples)
    solvers, reason = choose_solver(sizes, "auto" if needs_no_ranks else settings.eigen_solver, available_bytes())
    logger.info("eigenpairs: %s solver (%s)", solvers[0], reason)

    def solved_by(solver: str) -> EigenPairs:
        return certified(alignment, _basis(solver, sizes, alignment, settings, n_threads, samples), settings, solver)

    # LAPACK and BLAS split their sums by the number of their threads: with one the bits are the same for any number of
    # ours, which are for the assembly and factorization of G.
    with limit_blas_threads(1):
        for solver, substitute in pairwise(solvers):
            try:
                return solved_by(solver)
            except EigenSolverError as error:
                logger.warning("eigenpairs: %s The %s solver takes over.", error, substitute)
        return solved_by(solvers[-1])


def sizes_of(alignment: Alignment, count: int) -> Sizes:
    """What the costs depend on; entries a row of G are counted on a few rows, evenly spread."""
    A, B, n = alignment.A, alignment.B, alignment.n_samples
    rows = np.unique(np.linspace(0, n - 1, min(n, COUNTED_ROWS)).astype(np.intp))
    number = np.full(n, -1, dtype=np.intp)
    number[rows] = np.arange(len(rows))
    # Row j of B'B has the columns of every row of B that has an entry in column j.
    hits = np.flatnonzero(number[B.indices] >= 0)
    sources = np.searchsorted(B.indptr, hits, side="right") - 1
    meets = csr_array((np.ones(len(hits)), (number[B.indices[hits]], sources)), shape=(len(rows), n))
    pattern = csr_array((np.ones(B.nnz, dtype=np.float32), B.indices, B.indptr), shape=B.shape)
    return Sizes(n, count, A.nnz / n, B.nnz / n, max((meets @ pattern).nnz / len(rows), B.nnz / n))


def _basis(
    solver: str, sizes: Sizes, alignment: Alignment, settings: Settings, n_threads: int, samples: FloatArray | None
) -> FloatArray:
    n, count, tol, seed = alignment.n_samples, sizes.count, settings.effective_tol, settings.random_state
    try:
        if solver == "dense":
            basis = dense_eigenvectors(alignment, count)
        elif solver == "direct":
            basis = direct_eigenvectors(alignment, count, tol, seed, n_threads)
        elif solver == "slepc":
            basis = slepc_eigenvectors(alignment, settings, n_threads)
        else:
            precondition = preconditioner(alignment, samples, sizes, n_threads)
            is_chart = settings.coordinates == "chart"
            basis = iterative_eigenvectors(alignment, precondition, count, tol, seed, is_for_chart=is_chart)
        if np.isfinite(basis).all() and basis.shape[1] >= count:
            return basis
        reason = "it gave NaN"
    except EigenSolverError:
        # The ranks have said what was wrong, and what to do.
        raise
    except (RuntimeError, MemoryError, np.linalg.LinAlgError) as error:
        reason = str(error) or type(error).__name__
    other = "dense" if solver == "direct" else "direct"
    msg = (
        f"no result of the {solver} solver for {count} eigenpairs of the {n} x {n} alignment matrix ({reason}). "
        f"Try eigen_solver='{other}', or a larger reg (now {settings.reg:g})."
    )
    raise EigenSolverError(msg)


def dense_eigenvectors(alignment: Alignment, count: int) -> FloatArray:
    """Orthonormal basis of the `count` bottom eigenvectors of G and the next, the constant one left out."""
    last = min(count, alignment.n_samples - 2)
    G = alignment.matrix().toarray()
    # Lift the constant vector from eigenvalue 0 to the top: then it cannot mix with the wanted ones.
    top = np.abs(G).sum(axis=0).max()
    if not np.isfinite(top):
        msg = "G is not finite"
        raise RuntimeError(msg)
    lifted = G + top / alignment.n_samples
    basis: FloatArray = eigh(lifted, subset_by_index=[0, last], overwrite_a=True, check_finite=False)[1]
    return basis


def certified(alignment: Operator, basis: FloatArray, settings: Settings, solver: str) -> EigenPairs:
    """The best eigenpairs in the span of what a solver found, or EigenSolverError where they are none."""
    pairs = eigenpairs_in(basis, alignment, settings.n_eigenvectors(alignment.n_samples), solver)
    check_certificate(pairs, alignment, settings.effective_tol)
    return pairs


def eigenpairs_in(
    basis: FloatArray, alignment: Operator, count: int, solver: str, last_move: float = 0.0
) -> EigenPairs:
    """The best eigenpairs (Rayleigh-Ritz) in the span of a basis, with what can be measured about them."""
    orthonormal, _ = np.linalg.qr(basis - basis.mean(axis=0))
    _, lengths, rotation = np.linalg.svd(alignment.stacked(orthonormal), full_matrices=False)
    # Singular values descend; eigenvalues and vectors are turned round together.
    values, vectors = lengths[::-1] ** 2, orthonormal @ rotation[::-1].T
    next_value = float(values[count]) if len(values) > count else math.inf
    values, vectors = values[:count], fix_signs(vectors[:, :count])
    proof = certificate(alignment, values, vectors, next_value, last_move)
    logger.info("eigenpairs: %s solver, eigenvalues %s, next %.2e, %s", solver, values, next_value, proof)
    return EigenPairs(values=values, vectors=vectors, next_value=next_value, solver=solver, certificate=proof)


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


def check_certificate(pairs: EigenPairs, alignment: Operator, tol: float) -> None:
    """Raise EigenSolverError for pairs whose residuals or angles are beyond what rounding and `tol` explain."""
    proof, n = pairs.certificate, alignment.n_samples
    leaning = pairs.next_value if math.isfinite(pairs.next_value) else float(pairs.values[-1])
    allowed = allowed_residual(float(alignment.diagonal().max()), leaning, tol)
    if not np.all(proof.residuals <= allowed):
        fault = f"residuals of {np.max(proof.residuals):.1e} where {allowed:.1e} is allowed"
    elif not proof.orthogonality <= LARGEST_SKEW:
        fault = f"vectors that are orthonormal only to {proof.orthogonality:.1e}"
    else:
        return
    msg = (
        f"the {pairs.solver} solver left {fault} for the {n} x {n} alignment matrix. Try another eigen_solver, or a "
        "larger reg."
    )
    raise EigenSolverError(msg)
