"""Alignment, X -> EigenPairs: the eigenproblem on landmarks solved, then refined on all samples.

With Z (n, m), the weights by which landmarks rebuild samples, the problem on landmarks is K c = lambda M c with
K = Z'GZ and M = Z'Z. It is the best that functions Z c can do (Galerkin): its eigenvalues are above those of G, and its
vectors Z c are near the eigenvectors as far as these are smooth at the distance of landmarks. Of the roll of 100 000
samples, eigenvalues on 10 000 landmarks are 10 and 4 times the wanted ones, which are 50 and more times below the next.

Nothing here is as large as G: A, B and Z, a few blocks of vectors, and the factor of a matrix on landmarks. What comes
out has been improved for a while rather than solved to the end, and its certificate says how far: residuals are
measured, eigenvalues are Ritz values and so upper bounds, and `last_move` tells by how much the last step still
improved the plane.
"""

import logging
from contextlib import closing

import numpy as np
from scipy.sparse import csr_array, triu

from hne._runtime.progress import track
from hne._runtime.random import random_generator
from hne._runtime.threads import limit_blas_threads, map_blocks
from hne.core.eigen.alignment import Alignment
from hne.core.eigen.certificate import EigenPairs, eigenpairs_in
from hne.core.eigen.costs import BASIS_BLOCKS, SPARE_VECTORS
from hne.core.eigen.direct import shift_inverted
from hne.core.eigen.iterative import RitzSpace, centered, chebyshev, sine_between
from hne.core.neighbors.exact import nearest
from hne.core.records import LANDMARKS, FloatArray, IndexArray, Solve, SparseMatrix, index_kind, nearest_landmarks
from hne.exceptions import EigenSolverError
from hne.settings import Settings

logger = logging.getLogger("hne")

# Samples a landmark among which landmarks are moved, and how often.
SAMPLES_A_LANDMARK, ROUNDS = 20, 3
# Ridge of the weights of landmarks, relative to the trace of Q Q': 1e-4 bends planes, 1e-8 changes nothing any more.
RIDGE = 1e-6
# How little a landmark may count, for samples as far from all of them.
LEAST = 1e-9
# Samples whose landmarks are searched at once, and whose weights are solved for at once.
SEARCH_ROWS, SOLVED_ROWS, SOLVED_BYTES = 2**19, 2**13, 2**25
# Rows of A, B and Z that are multiplied at once: their products are as large as Z itself.
BLOCK_ROWS = 2**17
# Inverse iterations, and the angle at which the plane is at rest: what the restriction loses is far more.
MAX_STEPS, AT_REST = 100, 1e-6
# Vectors beyond the wanted ones, which make the iteration faster and are what refinement starts from.
SPARE = 4
# Steps, few because each costs as much as a dozen products with G, and the blocks of vectors that the basis may have.
STEPS, BLOCKS, BLOCKS_KEPT = 4, BASIS_BLOCKS[LANDMARKS], 2
# Chebyshev steps, and the share of the spectrum that they damp: the upper 39/40, to a tenth.
SMOOTHING_STEPS, SMOOTHED_RATIO = 10, 40.0


