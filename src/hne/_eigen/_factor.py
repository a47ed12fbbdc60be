"""Upper triangle of a positive definite matrix -> something that solves with it, several right-hand sides at once.

Two backends. MKL's PARDISO, multithreaded, where pypardiso is installed (`pip install 'hne[fast]'`); SciPy's SuperLU
everywhere else, and for small matrices, which it factors before PARDISO has looked at them.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, triu
from scipy.sparse.linalg import splu

from hne._costs import backend_for
from hne._eigen._interrupt import PROGRESS_HOOK, Watch, in_background, waited
from hne._types import FloatArray, SparseMatrix

logger = logging.getLogger("hne")

Solve = Callable[[FloatArray], FloatArray]

# PARDISO's matrix type "real, symmetric positive definite", and its parameters with their values (numbered from 1):
# take the values given here (1); order by minimum degree, or by METIS' nested dissection on all threads (2). Of a roll
# of 20 000 samples the first takes half the time for equal fill, from 200 000 on the second. The two-level
# factorization (24) is 10 % faster, but keeps silent about pivots that are not positive.
POSITIVE_DEFINITE = 2
MINIMUM_DEGREE, NESTED_DISSECTION = {1: 1, 2: 0}, {1: 1, 2: 3}
DISSECTED_MIN_ENTRIES = 3_000_000
FACTOR, SOLVE = 12, 33  # its phases
PIVOT_ERROR = -4  # what it returns for a zero or negative pivot


class NotPositiveDefiniteError(RuntimeError):
    """The factorization met a pivot that is not positive."""


@contextmanager
def factorized(upper: SparseMatrix, backend: str | None = None) -> Iterator[Solve]:
    """Factor the matrix whose upper triangle is given, CSR with sorted columns, and lend its solver for a while.

    Whoever has no use for the triangle any more lets go of it then; nobody here holds it.
    """
    backend = backend or backend_for(upper.nnz)
    logger.info("factorization: %s, n = %d, %d entries a row", backend, upper.shape[0], 2 * upper.nnz // upper.shape[0])
    if backend == "superlu":
        yield _superlu(upper)
        return
    with _pardiso(upper) as solve:
        del upper
        yield solve


def _superlu(upper: SparseMatrix) -> Solve:
    whole = (upper + triu(upper, k=1).T).tocsc()
    # A positive definite matrix needs no pivoting, and an ordering made for symmetric ones factors G six times faster
    # than the default, which is made for unsymmetric ones.
    options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    factor = waited(in_background(lambda: splu(whole, **options)), Watch())
    solve: Solve = factor.solve
    return solve


@cache
def _loaded_solver() -> Any:
    """A solver of pypardiso, made once: it searches all folders of the environment for MKL, which takes 0.3 s."""
    from pypardiso import PyPardisoSolver  # noqa: PLC0415, an extra

    return PyPardisoSolver(mtype=POSITIVE_DEFINITE)


def _new_solver(parameters: dict[int, int]) -> Any:
    """A solver of its own handle and parameters, on the library that has been found."""
    solver = copy(_loaded_solver())
    solver.pt, solver.iparm = np.zeros_like(solver.pt), np.zeros_like(solver.iparm)
    for number, value in parameters.items():
        solver.set_iparm(number, value)
    return solver


@contextmanager
def _pardiso(upper: SparseMatrix) -> Iterator[Solve]:
    from pypardiso.pardiso_wrapper import PyPardisoError  # noqa: PLC0415, an extra

    n = upper.shape[0]
    matrix = csr_matrix((upper.data, upper.indices, upper.indptr), shape=(n, n))
    solver = _new_solver(MINIMUM_DEGREE if upper.nnz < DISSECTED_MIN_ENTRIES else NESTED_DISSECTION)

    watch = Watch(percent=0)

    # pypardiso's own `factorize` and `solve` keep a copy of the matrix and compare the two at every solve.
    def factorize() -> None:
        solver.set_phase(FACTOR)
        with PROGRESS_HOOK.watched(solver.libmkl, watch):
            solver._call_pardiso(matrix, np.zeros((n, 1)))  # noqa: SLF001, F821 (deleted below, later)

    def solve(block: FloatArray) -> FloatArray:
        solver.set_phase(SOLVE)
        solution: FloatArray = solver._call_pardiso(empty, np.asfortranarray(block))  # noqa: SLF001
        return solution

    factoring = in_background(factorize)
    try:
        waited(factoring, watch)
        # Solves need the factor alone: at n = 1 000 000 the triangle and its copies are a tenth of all memory.
        empty = csr_matrix((n, n))
        del upper, matrix
        yield solve
    except PyPardisoError as error:
        msg = f"PARDISO: {error}"
        failure = NotPositiveDefiniteError if error.value == PIVOT_ERROR else RuntimeError
        raise failure(msg) from error
    finally:
        # Its memory is not Python's: nobody else gives it back. After an interrupt, the thread does so when it ends.
        factoring.add_done_callback(lambda _: solver.free_memory(everything=True))
