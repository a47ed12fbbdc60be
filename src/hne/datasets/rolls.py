"""Angle and height -> samples on rolled strips: Swiss roll, Swiss hole, two surfaces; their charts are isometric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hne._runtime.docstrings import described_as_in
from hne.core.records import FloatArray
from hne.datasets.record import JOINING, Dataset, Draw

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
    r"""Sample the Swiss roll: a strip 89 long and 21 wide, rolled up one and a half times.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples. 300 are sparse: neighbors along the strip are hardly nearer than the next turn.
    even : bool, default=False
        True spreads the samples evenly over the surface, without clumps and gaps, by a scrambled Sobol sequence; False
        draws them at random.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on each coordinate of `X`, in the units of X. Larger blurs the shape until
        parts that are near each other touch; 0 keeps it sharp. The chart stays that of the samples without noise.
    random_state : int, default=0
        Seed: the same one gives the same samples.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with arc length and height, which have the true lengths.

    See Also
    --------
    hne.datasets.make_swiss_hole : The same roll with a hole.
    hne.datasets.make_s_curve : A strip that is bent less.

    Notes
    -----
    .. math:: x = (t \cos t, \; h, \; t \sin t), \qquad 3 \pi / 2 \le t \le 9 \pi / 2, \quad 0 \le h \le 21 .

    At random, the angle t is uniform, which crowds the inner turn. Turns are 6.3 apart: with a noise above about 1 they
    run into each other. The roll is that of [1]_.

    References
    ----------
    .. [1] Tenenbaum, de Silva and Langford, Science 290 (2000) 2319-2323.

    Examples
    --------
    >>> from hne.datasets import make_swiss_roll
    >>> make_swiss_roll(300, even=True)
    <Dataset: Swiss roll, 300 samples, spread evenly, X (300, 3), chart (arc length, height)>
    """
    draw = Draw(n_samples, random_state, even=even, noise=noise)
    return _strip("Swiss roll", draw, *_on_strip(draw.unit_square(), draw.even), ROLL_CITATION)


@described_as_in(make_swiss_roll)
def make_swiss_hole(n_samples: int = 1000, *, even: bool = False, noise: float = 0.0, random_state: int = 0) -> Dataset:
    """Sample the Swiss roll with a rectangular hole.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples that remain around the hole. With fewer than about 300, gaps are as wide as the hole.

    See Also
    --------
    hne.datasets.make_swiss_roll : The same roll without a hole.
    hne.datasets.make_severed_sphere : A sphere with a slice cut out.

    Notes
    -----
    The roll is that of `make_swiss_roll` without samples where 9 < t < 12 and 9 < h < 14. Shortest paths go around the
    hole, which stretches embeddings that trust them [1]_.

    References
    ----------
    .. [1] Donoho and Grimes, Proceedings of the National Academy of Sciences 100 (2003) 5591-5596.

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_swiss_hole
    >>> hole = make_swiss_hole(500)
    >>> t, h = np.hypot(hole.X[:, 0], hole.X[:, 2]), hole.X[:, 1]
    >>> int(np.sum((t > 9) & (t < 12) & (h > 9) & (h < 14)))
    0
    """
    (t_low, t_high), (low, high) = HOLE_ANGLES, HOLE_HEIGHTS
    times = 1
    while True:
        # Drawn anew with twice as many until enough remain, so that evenly spread ones are one sequence.
        draw = Draw(n_samples, random_state, even=even, noise=noise)
        t, height = _on_strip(draw.unit_square(times * draw.n_samples), draw.even)
        is_in_hole = (t_low < t) & (t < t_high) & (low < height) & (height < high)
        remaining = np.flatnonzero(~is_in_hole)[: draw.n_samples]
        if len(remaining) == draw.n_samples:
            return _strip("Swiss hole", draw, t[remaining], height[remaining], HOLE_CITATION)
        times *= 2


@described_as_in(make_swiss_roll)
def make_two_surfaces(n_samples: int = 150, *, random_state: int = 0) -> Dataset:
    r"""Sample two bent strips, weakly linked by nine samples on a line between them.

    Parameters
    ----------
    n_samples : int, default=150
        Number of samples, the nine of the line included. The default is sparse; with more, the line is the one place
        that stays thin.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), the line last; `labels` 0 and 1 for the strips, -1 for the line; `chart` with arc
        length and height, on the line in equal steps from one end to the other.

    See Also
    --------
    hne.datasets.make_clusters : Groups on a line instead of strips.
    hne.datasets.make_swiss_roll : The whole roll.

    Notes
    -----
    Both strips are parts of a roll [1]_,

    .. math:: x = (t \cos t, \; c, \; t \sin t), \qquad -1 \le c \le 3,

    one with t from 5/6 pi to 4/3 pi, the other from 3/2 pi to 2 pi. The line joins their samples of least third
    coordinate.

    References
    ----------
    .. [1] Liu et al., "Hierarchic Neighbors Embedding", arXiv:1909.07142 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_two_surfaces
    >>> surfaces = make_two_surfaces(150)
    >>> [int(np.sum(surfaces.labels == group)) for group in (0, 1, -1)]
    [71, 70, 9]
    """
    draw = Draw(n_samples, random_state, smallest=N_JOINING + 2)
    n_on_strips = draw.n_samples - N_JOINING
    group = (np.arange(n_on_strips) >= (n_on_strips + 1) // 2).astype(np.intp)
    start, end = np.array(SURFACE_ANGLES)[group].T
    u, v = draw.unit_square(n_on_strips)
    c = SURFACE_HEIGHTS[0] + v * (SURFACE_HEIGHTS[1] - SURFACE_HEIGHTS[0])
    strips = _strip("Two surfaces", draw, start + u * (end - start), c, HNE_CITATION)
    ends = [rows[np.argmin(strips.X[rows, 2])] for rows in (np.flatnonzero(group == 0), np.flatnonzero(group == 1))]
    return replace(
        strips,
        X=np.vstack([strips.X, between(*strips.X[ends])]),
        chart=np.vstack([strips.chart, between(*strips.chart[ends])]),
        labels=np.concatenate([group, np.full(N_JOINING, JOINING)]),
    )


def between(start: FloatArray, end: FloatArray) -> FloatArray:
    """Nine points at 0.1 to 0.9 of the way from start to end."""
    return start + JOINING_STEPS[:, None] * (end - start)


def spiral_length(t: FloatArray) -> FloatArray:
    """Arc length of the spiral (t cos t, t sin t) from 0 to t: the integral of sqrt(1 + t^2)."""
    return (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2


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


def _strip(kind: str, draw: Draw, t: FloatArray, height: FloatArray, citation: str) -> Dataset:
    """Points (t cos t, h, t sin t), one a row, with their arc length and height."""
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    return draw.dataset(kind, X, np.column_stack([spiral_length(t), height]), STRIP_NAMES, citation)
