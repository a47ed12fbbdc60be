"""Vectors near the bottom eigenvectors of G -> nearer ones, by a few preconditioned steps on all samples.

What landmarks cannot show oscillates between them. Each step takes the residuals, corrects on landmarks, damps what
oscillates by Chebyshev iteration, and takes the best eigenvectors in the span of what it had and what is new. G is
applied through A and B alone.

On the roll of 100 000 samples with 4 000 landmarks, the angle to the eigenvectors falls from .013 rad to .0032, .0017,
.0013 and .0012 in four steps. Smoothing before the correction as well makes it .0026 and .0014 in two, for twice the
products with G; without a correction on landmarks it comes to .0017 in four.
"""

import logging

import numpy as np

from hne._costs import BASIS_BLOCKS
from hne._eigen import RitzSpace, centered, chebyshev, sine_between
from hne._progress import counted
from hne._types import LANDMARKS, Alignment, FloatArray, Solve, SparseMatrix

logger = logging.getLogger("hne")

# Steps, few because each costs as much as a dozen products with G, and the blocks of vectors that the basis may have.
STEPS, BLOCKS, BLOCKS_KEPT = 4, BASIS_BLOCKS[LANDMARKS], 2
# Chebyshev steps, and the share of the spectrum that they damp: the upper 39/40, to a tenth.
SMOOTHING_STEPS, SMOOTHED_RATIO = 10, 40.0


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
    for step in counted("refinements", range(STEPS), STEPS):
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
