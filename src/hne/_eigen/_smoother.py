"""A symmetric matrix and its diagonal -> Chebyshev iteration that damps what of an error oscillates fast."""

from collections.abc import Callable

import numpy as np

from hne._types import FloatArray, Solve

# Power steps to the largest eigenvalue, and a reserve for what they miss.
POWER_STEPS, RESERVE = 15, 1.15

# Takes a first solution, which it may change, and a right side; gives a better one.
Smooth = Callable[[FloatArray, FloatArray], FloatArray]


def chebyshev(apply: Solve, diagonal: FloatArray, steps: int, ratio: float) -> Smooth:
    """Damp the part of the spectrum of the matrix, scaled by its diagonal, from the largest eigenvalue to 1 / ratio."""
    inverse = inverted(diagonal)
    highest = _largest_eigenvalue(apply, np.sqrt(inverse))
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


def inverted(diagonal: FloatArray) -> FloatArray:
    """One over each entry, as a column; zero where there is nothing to divide by, as on levels made from copies."""
    inverse: FloatArray = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    return inverse[:, None]


def _largest_eigenvalue(apply: Solve, scaling: FloatArray) -> float:
    """Bound on the top of the spectrum of the scaled matrix."""
    vector = np.random.default_rng(0).standard_normal((len(scaling), 1))
    for _ in range(POWER_STEPS):
        vector = scaling * apply(scaling * (vector / np.linalg.norm(vector)))
    return RESERVE * float(np.linalg.norm(vector))
