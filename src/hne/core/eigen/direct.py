"""Bottom eigenvectors of G by shift-invert block Krylov iteration on a sparse factorization.

(G + shift I)^-1 turns the smallest eigenvalues into the largest, factors of ten to a thousand apart, so that some four
solves with a block of d + 2 vectors find the wanted ones of a surface; a block of four costs about two single solves.
The constant vector is projected out around each solve: it would be the largest of all and drown the others.

Ritz vectors come from the lengths |A y| and |B y| rather than from the inverse, and the iteration ends when their span
no longer moves: residuals in G would not tell, being all rounding noise of high frequency that hardly turns the plane.

Samples are taken in an order in which neighbors are near in memory (reverse Cuthill-McKee), which makes the assembly of
G four times faster.

What solves with G: two backends. MKL's PARDISO, multithreaded, where pypardiso is installed (the extra `fast`, x86
only); SciPy's SuperLU everywhere else, and for small matrices, which it factors before PARDISO has looked at them.
SuperLU in the order of METIS (pymetis) gained nothing: 6.6 s to order and 13.8 s to factor a roll of 100 000 samples,
16.5 s in its own order.

Python hears of Ctrl-C when C returns, which a factorization does after minutes. So C runs in a thread of its own, while
this one waits and hears the interrupt at once. MKL then asks, many times a second, whether to go on (except while it
orders the matrix, before the first question); SuperLU never asks, and its thread works to its end with nobody waiting.
"""

import ctypes
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, nullcontext
from copy import copy
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, triu
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from hne._runtime.progress import step, track
from hne._runtime.random import random_generator
from hne.core.eigen.alignment import Alignment, upper_triangle
from hne.core.eigen.costs import BASIS_BLOCKS, SPARE_VECTORS, backend_for
from hne.core.eigen.exchange import SHIFTS
from hne.core.eigen.iterative import RitzSpace, centered, sine_between
from hne.core.records import FloatArray, IndexArray, Solve, SparseMatrix
from hne.settings import Settings

logger = logging.getLogger("hne")

# Seconds between two looks at the other thread, and those it gets to end after an interrupt.
PAUSE, GRACE = 0.1, 2.0
THREAD_NAME = "hne factorization"
# PARDISO's matrix type "real, symmetric positive definite", and its parameters with their values (numbered from 1):
# take the values given here (1); order by minimum degree, or by METIS' nested dissection on all threads (2). Of a roll
# of 20 000 samples the first takes half the time for equal fill, from 200 000 on the second. The two-level
# factorization (24) is 10 % faster, but keeps silent about pivots that are not positive.
POSITIVE_DEFINITE = 2
# Sums of the factorization are split as for so many threads, however many there are (34, "conditional numerical
# reproducibility"): the same bits for 1, 2, 3, 4 and 8. The bits depend on this number, the time hardly does. MKL's
# manual says that METIS on all threads prevents it; in MKL 2026 its order is that of METIS on one thread, bits agree.
SPLIT = 16
MINIMUM_DEGREE, NESTED_DISSECTION = {1: 1, 2: 0, 34: SPLIT}, {1: 1, 2: 3, 34: SPLIT}
# Right-hand sides are dealt out to threads, and one of four columns comes out with other bits than one of two. Reading
# the factor takes the time, and a single thread for all columns reads it once.
SOLVING_THREADS = 1
DISSECTED_MIN_ENTRIES = 3_000_000  # a second or two of factorization
FACTOR, SOLVE = 12, 33  # its phases
PIVOT_ERROR = -4  # what it returns for a zero or negative pivot


class NotPositiveDefiniteError(RuntimeError):
    """The factorization met a pivot that is not positive."""


