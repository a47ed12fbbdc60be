"""Upper triangle of a positive definite matrix -> something that solves with it, several right-hand sides at once.

Two backends. MKL's PARDISO, multithreaded, where pypardiso is installed (the extra `fast`, x86 only); SciPy's SuperLU
everywhere else, and for small matrices, which it factors before PARDISO has looked at them. SuperLU in the order of
METIS (pymetis) gained nothing: 6.6 s to order and 13.8 s to factor a roll of 100 000 samples, 16.5 s in its own order.
"""

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from scipy.sparse import triu
from scipy.sparse.linalg import splu

from hne._costs import backend_for
from hne._eigen._interrupt import Watch, in_background, waited
from hne._eigen._pardiso import NotPositiveDefiniteError, pardiso
from hne._types import FloatArray, Solve, SparseMatrix

logger = logging.getLogger("hne")


@contextmanager
def factorized(upper: SparseMatrix, backend: str | None = None, n_threads: int | None = None) -> Iterator[Solve]:
    """Factor the matrix whose upper triangle is given, CSR with sorted columns, and lend its solver for a while.

    `n_threads` is obeyed by PARDISO, and None leaves the number to it; SuperLU has one. Whoever has no use for the
    triangle any more lets go of it then: nobody here holds it.
    """
    backend = backend or backend_for(upper.nnz)
    logger.info("factorization: %s, n = %d, %d entries a row", backend, upper.shape[0], 2 * upper.nnz // upper.shape[0])
    with _superlu(upper) if backend == "superlu" else pardiso(upper, n_threads) as solve:
        del upper
        yield solve


@contextmanager
def _superlu(upper: SparseMatrix) -> Iterator[Solve]:
    """Factor, and lend the solver for a while.

    SciPy keeps account of SuperLU's memory by thread: of a factor that another thread than its own lets go of, nothing
    is ever given back. So the thread that factors waits until it can do so itself.
    """
    whole = (upper + triu(upper, k=1).T).tocsc()
    factors: list[Any] = []
    is_factored: Future[None] = Future()
    is_given_back = threading.Event()

    def factor() -> None:
        try:
            # A positive definite matrix needs no pivoting, and an ordering made for symmetric ones factors G six times
            # faster than the default, which is made for unsymmetric ones.
            options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
            factors.append(splu(whole, **options))
            is_factored.set_result(None)
        except BaseException as error:  # noqa: BLE001, whatever it is, the one who waits gets it
            is_factored.set_exception(error)
        is_given_back.wait()
        factors.clear()

    def solve(block: FloatArray) -> FloatArray:
        solution: FloatArray = factors[0].solve(block)
        return solution

    in_background(factor)
    try:
        try:
            waited(is_factored, Watch())
        except RuntimeError as error:
            # "Factor is exactly singular". Negative pivots it does not report: the certificate sees to those.
            msg = f"SuperLU: {error}"
            raise NotPositiveDefiniteError(msg) from error
        yield solve
    finally:
        is_given_back.set()
