"""Bottom eigenvectors of G without a factorization: block Davidson iteration with loosely solved corrections.

G is never applied but through A and B. Each step adds to the basis what a few conjugate gradient steps make of the
residuals, and takes the best eigenpairs in it (Rayleigh-Ritz on |A y| and |B y|); the basis starts over from its best
part when it has grown. Only the preconditioner of the conjugate gradients depends on the kind of data, see
`_preconditioner`: a multigrid cycle where samples lie on something of few dimensions (eigenvalues 1e-10 of the scale of
G and less), the diagonal where they do not.

Measured and put aside: LOBPCG with the diagonal (10-D Gaussians, n = 5 000: nowhere near after 300 iterations), ARPACK
on the operator (4 000 products, none converged), Chebyshev polynomials in place of conjugate gradients (as good, but
with bounds to guess), a Galerkin problem on landmarks as start or coarse level (1 000 times too stiff on a Swiss roll,
no faster on Gaussians; `_landmarks` has one that is smoother, for what is too large for this).
"""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, eye_array, triu
from scipy.sparse.linalg import splu

from hne._runtime.progress import track
from hne._runtime.random import random_generator
from hne.core.eigen.alignment import upper_triangle
from hne.core.eigen.certificate import allowed_residual
from hne.core.eigen.costs import BASIS_BLOCKS, MULTIGRID_MAX_ROW, SPARE_VECTORS, Sizes, precondition_kind
from hne.core.eigen.subspace import RitzSpace, centered, chebyshev, inverted, sine_between
from hne.core.records import Alignment, FloatArray, Solve, SparseMatrix

logger = logging.getLogger("hne")

# Coordinates of the samples beside the constant, leading ones first: as many as surfaces and solids need.
NEAR_NULL_COORDINATES = 3
# Couplings below this share of the diagonals do not aggregate. No limit, or twice this one, takes more steps on a roll.
STRENGTH = 0.08
# Relative length below which a coordinate is none.
FLAT = 1e-10
# A coarse level of so many aggregates is factored: up to four times as many unknowns, one for each near-null vector.
MAX_COARSE = 500
# Chebyshev steps of the smoother before and after the coarse level, for the upper part of the spectrum.
SMOOTHING_STEPS, SMOOTHED_RATIO = 3, 20.0
SHIFT = 1e-14  # of the scale of G: the constant vector needs a pivot


@dataclass(frozen=True)
class Precondition:
    """A stand-in for the inverse of G, and how many conjugate gradient steps to take with it at most."""

    name: str  # "multigrid" or "diagonal"
    apply: Solve
    max_steps: int


def preconditioner(alignment: Alignment, samples: FloatArray | None, sizes: Sizes, n_threads: int) -> Precondition:
    """Choose the kind by the entries a row of G, and build it."""
    if precondition_kind(sizes) == "multigrid":
        return Precondition("multigrid", _multigrid(alignment, samples, n_threads), max_steps=5)
    if sizes.row_entries <= MULTIGRID_MAX_ROW:
        logger.warning("eigenpairs: without multigrid (the extra 'fast') the iterative solver may not get there")
    inverse = inverted(alignment.diagonal())
    return Precondition("diagonal", lambda residual: inverse * residual, max_steps=60)


def _multigrid(alignment: Alignment, samples: FloatArray | None, n_threads: int) -> Solve:
    from pyamg import smoothed_aggregation_solver  # noqa: PLC0415, an extra

    upper = upper_triangle(alignment, n_threads)
    scale = float(upper.diagonal().max())
    G = upper + triu(upper, k=1).T + SHIFT * scale * eye_array(alignment.n_samples)
    G = csr_matrix(G)
    # pyamg takes no other indices.
    G.indices, G.indptr = G.indices.astype(np.int32, copy=False), G.indptr.astype(np.int32, copy=False)
    hierarchy = smoothed_aggregation_solver(
        G,
        B=_near_null(samples, alignment.n_samples),
        strength=("symmetric", {"theta": STRENGTH}),
        smooth=("energy", {"krylov": "cg", "maxiter": 4, "degree": 2}),
        presmoother=None,
        postsmoother=None,
        max_coarse=MAX_COARSE,
    )
    sizes = [level.A.shape[0] for level in hierarchy.levels]
    logger.info("multigrid: levels of %s samples", ", ".join(map(str, sizes)))
    bottom = hierarchy.levels[-1].A.tocsc()
    pivot = SHIFT * bottom.diagonal().max()
    solve: Solve = splu((bottom + pivot * eye_array(sizes[-1])).tocsc()).solve
    for level in reversed(hierarchy.levels[:-1]):
        solve = _cycle(level.A.tocsr(), level.P.tocsr(), level.R.tocsr(), solve)
    return solve


