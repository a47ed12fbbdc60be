"""Upper triangle of a positive definite matrix -> something that solves with it, several right-hand sides at once.

Two backends. MKL's PARDISO, multithreaded, where pypardiso is installed (the extra `fast`, x86 only); SciPy's SuperLU
everywhere else, and for small matrices, which it factors before PARDISO has looked at them. SuperLU in the order of
METIS (pymetis) gained nothing: 6.6 s to order and 13.8 s to factor a roll of 100 000 samples, 16.5 s in its own order.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from scipy.sparse import triu
from scipy.sparse.linalg import splu

from hne._costs import backend_for
from hne._eigen._interrupt import Watch, in_background, waited
from hne._eigen._pardiso import NotPositiveDefiniteError, pardiso
from hne._types import Solve, SparseMatrix

logger = logging.getLogger("hne")


@contextmanager
def factorized(upper: SparseMatrix, backend: str | None = None, n_threads: int | None = None) -> Iterator[Solve]:
    """Factor the matrix whose upper triangle is given, CSR with sorted columns, and lend its solver for a while.

    `n_threads` is obeyed by PARDISO, and None leaves the number to it; SuperLU has one. Whoever has no use for the
    triangle any more lets go of it then: nobody here holds it.
    """
    backend = backend or backend_for(upper.nnz)
    logger.info("factorization: %s, n = %d, %d entries a row", backend, upper.shape[0], 2 * upper.nnz // upper.shape[0])
    if backend == "superlu":
        yield _superlu(upper)
        return
    with pardiso(upper, n_threads) as solve:
        del upper
        yield solve


def _superlu(upper: SparseMatrix) -> Solve:
    whole = (upper + triu(upper, k=1).T).tocsc()
    # A positive definite matrix needs no pivoting, and an ordering made for symmetric ones factors G six times faster
    # than the default, which is made for unsymmetric ones.
    options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    try:
        factor = waited(in_background(lambda: splu(whole, **options)), Watch())
    except RuntimeError as error:
        # "Factor is exactly singular". Negative pivots it does not report: the certificate sees to those.
        msg = f"SuperLU: {error}"
        raise NotPositiveDefiniteError(msg) from error
    solve: Solve = factor.solve
    return solve
