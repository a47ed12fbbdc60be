"""Synthetic surfaces: samples in space and their true coordinates on the surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from hne._types import FloatArray
from hne._validation import check_integer

ROLL_START, ROLL_END, ROLL_WIDTH = 1.5 * np.pi, 4.5 * np.pi, 21.0


@dataclass(frozen=True)
class Dataset:
    """Samples with the truth about them."""

    X: FloatArray  # (n, D)
    chart: FloatArray  # (n, q), true coordinates
    name: str
    citation: str


def make_swiss_roll(n_samples: int = 1000, *, even: bool = False, random_state: int = 0) -> Dataset:
    """Sample the Swiss roll (t cos t, h, t sin t), a strip rolled up one and a half times.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples. 300 is sparse: neighbors along the strip are hardly nearer than the next turn.
    even : bool, default=False
        Spread the samples evenly over the strip, by Sobol's low-discrepancy sequence, scrambled. Otherwise
        the angle t is uniform, which crowds the inner turn.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with the arc length of t and the height h.

    Examples
    --------
    >>> roll = make_swiss_roll(300, even=True)
    >>> roll.X.shape, roll.chart.shape
    ((300, 3), (300, 2))
    """
    n_samples = check_integer("n_samples", n_samples, 1, "Try n_samples=1000")
    random_state = check_integer("random_state", random_state, 0, "Try random_state=0")
    if even:
        # Sobol's sequence comes in powers of two; any beginning of one is spread evenly as well.
        sequence = qmc.Sobol(d=2, rng=np.random.default_rng(random_state))
        u, v = sequence.random_base2((n_samples - 1).bit_length())[:n_samples].T
        ends = spiral_length(np.array([ROLL_START, ROLL_END]))
        t = spiral_angle(ends[0] + u * (ends[1] - ends[0]))
    else:
        u, v = np.random.default_rng(random_state).random((2, n_samples))
        t = ROLL_START + u * (ROLL_END - ROLL_START)
    height = ROLL_WIDTH * v
    return Dataset(
        X=np.column_stack([t * np.cos(t), height, t * np.sin(t)]),
        chart=np.column_stack([spiral_length(t), height]),
        name=f"Swiss roll, {n_samples} samples{', spread evenly' if even else ''}",
        citation="Tenenbaum, de Silva and Langford, Science 290 (2000) 2319-2323",
    )


def spiral_length(t: FloatArray) -> FloatArray:
    """Arc length of the spiral (t cos t, t sin t) from 0 to t: the integral of sqrt(1 + t^2)."""
    length: FloatArray = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    return length


def spiral_angle(length: FloatArray) -> FloatArray:
    """Angle t at an arc length, by Newton's method: the length is convex in t, so it converges from above."""
    t = np.sqrt(2 * length)
    for _ in range(8):
        t = t - (spiral_length(t) - length) / np.sqrt(1 + t**2)
    return t