@contextmanager
def factorized(upper: SparseMatrix, backend: str | None = None, n_threads: int = 1) -> Iterator[Solve]:
    """Factor the matrix whose upper triangle is given, CSR with sorted columns, and lend its solver for a while.

    SuperLU has one thread. Whoever has no use for the triangle any more lets go of it then: nobody here holds it.
    """
    backend = backend or backend_for(upper.nnz)
    logger.info("factorization: %s, n = %d, %d entries a row", backend, upper.shape[0], 2 * upper.nnz // upper.shape[0])
    with _superlu(upper) if backend == "superlu" else _pardiso(upper, n_threads) as solve:
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

    def factorize() -> None:
        # A positive definite matrix needs no pivoting, and an ordering made for symmetric ones factors G six times
        # faster than the default, which is made for unsymmetric ones.
        options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        factors.append(splu(whole, **options))

    # After an interrupt it ends by itself, and the interpreter waits for that: C that calls back into a Python which is
    # no more would crash.
    thread = ThreadPoolExecutor(1, THREAD_NAME)
    try:
        try:
            await_factor(thread.submit(factorize), Watch())
        except RuntimeError as error:
            # "Factor is exactly singular". Negative pivots it does not report: the certificate sees to those.
            msg = f"SuperLU: {error}"
            raise NotPositiveDefiniteError(msg) from error
        # Not the method itself, which would hold the factor wherever it goes.
        yield lambda block: factors[0].solve(block)  # noqa: PLW0108
    finally:
        thread.submit(factors.clear)
        thread.shutdown(wait=False)


@contextmanager
def _pardiso(upper: SparseMatrix, n_threads: int) -> Iterator[Solve]:
    """Factor, and lend the solver for a while."""
    from pypardiso.pardiso_wrapper import PyPardisoError  # noqa: PLC0415, an extra

    n, is_long = upper.shape[0], upper.nnz >= DISSECTED_MIN_ENTRIES
    matrix = csr_matrix((upper.data, upper.indices, upper.indptr), shape=(n, n))
    # A solver with a handle and parameters of its own, on the library that has been loaded.
    solver = copy(_loaded_solver())
    solver.pt, solver.iparm = np.zeros_like(solver.pt), np.zeros_like(solver.iparm)
    for number, value in (NESTED_DISSECTION if is_long else MINIMUM_DEGREE).items():
        solver.set_iparm(number, value)
    watch = Watch(100 if is_long else None)

    # pypardiso's own `factorize` and `solve` keep a copy of the matrix and compare the two at every solve.
    def factorize() -> None:
        solver.set_phase(FACTOR)
        hook = watched_by_mkl(solver.libmkl, watch) if is_long else nullcontext()
        with hook, mkl_threads(solver.libmkl, n_threads):
            solver._call_pardiso(matrix, np.zeros((n, 1)))  # noqa: SLF001, F821 (deleted below, later)

    def solve(block: FloatArray) -> FloatArray:
        solver.set_phase(SOLVE)
        with mkl_threads(solver.libmkl, SOLVING_THREADS):
            solution: FloatArray = solver._call_pardiso(empty, np.asfortranarray(block))  # noqa: SLF001
        return solution

    thread = ThreadPoolExecutor(1, THREAD_NAME)
    factoring = thread.submit(factorize)
    thread.shutdown(wait=False)
    try:
        await_factor(factoring, watch)
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


@cache
def _loaded_solver() -> Any:
    """A solver of pypardiso, made once: it searches all folders of the environment for MKL, which takes 0.3 s."""
    from pypardiso import PyPardisoSolver  # noqa: PLC0415, an extra

    return PyPardisoSolver(mtype=POSITIVE_DEFINITE)


@contextmanager
def mkl_threads(library: Any, n_threads: int) -> Iterator[None]:
    """Keep what this thread calls of MKL to so many threads."""
    change = library.MKL_Set_Num_Threads_Local
    change.restype, change.argtypes = ctypes.c_int, [ctypes.c_int]
    before = change(n_threads)
    try:
        yield
    finally:
        change(before)


class Watch:
    """What the thread that waits and the thread that factors know of each other."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total  # 100 where the other thread will tell a percentage
        self.state = np.zeros(2, dtype=np.int32)  # whether to give up, percent done


def await_factor(future: "Future[None]", watch: Watch, grace: float = GRACE) -> None:
    """Wait for a factorization in another thread, count while it runs, and give it up on an interrupt."""
    step("factorization", 0, watch.total)
    try:
        while not wait([future], timeout=PAUSE).done:
            if watch.state[1]:
                step("factorization", int(watch.state[1]), watch.total)
    except BaseException:
        watch.state[0] = 1
        if not wait([future], timeout=grace).done:
            logger.warning("factorization: interrupted, but its thread has to come to an end by itself")
        raise
    future.result()


_HOOK_IN_USE = threading.Lock()


@contextmanager
def watched_by_mkl(library: Any, watch: Watch) -> Iterator[None]:
    """Let the watch see what MKL's factorization has done, and end it. The hook is one for the process.

    A second factorization at the same time is not watched; it ends with the first one if that is interrupted.
    """
    change = getattr(library, "mkl_set_progress", None)
    if change is None or not _HOOK_IN_USE.acquire(blocking=False):
        yield
        return
    # numba, which is loaded by now for matrices that are worth watching.
    from hne.core.eigen.mkl_hook import STATE, answer  # noqa: PLC0415

    change.restype, change.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    STATE[:], watch.state = watch.state, STATE
    before = change(answer.address)
    try:
        yield
    finally:
        change(before)
        watch.state = STATE.copy()
        _HOOK_IN_USE.release()


MAX_BLOCKS, BLOCKS_BEFORE_RESTART, BLOCKS_KEPT = 200, BASIS_BLOCKS["direct"], 6
# Residuals of found eigenvectors, in units of what one rounding of G's largest entry makes.
ROUNDING = 100
# A plane that moves by less than this, and no less than the step before, is shaken by the rounding of G alone.
SHAKING = 1e-5
# Gaps up to which that happens, in the same units (a roll of a million samples: 300; it shakes by 1e-7).
SHAKEN = 1e4


def direct_eigenvectors(alignment: Alignment, settings: Settings, n_threads: int = 1) -> FloatArray:
    """Orthonormal basis (n, count + 2) of the bottom eigenvectors of G, ascending, the constant one left out.

    The wanted ones have converged to `tol`, the others are on their way.
    """
    order, local = in_local_order(alignment)
    n, count = alignment.n_samples, settings.n_eigenvectors(alignment.n_samples)
    start = random_generator(settings.random_state).uniform(-1.0, 1.0, (n, count + SPARE_VECTORS["direct"]))
    with shift_inverted(upper_triangle(local, n_threads), n_threads) as solve:
        vectors = block_krylov(solve, local, count, settings.effective_tol, start)
    basis = np.empty_like(vectors)
    basis[order] = vectors
    return basis


def in_local_order(alignment: Alignment) -> tuple[IndexArray, Alignment]:
    """An order of the samples in which neighbors are near each other, and the alignment of the samples in it."""
    order = reverse_cuthill_mckee(alignment.A)
    A, B = (matrix[order][:, order].tocsr() for matrix in (alignment.A, alignment.B))
    A.sort_indices()
    B.sort_indices()
    return order, Alignment(A, B, alignment.gamma)


@contextmanager
def shift_inverted(upper: SparseMatrix, n_threads: int) -> Iterator[Solve]:
    """Lend a solver with G + shift, for the smallest shift with which its factorization succeeds.

    G is given by its upper triangle, CSR with the diagonal first in each row, which is changed.
    """
    scale, shifted_by = float(upper.diagonal().max()), 0.0
    with ExitStack() as factor:
        for shift in SHIFTS:
            # The diagonal is each row's first entry.
            upper.data[upper.indptr[:-1]] += (shift - shifted_by) * scale
            shifted_by = shift
            try:
                solve = factor.enter_context(factorized(upper, None, n_threads))
                break
            except NotPositiveDefiniteError:
                logger.info("eigenpairs: a shift of %g of the scale of G is too small", shift)
                if shift == SHIFTS[-1]:
                    raise
        del upper
        yield solve


def block_krylov(solve: Solve, alignment: Alignment, count: int, tol: float, block: FloatArray) -> FloatArray:
    """Ritz vectors, ascending, in the Krylov space of the solver, until the first `count` span a resting plane."""
    n, width = block.shape
    space, plane, before = RitzSpace(alignment, (BLOCKS_BEFORE_RESTART + 1) * width), np.empty((n, 0)), 1.0
    digits = np.finfo(float).eps * alignment.diagonal().max()
    for number in track("block solves", range(MAX_BLOCKS)):
        block = space.add(solve(centered(block)))
        values, ritz = space.ritz(width)
        moved = sine_between(plane, ritz[:, :count])
        logger.debug("block %d: the plane moved by %.1e", number + 1, moved)
        gap = values[count] - values[count - 1] if len(values) > count else np.inf
        # Eigenvalues that are equal to all digits, both found: no plane will come to rest. Below rounding, eigenvalues
        # may look equal that are not: a plane gets its time.
        is_free = number >= BLOCKS_BEFORE_RESTART and gap <= digits
        if is_free:
            residuals = alignment.apply(ritz[:, : count + 1]) - ritz[:, : count + 1] * values[: count + 1]
            is_free = bool((np.linalg.norm(residuals, axis=0) <= ROUNDING * digits).all())
        is_shaking = before <= SHAKING and moved >= before and gap <= SHAKEN * digits
        # All that is orthogonal to the constant vector has n - 1 dimensions.
        if moved <= tol or space.dimension == n - 1 or is_free or is_shaking:
            logger.info("eigenpairs: %d solves with blocks of %d, the last moved by %.1e", number + 1, width, moved)
            return ritz
        plane, before = ritz[:, :count], moved
        if space.dimension >= BLOCKS_BEFORE_RESTART * width:
            space.keep(BLOCKS_KEPT * width)
            block = ritz
    msg = f"the plane still moves by {moved:.1e} rad after {MAX_BLOCKS} block solves, tol={tol:g}"
    raise RuntimeError(msg)
