"""Bottom eigenvectors of G near a surface, without a factorization: block Davidson iteration by multigrid.

G is never applied but through A and B. Each step adds to the basis what a few conjugate gradient steps make of the
residuals, and takes the best eigenpairs in it (Rayleigh-Ritz on |A y| and |B y|); the basis starts over from its best
part when it has grown. The conjugate gradients are preconditioned by a multigrid cycle, for samples on something of few
dimensions have eigenvalues 1e-10 of the scale of G and less. Where they fill more, `hne.core.eigen.filtered` is faster.

Measured and put aside: a Galerkin problem on landmarks as start or coarse level (1 000 times too stiff on a Swiss roll;
`hne.core.landmarks` has one that is smoother, for what is too large for this).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, eye_array, triu
from scipy.sparse.linalg import splu

from hne._runtime.progress import track
from hne._runtime.random import random_generator
from hne.core.eigen.alignment import Alignment, upper_triangle
from hne.core.eigen.certificate import LARGEST_ANGLE, allowed_residual
from hne.core.eigen.costs import BASIS_BLOCKS, SPARE_VECTORS
from hne.core.records import FloatArray, Solve, SparseMatrix
from hne.settings import Settings

logger = logging.getLogger("hne")

MAX_STEPS, BLOCKS_BEFORE_RESTART, BLOCKS_KEPT = 300, BASIS_BLOCKS["iterative"], 4
# Conjugate gradient steps of a correction, at most.
CORRECTION_STEPS = 5
# Share of a residual at which a correction is good enough: less costs steps, more costs blocks of the basis.
REDUCTION = 0.1
# Where a chart is made of many vectors, the last of which are some of many: how far their span may still move, with
# residuals of no more than this share of what their certificate allows.
CHART_MOVED, CHART_RESIDUAL = 0.01, 0.5
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
# Power steps to the largest eigenvalue, and a reserve for what they miss.
POWER_STEPS, RESERVE = 15, 1.15


@dataclass(frozen=True)
class Precondition:
    """A stand-in for the inverse of G, and how many conjugate gradient steps to take with it at most."""

    apply: Solve
    max_steps: int


def iterative_eigenvectors(
    alignment: Alignment, settings: Settings, n_threads: int = 1, samples: FloatArray | None = None
) -> FloatArray:
    """Orthonormal basis (n, count + 4) of the bottom eigenvectors of G, ascending, the constant one left out.

    The wanted ones have converged to `tol`, for a chart to less; the others are on their way.
    """
    n, tol, is_for_chart = alignment.n_samples, settings.effective_tol, settings.coordinates == "chart"
    count = settings.n_eigenvectors(n)
    width = count + SPARE_VECTORS["iterative"]
    precondition = Precondition(multigrid(alignment, samples, n_threads), CORRECTION_STEPS)
    space, plane = RitzSpace(alignment, (BLOCKS_BEFORE_RESTART + 1) * width), np.empty((n, 0))
    space.add(random_generator(settings.random_state).uniform(-1.0, 1.0, (n, width)))
    scale = float(alignment.diagonal().max())
    digits = np.finfo(float).eps * scale
    for step in track("iterations", range(MAX_STEPS)):
        values, best = space.ritz(width)
        residuals = alignment.apply(best) - best * values[:width]
        moved = sine_between(plane, best[:, :count])
        longest = np.linalg.norm(residuals[:, :count], axis=0).max()
        angle = float(longest / max(values[count] - values[count - 1], digits))
        logger.debug("step %d: the plane moved by %.1e, residuals %.1e of the gap", step, moved, angle)
        at_rest = moved <= tol and angle <= LARGEST_ANGLE
        if is_for_chart and moved <= CHART_MOVED:
            at_rest |= bool(longest <= CHART_RESIDUAL * allowed_residual(scale, float(values[count]), tol))
        if at_rest or longest <= digits or space.dimension == n - 1:
            logger.info("eigenpairs: %d steps with blocks of %d, multigrid", step, width)
            return best
        plane = best[:, :count]
        if space.dimension >= BLOCKS_BEFORE_RESTART * width:
            space.keep(BLOCKS_KEPT * width)
        space.add(corrections(alignment, precondition, residuals))
    msg = (
        f"the plane still moves by {moved:.1e} rad, with residuals {angle:.1e} of the gap, after {MAX_STEPS} steps "
        "preconditioned by multigrid"
    )
    raise RuntimeError(msg)


def corrections(
    alignment: Alignment, precondition: Precondition, residuals: FloatArray, reduction: float = REDUCTION
) -> FloatArray:
    """Solve G z = r roughly for each column by preconditioned conjugate gradients, orthogonal to the constant."""
    remaining = centered(residuals)
    solution, direction = np.zeros_like(remaining), np.zeros_like(remaining)
    enough = reduction * np.linalg.norm(remaining, axis=0)
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


def multigrid(alignment: Alignment, samples: FloatArray | None, n_threads: int) -> Solve:
    """One cycle of multigrid on G, whose near-null space are the constant and the samples' coordinates."""
    from pyamg import smoothed_aggregation_solver  # noqa: PLC0415, an extra

    upper = upper_triangle(alignment, n_threads)
    scale = float(upper.diagonal().max())
    G = csr_matrix(upper + triu(upper, k=1).T + SHIFT * scale * eye_array(alignment.n_samples))
    # pyamg takes no other indices.
    G.indices, G.indptr = G.indices.astype(np.int32, copy=False), G.indptr.astype(np.int32, copy=False)
    hierarchy = smoothed_aggregation_solver(
        G,
        B=near_null(samples, alignment.n_samples),
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


def near_null(samples: FloatArray | None, n_samples: int) -> FloatArray:
    """The constant and the samples' leading coordinates, each of about unit size."""
    constant = np.ones((n_samples, 1))
    if samples is None:
        return constant
    from sklearn.utils.extmath import randomized_svd  # noqa: PLC0415, a second to load

    count = min(NEAR_NULL_COORDINATES, *samples.shape)
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


def chebyshev(
    apply: Solve, diagonal: FloatArray, steps: int, ratio: float
) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """Damp the part of the spectrum of the matrix, scaled by its diagonal, from the largest eigenvalue to 1 / ratio.

    The result takes a first solution, which it may change, and a right side; it gives a better one.
    """
    inverse = _inverted(diagonal)
    scaling = np.sqrt(inverse)
    vector = np.random.default_rng(0).standard_normal((len(scaling), 1))
    for _ in range(POWER_STEPS):
        vector = scaling * apply(scaling * (vector / np.linalg.norm(vector)))
    highest = RESERVE * float(np.linalg.norm(vector))
    lowest = highest / ratio
    middle, half = (highest + lowest) / 2, (highest - lowest) / 2

    def smooth(solution: FloatArray, right_side: FloatArray) -> FloatArray:
        residual = right_side - apply(solution)
        direction = inverse * residual / middle
        solution += direction
        rate = half / middle
        for _ in range(steps - 1):
            residual -= apply(direction)
            next_rate = 1.0 / (2 * middle / half - rate)
            direction *= next_rate * rate
            direction += (2 * next_rate / half) * (inverse * residual)
            solution += direction
            rate = next_rate
        return solution

    return smooth


def _inverted(diagonal: FloatArray) -> FloatArray:
    """One over each entry, as a column; zero where there is nothing to divide by, as on levels made from copies."""
    inverse: FloatArray = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    return inverse[:, None]


class RitzSpace:
    """Orthonormal basis without the constant, and the best eigenpairs of G in its span.

    The images of the basis under [sqrt(gamma) A; B] are kept as Q R and added to, so that a step costs what its block
    costs: singular values of the small R are the lengths whose squares are the Ritz values.
    """

    def __init__(self, alignment: Alignment, capacity: int) -> None:
        self._alignment = alignment
        n = alignment.n_samples
        # By columns: blocks are added at the end, and products take the first ones. Memory is taken as it is filled.
        self._vectors = np.empty((n, capacity), order="F")
        self._images = np.empty((2 * n, capacity), order="F")
        self._triangle = np.empty((0, 0))

    @property
    def dimension(self) -> int:
        """Number of vectors in the basis."""
        return len(self._triangle)

    def add(self, block: FloatArray) -> FloatArray:
        """Add what the block has that the basis has not, as far as there is room beside the constant; return that."""
        size = self.dimension
        basis, images = self._vectors[:, :size], self._images[:, :size]
        # Orthonormal, orthogonal to the basis and to the constant vector; twice is enough.
        for _ in range(2):
            block = centered(block)
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        block = block[:, : len(basis) - 1 - size]
        end = size + block.shape[1]
        added = self._vectors[:, size:end]
        added[:] = block
        del block
        # In place, because images are the largest of all arrays.
        image = self._alignment.stacked(added)
        coupling = images.T @ image
        image -= images @ coupling
        again = images.T @ image
        image -= images @ again
        self._images[:, size:end], corner = np.linalg.qr(image)
        self._triangle = np.block([[self._triangle, coupling + again], [np.zeros((end - size, size)), corner]])
        return added

    def ritz(self, width: int) -> tuple[FloatArray, FloatArray]:
        """Ritz values, ascending, and the vectors of the first `width`."""
        values, coefficients = self._ascending()
        return values, self._vectors[:, : self.dimension] @ coefficients[:, :width]

    def keep(self, count: int) -> None:
        """Start over from the best `count` vectors."""
        size = self.dimension
        best = self._ascending()[1][:, : min(count, size)]
        rotation, triangle = np.linalg.qr(self._triangle @ best)
        self._vectors[:, : best.shape[1]] = self._vectors[:, :size] @ best
        self._images[:, : best.shape[1]] = self._images[:, :size] @ rotation
        self._triangle = triangle

    def _ascending(self) -> tuple[FloatArray, FloatArray]:
        _, lengths, rotation = np.linalg.svd(self._triangle)
        return lengths[::-1] ** 2, rotation[::-1].T


def centered(block: FloatArray) -> FloatArray:
    """Take the constant vector out of each column."""
    return block - block.mean(axis=0)


def sine_between(plane: FloatArray, other: FloatArray) -> float:
    """Sine of the largest angle between two planes given by orthonormal columns; 1 where one is missing."""
    if plane.shape != other.shape:
        return 1.0
    return float(np.linalg.norm(plane - other @ (other.T @ plane), ord=2))