def landmark_eigenpairs(
    alignment: Alignment, settings: Settings, n_landmarks: int, samples: FloatArray, n_threads: int = 1
) -> EigenPairs:
    """Close to eigenpairs 2 .. d+1 of G, found on so many landmarks and refined.

    The result depends on the number of threads as little as that of `bottom_eigenpairs`.
    """
    n, seed = alignment.n_samples, settings.random_state
    count = settings.n_eigenvectors(n)
    try:
        with limit_blas_threads(1):
            landmarks = choose_landmarks(samples, n_landmarks, seed, n_threads)
            Z = interpolation(samples, landmarks, settings.n_components, n_threads)
            K, M = restricted(alignment, Z, n_threads)
            logger.info("landmarks: %d of %d samples, %d entries a row", n_landmarks, n, K.nnz // n_landmarks)
            with shift_inverted(csr_array(triu(K, format="csr")), n_threads) as solve:
                coefficients = bottom_coefficients(K, M, solve, count, seed)
                start = Z @ coefficients[:, : count + SPARE_VECTORS[LANDMARKS]]
                basis, moved = refined(alignment, Z, solve, start, count, settings.effective_tol)
            if np.isfinite(basis).all():
                return eigenpairs_in(basis, alignment, count, LANDMARKS, moved)
            reason = "it gave NaN"
    except (RuntimeError, np.linalg.LinAlgError) as error:
        reason = str(error) or type(error).__name__
    msg = (
        f"no result on {n_landmarks} landmarks for the {n} x {n} alignment matrix ({reason}). Try another "
        f"n_landmarks, or a larger reg (now {settings.reg:g})."
    )
    raise EigenSolverError(msg)


def choose_landmarks(X: FloatArray, count: int, random_state: object, n_threads: int = 1) -> IndexArray:
    """Numbers of `count` evenly spread samples, ascending; the samples are all different."""
    random = random_generator(random_state)
    some = np.sort(random.permutation(len(X))[: SAMPLES_A_LANDMARK * count])
    among = X[some]
    chosen = np.sort(random.permutation(len(some))[:count])
    step = max(1, 2**22 // X.shape[1])
    for _ in range(ROUNDS):
        near = nearest(among[chosen], among, 1, None, n_threads)[0][:, 0]
        # Of the samples of each landmark, the one nearest to their center. Every landmark has a sample: itself, for no
        # other is as near.
        cells = csr_array((np.ones(len(near)), (near, np.arange(len(near)))), shape=(count, len(near)))
        centers = (cells @ among) / np.bincount(near, minlength=count)[:, None]
        away = np.empty(len(among))
        for start in range(0, len(among), step):
            rows = slice(start, start + step)
            away[rows] = ((among[rows] - centers[near[rows]]) ** 2).sum(axis=1)
        order = np.lexsort((away, near))
        chosen = np.sort(order[np.diff(near[order], prepend=-1) > 0])
    return some[chosen]


def interpolation(X: FloatArray, landmarks: IndexArray, n_components: int, n_threads: int = 1) -> SparseMatrix:
    """Z, a CSR matrix of n rows with q entries each, columns ascending."""
    L, q, n = X[landmarks], nearest_landmarks(n_components), len(X)
    columns, values = np.empty((n, q), dtype=index_kind(n * q)), np.empty((n, q))
    block = max(1, min(SOLVED_ROWS, SOLVED_BYTES // (8 * q * X.shape[1])))
    for start in track("landmarks of samples", range(0, n, SEARCH_ROWS), -(-n // SEARCH_ROWS)):
        stop = min(start + SEARCH_ROWS, n)
        near, lengths, _ = nearest(L, X[start:stop], q + 1, None, n_threads)

        def solve(first: int, start: int = start, near: IndexArray = near, lengths: FloatArray = lengths) -> None:
            some = slice(first, first + block)
            # How much each landmark but the last counts, by its distance beside that of the last.
            fading = np.maximum((1 - (lengths[some, :-1] / lengths[some, -1:]) ** 2) ** 3, LEAST)
            order = np.argsort(near[some, :q], axis=1)
            ids, fading = (np.take_along_axis(part, order, axis=1) for part in (near[some, :q], fading))
            rows = slice(start + first, start + first + len(ids))
            columns[rows], values[rows] = ids, smooth_weights(L[ids] - X[rows, None], fading)

        with closing(map_blocks(solve, range(0, stop - start, block), n_threads)) as solved:
            for _ in solved:
                pass
    ends = np.arange(0, n * q + 1, q, dtype=columns.dtype)
    return csr_array((values.ravel(), columns.ravel(), ends), shape=(n, len(landmarks)))


def smooth_weights(Q: FloatArray, fading: FloatArray) -> FloatArray:
    """Weights (b, q) with which points at the differences Q (b, q, D) rebuild the origin, sums one."""
    # With v = u sqrt(s): (sqrt(s) Q Q' sqrt(s) + rho I) u is proportional to sqrt(s), and nothing is divided by s.
    roots = np.sqrt(fading)
    scaled = roots[:, :, None] * Q
    matrices = scaled @ scaled.transpose(0, 2, 1)
    slots = np.arange(Q.shape[1])
    matrices[:, slots, slots] += RIDGE * np.einsum("bij,bij->b", Q, Q)[:, None]
    weights = roots * np.linalg.solve(matrices, roots[:, :, None])[:, :, 0]
    return weights / weights.sum(axis=1, keepdims=True)


def restricted(
    alignment: Alignment, Z: SparseMatrix, n_threads: int = 1, block_rows: int = BLOCK_ROWS
) -> tuple[SparseMatrix, SparseMatrix]:
    """K and M (m, m), summed over blocks of samples in their order, whatever the number of threads."""
    starts = range(0, Z.shape[0], block_rows)

    def of_block(start: int) -> tuple[SparseMatrix, SparseMatrix]:
        rows = slice(start, start + block_rows)
        part, inner, joint = Z[rows], alignment.A[rows] @ Z, alignment.B[rows] @ Z
        return alignment.gamma * (inner.T @ inner) + joint.T @ joint, part.T @ part

    m = Z.shape[1]
    K, M = csr_array((m, m)), csr_array((m, m))
    with closing(map_blocks(of_block, starts, n_threads)) as blocks:
        for energy, mass in track("problem on landmarks", blocks, len(starts)):
            K, M = K + energy, M + mass
    for matrix in (K, M):
        # Indices as narrow as they can be.
        kind = index_kind(max(matrix.nnz, m))
        matrix.indices, matrix.indptr = matrix.indices.astype(kind, copy=False), matrix.indptr.astype(kind, copy=False)
        matrix.sort_indices()
    return K, M


def bottom_coefficients(K: SparseMatrix, M: SparseMatrix, solve: Solve, count: int, random_state: object) -> FloatArray:
    """Coefficients c (m, count + SPARE) of the bottom eigenvectors, ascending, Z c orthonormal, no constant.

    `solve` solves with K, or nearly: inverse iteration on a block of vectors.
    """
    m, sums, plane = K.shape[0], M.sum(axis=0), None
    block = random_generator(random_state).uniform(-1.0, 1.0, (m, min(count + SPARE, m - 1)))

    def without_constant(block: FloatArray) -> FloatArray:
        # The coefficients of the constant are all one.
        return block - (sums @ block) / sums.sum()

    for step in range(1, MAX_STEPS + 1):
        block = solve(M @ without_constant(block))
        # Twice: once leaves columns that are as far from orthonormal as the first were from independent.
        for _ in range(2):
            # Coefficients first: an inverse makes all columns alike where it has an eigenvalue far above the others.
            basis = np.linalg.qr(without_constant(block))[0]
            block = np.linalg.solve(np.linalg.cholesky(basis.T @ (M @ basis)), basis.T).T
        _, rotation = np.linalg.eigh(block.T @ (K @ block))
        block = block @ rotation
        plane, before = block[:, :count], plane
        if before is None:
            continue
        # Sine of the largest angle between the planes Z c.
        apart = before - plane @ (plane.T @ (M @ before))
        moved = np.sqrt(max(0.0, np.linalg.eigvalsh(apart.T @ (M @ apart))[-1]))
        logger.debug("landmarks: inverse iteration %d moved the plane by %.1e", step, moved)
        if moved <= AT_REST:
            break
    return block


def refined(
    alignment: Alignment, Z: SparseMatrix, solve: Solve, start: FloatArray, count: int, tol: float
) -> tuple[FloatArray, float]:
    """Ritz vectors (n, width) after the last step, and the angle by which the first `count` moved in it.

    `start` (n, width) has no constant in its span; `solve` solves with Z'GZ.
    """
    smooth = chebyshev(alignment.apply, alignment.diagonal(), SMOOTHING_STEPS, SMOOTHED_RATIO)
    width = start.shape[1]
    space = RitzSpace(alignment, BLOCKS * width)
    space.add(start)
    values, best = space.ritz(width)
    moved = np.inf
    for step in track("refinements", range(STEPS), STEPS):
        residuals = centered(alignment.apply(best) - best * values[:width])
        # The basis makes room for one more block.
        if space.dimension + width > BLOCKS * width:
            space.keep(BLOCKS_KEPT * width)
        space.add(smooth(Z @ solve(Z.T @ residuals), residuals))
        plane = best[:, :count]
        values, best = space.ritz(width)
        moved = sine_between(plane, best[:, :count])
        logger.info("landmarks: refinement %d moved the plane by %.1e, values %s", step + 1, moved, values[: count + 1])
        if moved <= tol:
            break
    return best, moved