def _near_null(samples: FloatArray | None, n_samples: int) -> FloatArray:
    """The constant and the samples' leading coordinates, each of about unit size."""
    constant = np.ones((n_samples, 1))
    if samples is None:
        return constant
    count = min(NEAR_NULL_COORDINATES, *samples.shape)
    from sklearn.utils.extmath import randomized_svd  # noqa: PLC0415, a second to load

    axes, lengths, _ = randomized_svd(centered(samples), count, random_state=0)
    # Flat samples have fewer coordinates than features.
    leading = axes[:, lengths > FLAT * lengths[0]]
    return np.hstack([constant, leading * np.sqrt(n_samples)])


def _cycle(G: SparseMatrix, prolong: SparseMatrix, restrict: SparseMatrix, coarse: Solve) -> Solve:
    """One V-cycle: smooth, correct on the coarse level, smooth."""
    smooth = chebyshev(lambda block: G @ block, G.diagonal(), SMOOTHING_STEPS, SMOOTHED_RATIO)

    def solve(residual: FloatArray) -> FloatArray:
        solution = smooth(np.zeros_like(residual), residual)
        solution = solution + prolong @ coarse(restrict @ (residual - G @ solution))
        return smooth(solution, residual)

    return solve


MAX_STEPS, BLOCKS_BEFORE_RESTART, BLOCKS_KEPT = 300, BASIS_BLOCKS["iterative"], 4
# A plane at rest must also have residuals this small relative to its gap: slow progress looks like rest.
LARGEST_ANGLE = 1e-3
# Share of a residual at which a correction is good enough: less costs steps, more costs blocks of the basis.
REDUCTION = 0.1
# Where a chart is made of many vectors, the last of which are some of many: how far their span may still move, with
# residuals of no more than this share of what their certificate allows.
CHART_MOVED, CHART_RESIDUAL = 0.01, 0.5


def iterative_eigenvectors(
    alignment: Alignment,
    precondition: Precondition,
    count: int,
    tol: float,
    random_state: object,
    *,
    is_for_chart: bool = False,
) -> FloatArray:
    """Orthonormal basis (n, count + 4) of the bottom eigenvectors of G, ascending, the constant one left out.

    The first `count` have converged to `tol`, for a chart to less; the others are on their way.
    """
    n, width = alignment.n_samples, count + SPARE_VECTORS["iterative"]
    start = random_generator(random_state).uniform(-1.0, 1.0, (n, width))
    space, plane = RitzSpace(alignment, (BLOCKS_BEFORE_RESTART + 1) * width), np.empty((n, 0))
    space.add(start)
    scale = float(alignment.diagonal().max())
    digits = np.finfo(float).eps * scale
    for step in track("iterations", range(MAX_STEPS)):
        values, best = space.ritz(width)
        residuals = alignment.apply(best) - best * values[:width]
        moved = sine_between(plane, best[:, :count])
        lengths = np.linalg.norm(residuals[:, :count], axis=0)
        angle = float(lengths.max() / max(values[count] - values[count - 1], digits))
        logger.debug("step %d: the plane moved by %.1e, residuals %.1e of the gap", step, moved, angle)
        at_rest = moved <= tol and angle <= LARGEST_ANGLE
        if is_for_chart and moved <= CHART_MOVED:
            at_rest |= bool(lengths.max() <= CHART_RESIDUAL * allowed_residual(scale, float(values[count]), tol))
        if at_rest or lengths.max() <= digits or space.dimension == n - 1:
            logger.info("eigenpairs: %d steps with blocks of %d, %s", step, width, precondition.name)
            return best
        plane = best[:, :count]
        if space.dimension >= BLOCKS_BEFORE_RESTART * width:
            space.keep(BLOCKS_KEPT * width)
        space.add(corrections(alignment, precondition, residuals))
    msg = (
        f"the plane still moves by {moved:.1e} rad, with residuals {angle:.1e} of the gap, after {MAX_STEPS} steps "
        f"preconditioned by {precondition.name}"
    )
    raise RuntimeError(msg)


def corrections(alignment: Alignment, precondition: Precondition, residuals: FloatArray) -> FloatArray:
    """Solve G z = r roughly for each column by preconditioned conjugate gradients, orthogonal to the constant."""
    remaining = centered(residuals)
    solution, direction = np.zeros_like(remaining), np.zeros_like(remaining)
    enough = REDUCTION * np.linalg.norm(remaining, axis=0)
    previous = np.ones(remaining.shape[1])
    for _ in range(precondition.max_steps):
        if (np.linalg.norm(remaining, axis=0) <= enough).all():
            break
        improved = centered(precondition.apply(remaining))
        agreement = np.einsum("ij,ij->j", remaining, improved)
        direction = improved + direction * (agreement / previous)
        image = alignment.apply(direction)
        curvature = np.einsum("ij,ij->j", direction, image)
        # Columns that are solved to all digits have nothing left to divide by.
        length = np.divide(agreement, curvature, out=np.zeros_like(agreement), where=curvature > 0)
        solution += length * direction
        remaining -= length * image
        previous = np.where(agreement > 0, agreement, 1.0)
    return solution
