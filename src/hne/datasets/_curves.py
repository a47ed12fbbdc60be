"""Arc length -> samples on closed curves in space: a helix around a torus, a trefoil knot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.interpolate import CubicSpline

from hne._types import FloatArray
from hne._validation import check_integer
from hne.datasets._draws import check_draw, check_noise, noisy, titled
from hne.datasets._record import Dataset

# Parameters at which a curve is measured, per turn; splines between them are true to 1e-12 of the length.
N_MEASURED = 2048


def make_helix(n_samples: int = 1000, *, n_turns: int = 8, noise: float = 0.0, random_state: int = 0) -> Dataset:
    """Sample a helix wound around a torus, ((2 + cos m t) cos t, (2 + cos m t) sin t, sin m t), a closed curve.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples, uniform in arc length. With fewer than about 30 a turn, neighbors are found across turns.
    n_turns : int, default=8
        Number m of turns; more come nearer to each other.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on each coordinate of `X`; the chart stays that of the sample without it.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with the arc length. The curve is closed: its end is its beginning.

    Examples
    --------
    >>> helix = make_helix(500)
    >>> helix.chart.shape, helix.chart_names
    ((500, 1), ('closed arc length',))
    """
    n_samples, seed = check_draw(n_samples, random_state)
    n_turns = check_integer("n_turns", n_turns, 1, "Try n_turns=8")

    def helix(t: FloatArray) -> FloatArray:
        out = 2 + np.cos(n_turns * t)
        return np.column_stack([out * np.cos(t), out * np.sin(t), np.sin(n_turns * t)])

    def speed(t: FloatArray) -> FloatArray:
        length: FloatArray = np.hypot(2 + np.cos(n_turns * t), n_turns)
        return length

    title = titled(f"Helix of {n_turns} turns, closed", n_samples, noise=check_noise(noise))
    citation = "Coifman and Lafon, Applied and Computational Harmonic Analysis 21 (2006) 5-30"
    return _sampled(helix, speed, n_turns * N_MEASURED, n_samples, check_noise(noise), seed, title, citation)


def make_trefoil(n_samples: int = 1000, *, noise: float = 0.0, random_state: int = 0) -> Dataset:
    """Sample the trefoil knot (sin t + 2 sin 2t, cos t - 2 cos 2t, -sin 3t), a closed curve.

    No projection to the plane leaves it free of crossings, yet as a curve it is a circle.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples, uniform in arc length. With fewer than about 100, neighbors are found across strands.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on each coordinate of `X`; the chart stays that of the sample without it.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with the arc length. The curve is closed: its end is its beginning.

    Examples
    --------
    >>> knot = make_trefoil(500)
    >>> knot.X.shape, knot.name
    ((500, 3), 'Trefoil knot, closed, 500 samples')
    """
    n_samples, seed = check_draw(n_samples, random_state)

    def trefoil(t: FloatArray) -> FloatArray:
        return np.column_stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)])

    def speed(t: FloatArray) -> FloatArray:
        # (cos t + 4 cos 2t)^2 + (4 sin 2t - sin t)^2 = 17 + 8 cos 3t
        length: FloatArray = np.sqrt(17 + 8 * np.cos(3 * t) + 9 * np.cos(3 * t) ** 2)
        return length

    title = titled("Trefoil knot, closed", n_samples, noise=check_noise(noise))
    citation = "Rolfsen, Knots and Links, Publish or Perish (1976), knot 3_1"
    return _sampled(trefoil, speed, 3 * N_MEASURED, n_samples, check_noise(noise), seed, title, citation)


def _sampled(
    curve: Callable[[FloatArray], FloatArray],
    speed: Callable[[FloatArray], FloatArray],
    n_measured: int,
    n_samples: int,
    noise: float,
    seed: int,
    name: str,
    citation: str,
) -> Dataset:
    """Dataset of the curve over t from 0 to 2 pi, uniform in arc length."""
    generator = np.random.default_rng(seed)
    nodes = np.linspace(0, 2 * np.pi, n_measured + 1)
    lengths = cumulative_simpson(speed(nodes), x=nodes, initial=0)
    length = lengths[-1] * generator.random(n_samples)
    t: FloatArray = CubicSpline(lengths, nodes)(length)
    return Dataset.of_one_group(
        noisy(curve(t), noise, generator),
        length[:, None],
        name=name,
        citation=citation,
        chart_names=("closed arc length",),
    )
