"""Requests -> random numbers: what every generator checks and draws alike."""

import numpy as np
from scipy.stats import qmc

from hne._quoted import quoted
from hne._types import FloatArray
from hne._validation import check_integer, check_number
from hne.exceptions import InputError, InputTypeError

# More would leave nothing of any manifold, and soon the range of float64.
MOST_NOISE = 1e100


def check_draw(n_samples: object, random_state: object, *, smallest: int = 1, usual: int = 1000) -> tuple[int, int]:
    """Return the number of samples, at least the smallest that makes sense, and the seed."""
    count = check_integer("n_samples", n_samples, smallest, f"Try n_samples={usual}")
    return count, check_integer("random_state", random_state, 0, "Try random_state=0")


def check_flag(name: str, value: object) -> bool:
    """Return the value if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name} must be True or False, got {quoted(value)} of type {type(value).__name__}. Try {name}=False."
        raise InputTypeError(msg)
    return bool(value)


def check_noise(noise: object) -> float:
    """Return the noise if it is a standard deviation."""
    number = check_number("noise", noise)
    if not 0 <= number <= MOST_NOISE:
        msg = f"noise must be a standard deviation, 0 to {MOST_NOISE:g}, got {quoted(number)}. Try noise=0.1."
        raise InputError(msg)
    return number


def unit_square(n_samples: int, even: bool, generator: np.random.Generator) -> FloatArray:
    """Draw points of the unit square, one a column: uniform, or spread evenly by Sobol's sequence, scrambled."""
    if not even:
        return generator.random((2, n_samples))
    # Sobol's sequence comes in powers of two; any beginning of one is spread evenly as well.
    sequence = qmc.Sobol(d=2, rng=generator).random_base2((n_samples - 1).bit_length())
    points: FloatArray = sequence[:n_samples].T
    return points


def noisy(X: FloatArray, noise: float, generator: np.random.Generator) -> FloatArray:
    """Samples with Gaussian noise of that standard deviation added to each coordinate; the same ones where it is 0."""
    return X + noise * generator.standard_normal(X.shape) if noise else X


def titled(kind: str, n_samples: int, *, even: bool = False, noise: float = 0.0) -> str:
    """Name of a dataset: its kind, its size and what is special about it."""
    return f"{kind}, {n_samples} samples{', spread evenly' if even else ''}{f', noise {noise:g}' if noise else ''}"
