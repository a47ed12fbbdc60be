"""Angle and height -> samples on rolled strips: Swiss roll, Swiss hole, two surfaces; their charts are isometric."""

from __future__ import annotations

import numpy as np

from hne.core.records import BoolArray, FloatArray
from hne.datasets.record import JOINING, Dataset, check_draw, check_flag, check_noise, noisy, titled, unit_square

ROLL_START, ROLL_END, ROLL_WIDTH = 1.5 * np.pi, 4.5 * np.pi, 21.0
# The hole: angles and heights strictly between these.
HOLE_ANGLES, HOLE_HEIGHTS = (9.0, 12.0), (9.0, 14.0)
# Angles of the two surfaces and the heights of both, as in the paper on HNE.
SURFACE_ANGLES = ((5 / 6 * np.pi, 16 / 12 * np.pi), (18 / 12 * np.pi, 2 * np.pi))
SURFACE_HEIGHTS = (-1.0, 3.0)
# Samples on the line between two groups, and their places along it.
N_JOINING = 9
JOINING_STEPS = np.arange(1, N_JOINING + 1) / (N_JOINING + 1)
STRIP_NAMES = ("arc length", "height")
ROLL_CITATION = "Tenenbaum, de Silva and Langford, Science 290 (2000) 2319-2323"
HOLE_CITATION = "Donoho and Grimes, Proceedings of the National Academy of Sciences 100 (2003) 5591-5596"
HNE_CITATION = "Liu, Yu, Liu, Qiao, Feng and Feng, Hierarchic Neighbors Embedding, arXiv:1909.07142 (2019)"


def make_swiss_roll(n_samples: int = 1000, *, even: bool = False, noise: float = 0.0, random_state: int = 0) -> Dataset:
    """Sample the Swiss roll (t cos t, h, t sin t), a strip rolled up one and a half times.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples. 300 is sparse: neighbors along the strip are hardly nearer than the next turn.
    even : bool, default=False
        Spread the samples evenly over the strip, by Sobol's low-discrepancy sequence, scrambled. Otherwise
        the angle t is uniform, which crowds the inner turn.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on each coordinate of `X`; the chart stays that of the sample without
        it. The turns are 6.3 apart: with more than about 1 they run into each other.
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
    n_samples, seed = check_draw(n_samples, random_state)
    even, noise = check_flag("even", even), check_noise(noise)
    generator = np.random.default_rng(seed)
    t, height = _on_strip(unit_square(n_samples, even, generator), even)
    return _rolled(t, height, noise, generator, titled("Swiss roll", n_samples, even=even, noise=noise), ROLL_CITATION)


def make_swiss_hole(n_samples: int = 1000, *, even: bool = False, noise: float = 0.0, random_state: int = 0) -> Dataset:
    """Sample the Swiss roll with a rectangular hole, where 9 < t < 12 and 9 < h < 14.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples that remain around the hole. With fewer than about 300, gaps are as wide as the hole.
    even, noise, random_state
        As in `make_swiss_roll`.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with the arc length of t and the height h.

    Examples
    --------
    >>> hole = make_swiss_hole(500)
    >>> t, h = np.hypot(hole.X[:, 0], hole.X[:, 2]), hole.X[:, 1]
    >>> np.sum((t > 9) & (t < 12) & (h > 9) & (h < 14)), len(hole)
    (np.int64(0), 500)
    """
    n_samples, seed = check_draw(n_samples, random_state)
    even, noise = check_flag("even", even), check_noise(noise)
    n_drawn = n_samples
    while True:
        # Drawn anew with twice as many until enough remain, so that evenly spread ones are one sequence.
        generator = np.random.default_rng(seed)
        t, height = _on_strip(unit_square(n_drawn, even, generator), even)
        remaining = np.flatnonzero(~_is_in_hole(t, height))[:n_samples]
        if len(remaining) == n_samples:
            break
        n_drawn *= 2
    title = titled("Swiss hole", n_samples, even=even, noise=noise)
    return _rolled(t[remaining], height[remaining], noise, generator, title, HOLE_CITATION)


def make_two_surfaces(n_samples: int = 150, *, random_state: int = 0) -> Dataset:
    """Sample two bent strips, weakly linked by nine samples on a line between them.

    Both are pieces of the roll (t cos t, c, t sin t) with c from -1 to 3: one with t from 5/6 pi to 4/3 pi, the other
    from 3/2 pi to 2 pi. The line joins the sample of least third coordinate of each.

    Parameters
    ----------
    n_samples : int, default=150
        Number of samples, the nine of the line included. The default is sparse; with more, the line is the one
        place that stays thin.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), the line last; `labels` 0 and 1 for the strips, -1 for the line; `chart` with
        the arc length of t and c, on the line in equal steps from that of one end to that of the other.

    Examples
    --------
    >>> surfaces = make_two_surfaces(150)
    >>> [int(np.sum(surfaces.labels == group)) for group in (0, 1, -1)]
    [71, 70, 9]
    """
    n_samples, seed = check_draw(n_samples, random_state, smallest=N_JOINING + 2, usual=150)
    generator = np.random.default_rng(seed)
    of_surface = np.arange(n_samples - N_JOINING) >= (n_samples - N_JOINING + 1) // 2
    start, end = np.array(SURFACE_ANGLES)[of_surface.astype(np.intp)].T
    u, v = generator.random((2, n_samples - N_JOINING))
    t = start + u * (end - start)
    c = SURFACE_HEIGHTS[0] + v * (SURFACE_HEIGHTS[1] - SURFACE_HEIGHTS[0])
    X, chart = roll_up(t, c), np.column_stack([spiral_length(t), c])
    ends = [group[np.argmin(X[group, 2])] for group in (np.flatnonzero(~of_surface), np.flatnonzero(of_surface))]
    return Dataset(
        X=np.vstack([X, between(*X[ends])]),
        chart=np.vstack([chart, between(*chart[ends])]),
        name=titled("Two surfaces", n_samples),
        citation=HNE_CITATION,
        labels=np.concatenate([of_surface.astype(np.intp), np.full(N_JOINING, JOINING)]),
        chart_names=STRIP_NAMES,
    )


def between(start: FloatArray, end: FloatArray) -> FloatArray:
    """Nine points at 0.1 to 0.9 of the way from start to end."""
    points: FloatArray = start + JOINING_STEPS[:, None] * (end - start)
    return points


def roll_up(t: FloatArray, height: FloatArray) -> FloatArray:
    """Points (t cos t, h, t sin t), one a row."""
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)])


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


def _on_strip(square: FloatArray, even: bool) -> tuple[FloatArray, FloatArray]:
    """Angle and height of points of the unit square; even ones go by arc length, the others by angle."""
    u, v = square
    if even:
        ends = spiral_length(np.array([ROLL_START, ROLL_END]))
        t = spiral_angle(ends[0] + u * (ends[1] - ends[0]))
    else:
        t = ROLL_START + u * (ROLL_END - ROLL_START)
    return t, ROLL_WIDTH * v


def _is_in_hole(t: FloatArray, height: FloatArray) -> BoolArray:
    (t_low, t_high), (low, high) = HOLE_ANGLES, HOLE_HEIGHTS
    return (t_low < t) & (t < t_high) & (low < height) & (height < high)


def _rolled(
    t: FloatArray, height: FloatArray, noise: float, generator: np.random.Generator, name: str, citation: str
) -> Dataset:
    return Dataset.of_one_group(
        noisy(roll_up(t, height), noise, generator),
        np.column_stack([spiral_length(t), height]),
        name=name,
        citation=citation,
        chart_names=STRIP_NAMES,
    )
