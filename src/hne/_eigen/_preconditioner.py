"""Alignment, samples -> a cheap stand-in for the inverse of G, to be improved by conjugate gradients.

Two kinds. Multigrid where pyamg is installed and rows of G are short: aggregates smoothed for least energy, with the
functions that G hardly sees as near-null vectors, which are the constant and the coordinates of the samples (their
neighbors rebuild them); the cycle itself is ours, because it takes a whole block of vectors and pyamg's one. The
diagonal of G where rows are long, as they are when samples fill many dimensions: there the spectrum is mild, and
multigrid costs more than it gives (10-D Gaussians, 1 250 entries a row: no convergence in 90 steps).
"""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, eye_array, triu
from scipy.sparse.linalg import splu

from hne._assembly import upper_triangle
from hne._costs import MULTIGRID_MAX_ROW, Sizes, precondition_kind
from hne._eigen._smoother import chebyshev, inverted
from hne._eigen._subspace import centered
from hne._types import Alignment, FloatArray, Solve, SparseMatrix

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
