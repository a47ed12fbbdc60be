"""Two parameters -> samples on surfaces: S-curve, punctured and severed sphere, twin peaks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.interpolate import CubicSpline

from hne.core.parameters import check_integer
from hne.core.records import FloatArray
from hne.datasets.record import Dataset, check_draw, check_flag, check_noise, noisy, titled, unit_square

# Half of the S-curve's arc length, 3 pi / 2, is three quarters of a unit circle.
S_HALF, S_WIDTH = 1.5 * np.pi, 2.0
# The disk that the sphere is made of; the opening it leaves has radius 20 / 29 at height 50 / 29 of 2.
DISK_RADIUS = 5.0
# Angle of the slice that is missing from the severed sphere, and of the caps at its poles.
SLICE, CAP = 0.55, np.pi / 8
LLE_CITATION = "Saul and Roweis, Journal of Machine Learning Research 4 (2003) 119-155"


def make_s_curve(n_samples: int = 1000, *, even: bool = False, noise: float = 0.0, random_state: int = 0) -> Dataset:
    """Sample a strip bent to the letter S: two opposite three-quarter turns of unit radius.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples; 100 still outline the letter.
    even : bool, default=False
        Spread the samples evenly over the strip, by Sobol's low-discrepancy sequence, scrambled.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on each coordinate of `X`; the chart stays that of the sample without it.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with the arc length, 0 to 3 pi, and the height, 0 to 2: isometric.

    Examples
    --------
    >>> letter = make_s_curve(500)
    >>> letter.chart_names, bool(np.ptp(letter.chart[:, 0]) < 3 * np.pi)
    (('arc length', 'height'), True)
    """
    n_samples, seed = check_draw(n_samples, random_state)
    even, noise = check_flag("even", even), check_noise(noise)
    generator = np.random.default_rng(seed)
    u, v = unit_square(n_samples, even, generator)
    t, height = S_HALF * (2 * u - 1), S_WIDTH * v
    X = np.column_stack([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)])
    return Dataset.of_one_group(
        noisy(X, noise, generator),
        np.column_stack([t + S_HALF, height]),
        name=titled("S-curve", n_samples, even=even, noise=noise),
        citation=LLE_CITATION,
        chart_names=("arc length", "height"),
    )


def make_punctured_sphere(n_samples: int = 1000, *, random_state: int = 0) -> Dataset:
    """Sample a sphere that is open at the top, as a disk wrapped around it from below.

    The plane's point p goes to the unit sphere about (0, 0, 1) by stereographic projection from the top,
    (a p, 2 - 2 a) with a = 4 / (4 + |p|^2). Points uniform on a disk of radius 5 are 53 times as dense at the rim of
    the opening as at the bottom: one size of neighborhood has to fit both.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples. Few leave the bottom almost bare.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with the point of the disk: angles are true, lengths are not.

    Examples
    --------
    >>> sphere = make_punctured_sphere(500)
    >>> np.allclose(np.linalg.norm(sphere.X - [0, 0, 1], axis=1), 1)
    True
    """
    n_samples, seed = check_draw(n_samples, random_state)
    u, v = np.random.default_rng(seed).random((2, n_samples))
    radius, angle = DISK_RADIUS * np.sqrt(u), 2 * np.pi * v
    point = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    a = 4 / (4 + radius**2)
    return Dataset.of_one_group(
        np.column_stack([a[:, None] * point, 2 - 2 * a]),
        point,
        name=titled("Punctured sphere", n_samples),
        citation=LLE_CITATION,
        chart_names=("disk x", "disk y"),
    )


def make_severed_sphere(n_samples: int = 1000, *, random_state: int = 0) -> Dataset:
    """Sample a unit sphere without its polar caps and with a slice cut out of its side, so that it can spread open.

    Longitude is uniform from 0 to 2 pi - 0.55, the angle from the pole from pi / 8 to 7 pi / 8.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples. With fewer than about 300 the slice is no wider than other gaps.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with longitude and angle from the pole, in radians: no flat chart of a
        sphere has true lengths.

    Examples
    --------
    >>> sphere = make_severed_sphere(500)
    >>> np.allclose(sphere.X[:, 2], np.cos(sphere.chart[:, 1]))
    True
    """
    n_samples, seed = check_draw(n_samples, random_state)
    u, v = np.random.default_rng(seed).random((2, n_samples))
    longitude, polar = (2 * np.pi - SLICE) * u, CAP + (np.pi - 2 * CAP) * v
    return Dataset.of_one_group(
        _on_sphere(longitude, polar),
        np.column_stack([longitude, polar]),
        name=titled("Severed sphere", n_samples),
        citation="Grobler, Manifold Learning methods on a severed sphere, an example of scikit-learn",
        chart_names=("longitude", "polar angle"),
    )


def make_twin_peaks(n_samples: int = 1000, *, noise: float = 0.0, random_state: int = 0) -> Dataset:
    """Sample a square sheet with two peaks and two hollows, (x, y, sin(pi x) tanh(3 y)).

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples, uniform in x and y from -1 to 1; slopes are sampled more thinly than level ground.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on each coordinate of `X`; the chart stays that of the sample without it.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with x and y. The sheet is stretched, so lengths are not true.

    Examples
    --------
    >>> peaks = make_twin_peaks(500)
    >>> np.array_equal(peaks.X[:, :2], peaks.chart)
    True
    """
    n_samples, seed = check_draw(n_samples, random_state)
    noise = check_noise(noise)
    generator = np.random.default_rng(seed)
    x, y = 2 * generator.random((2, n_samples)) - 1
    return Dataset.of_one_group(
        noisy(np.column_stack([x, y, np.sin(np.pi * x) * np.tanh(3 * y)]), noise, generator),
        np.column_stack([x, y]),
        name=titled("Twin peaks", n_samples, noise=noise),
        citation="van der Maaten, Postma and van den Herik, Dimensionality reduction: a comparative review, "
        "Tilburg University TiCC-TR 2009-005 (2009)",
        chart_names=("x", "y"),
    )


def _on_sphere(longitude: FloatArray, polar: FloatArray) -> FloatArray:
    return np.column_stack([np.sin(polar) * np.cos(longitude), np.sin(polar) * np.sin(longitude), np.cos(polar)])


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
