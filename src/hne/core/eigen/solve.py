"""Which solver runs, what takes over where it fails, and what every answer goes through before anyone sees it.

A solver returns a basis of the wanted subspace. Rayleigh-Ritz in that basis, on the factors A and B instead
of their products, then gives eigenvalues as squared lengths gamma |A y|^2 + |B y|^2, which keeps digits that
G has lost (the wanted eigenvalues are 1e-10 of its scale and less).
"""

import logging
import math

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array

from hne._runtime.memory import available_bytes
from hne._runtime.threads import limit_blas_threads
from hne.core.eigen.certificate import certificate, check_certificate
from hne.core.eigen.costs import Sizes, choose_solver
from hne.core.eigen.direct import direct_eigenvectors
from hne.core.eigen.iterative import iterative_eigenvectors, preconditioner
from hne.core.eigen.slepc import is_worth_ranks, slepc_eigenvectors
from hne.core.eigen.subspace import fix_signs
from hne.core.records import Alignment, EigenPairs, FloatArray, Operator, Settings
from hne.exceptions import EigenSolverError

logger = logging.getLogger("hne")

# Rows of G whose entries are counted to know how many there are in all.
COUNTED_ROWS = 256


def bottom_eigenpairs(
    alignment: Alignment, settings: Settings, n_threads: int = 1, samples: FloatArray | None = None
) -> EigenPairs:
    """Eigenpairs 2 .. d+1 of G, or more for a chart, ascending, vectors of fixed signs, with their certificate.

    `samples` are those that the alignment came from, where there are any: the iterative solver is faster with them.
    """
    # LAPACK and BLAS split their sums by the number of their threads: with one the bits are the same for any number of
    # ours, which are for the assembly and factorization of G.
    with limit_blas_threads(1):
        return _solved(alignment, settings, n_threads, samples)


def _solved(alignment: Alignment, settings: Settings, n_threads: int, samples: FloatArray | None) -> EigenPairs:
    sizes = sizes_of(alignment, settings.n_eigenvectors(alignment.n_samples))
    asked = settings.eigen_solver
    if asked == "slepc" and not is_worth_ranks(alignment.n_samples):
        asked = "auto"
    choice = choose_solver(sizes, asked, available_bytes())
    logger.info("eigenpairs: %s solver (%s)", choice.solvers[0], choice.reason)
    for solver, substitute in zip(choice.solvers, choice.solvers[1:], strict=False):
        try:
            return _solved_by(solver, sizes, alignment, settings, n_threads, samples)
        except EigenSolverError as error:
            logger.warning("eigenpairs: %s The %s solver takes over.", error, substitute)
    return _solved_by(choice.solvers[-1], sizes, alignment, settings, n_threads, samples)


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


def _solved_by(
    solver: str, sizes: Sizes, alignment: Alignment, settings: Settings, n_threads: int, samples: FloatArray | None
) -> EigenPairs:
    return certified(alignment, _basis(solver, sizes, alignment, settings, n_threads, samples), settings, solver)


def certified(alignment: Operator, basis: FloatArray, settings: Settings, solver: str) -> EigenPairs:
    """The best eigenpairs in the span of what a solver found, or EigenSolverError where they are none."""
    pairs = eigenpairs_in(basis, alignment, settings.n_eigenvectors(alignment.n_samples), solver)
    check_certificate(pairs, alignment, settings.effective_tol)
    return pairs


def eigenpairs_in(
    basis: FloatArray, alignment: Operator, count: int, solver: str, last_move: float = 0.0
) -> EigenPairs:
    """The best eigenpairs in the span of a basis, with what can be measured about them."""
    values, vectors = rayleigh_ritz(alignment, basis)
    next_value = float(values[count]) if len(values) > count else math.inf
    values, vectors = values[:count], fix_signs(vectors[:, :count])
    proof = certificate(alignment, values, vectors, next_value, last_move)
    logger.info("eigenpairs: %s solver, eigenvalues %s, next %.2e, %s", solver, values, next_value, proof)
    return EigenPairs(values=values, vectors=vectors, next_value=next_value, solver=solver, certificate=proof)


def _basis(
    solver: str, sizes: Sizes, alignment: Alignment, settings: Settings, n_threads: int, samples: FloatArray | None
) -> FloatArray:
    n, tol, seed = alignment.n_samples, settings.effective_tol, settings.random_state
    count = settings.n_eigenvectors(n)
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


def rayleigh_ritz(alignment: Operator, basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Best eigenpairs within the span of the basis, made orthonormal and orthogonal to the constant."""
    orthonormal, _ = np.linalg.qr(basis - basis.mean(axis=0))
    _, lengths, rotation = np.linalg.svd(alignment.stacked(orthonormal), full_matrices=False)
    # Singular values descend; eigenvalues and vectors are turned round together.
    return lengths[::-1] ** 2, orthonormal @ rotation[::-1].T


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
    _, vectors = eigh(lifted, subset_by_index=[0, last], overwrite_a=True, check_finite=False)
    basis: FloatArray = vectors
    return basis
