"""Alignment -> EigenPairs: which solver runs, and what takes over where it fails.

A solver returns a basis of the wanted subspace, and every answer goes through Rayleigh-Ritz and certificate before
anyone sees it (`hne.core.eigen.certificate`).
"""

import logging
from itertools import pairwise

import numpy as np
from scipy.linalg import eigh

from hne._runtime.memory import available_bytes
from hne._runtime.threads import limit_blas_threads
from hne.core.eigen.alignment import Alignment
from hne.core.eigen.certificate import EigenPairs, certified
from hne.core.eigen.costs import DENSE_MAX_SAMPLES, UNCOUNTED, Sizes, choose_solver, has_room, iteration_kind
from hne.core.eigen.direct import direct_eigenvectors
from hne.core.eigen.filtered import filtered_eigenvectors
from hne.core.eigen.iterative import iterative_eigenvectors
from hne.core.eigen.slepc import is_worth_ranks, slepc_eigenvectors
from hne.core.records import FloatArray
from hne.exceptions import EigenSolverError
from hne.settings import Settings

logger = logging.getLogger("hne")


def bottom_eigenpairs(
    alignment: Alignment, settings: Settings, n_threads: int = 1, samples: FloatArray | None = None
) -> EigenPairs:
    """Eigenpairs 2 .. d+1 of G, or more for a chart, ascending, vectors of fixed signs, with their certificate.

    `samples` are those that the alignment came from, where there are any: the iterative solver is faster with them.
    """
    n, wanted = alignment.n_samples, settings.eigen_solver
    if wanted == "slepc" and not is_worth_ranks(n):
        wanted = "auto"
    solvers: tuple[str, ...] = ("dense",)
    reason = f"n = {n}"
    # Up to a few megabytes, nobody has to count, nor to ask for memory.
    if wanted == "auto" and DENSE_MAX_SAMPLES < n <= UNCOUNTED and has_room(n, settings.n_eigenvectors(n), "iterative"):
        solvers = ("direct", "dense")
    elif wanted not in {"auto", "dense"} or n > DENSE_MAX_SAMPLES:
        sizes = Sizes.of(alignment, settings.n_eigenvectors(n))
        solvers, reason = choose_solver(sizes, wanted, available_bytes())
    logger.info("eigenpairs: %s solver (%s)", solvers[0], reason)

    def solved_by(solver: str) -> EigenPairs:
        is_filter = solver == "iterative" and iteration_kind(sizes) == "filter"
        basis = _basis("filter" if is_filter else solver, alignment, settings, n_threads, samples)
        is_for_picture = is_filter and settings.coordinates == "chart"
        return certified(alignment, basis, settings, solver, is_for_picture=is_for_picture)

    # LAPACK and BLAS split their sums by the number of their threads: with one the bits are the same for any number of
    # ours, which are for the assembly and factorization of G.
    with limit_blas_threads(1):
        for solver, substitute in pairwise(solvers):
            try:
                return solved_by(solver)
            except EigenSolverError as error:
                logger.warning("eigenpairs: %s The %s solver takes over.", error, substitute)
        return solved_by(solvers[-1])


def _basis(
    solver: str, alignment: Alignment, settings: Settings, n_threads: int, samples: FloatArray | None
) -> FloatArray:
    n = alignment.n_samples
    count = settings.n_eigenvectors(n)
    try:
        if solver == "dense":
            basis = dense_eigenvectors(alignment, count)
        elif solver == "direct":
            basis = direct_eigenvectors(alignment, settings, n_threads)
        elif solver == "filter":
            basis = filtered_eigenvectors(alignment, settings, n_threads)
        elif solver == "slepc":
            basis = slepc_eigenvectors(alignment, settings, n_threads)
        else:
            basis = iterative_eigenvectors(alignment, settings, n_threads, samples)
        if np.isfinite(basis).all() and basis.shape[1] >= count:
            return basis
        reason = "it gave NaN"
    except EigenSolverError:
        # The ranks have said what was wrong, and what to do.
        raise
    except (RuntimeError, MemoryError, np.linalg.LinAlgError) as error:
        reason = str(error) or type(error).__name__
    other = "dense" if solver == "direct" else "direct"
    name = "iterative" if solver == "filter" else solver
    msg = (
        f"no result of the {name} solver for {count} eigenpairs of the {n} x {n} alignment matrix ({reason}). "
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
    return eigh(lifted, subset_by_index=[0, last], overwrite_a=True, check_finite=False)[1]
