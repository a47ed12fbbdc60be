"""Places drawn at random -> samples on other shapes: bent and pierced surfaces, closed curves, a cube, clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.interpolate import CubicSpline

from hne._runtime.docstrings import described_as_in
from hne.core.parameters import check_integer
from hne.core.records import FloatArray
from hne.datasets.record import JOINING, Dataset, Draw
from hne.datasets.rolls import HNE_CITATION, N_JOINING, STRIP_NAMES, between, make_swiss_roll
from hne.exceptions import refuse

# Half of the S-curve's arc length, 3 pi / 2, is three quarters of a unit circle.
S_HALF, S_WIDTH = 1.5 * np.pi, 2.0
# The disk that the sphere is made of; the opening it leaves has radius 20 / 29 at height 50 / 29 of 2.
DISK_RADIUS = 5.0
# Angle of the slice that is missing from the severed sphere, and of the caps at its poles.
SLICE, CAP = 0.55, np.pi / 8
# Parameters at which a curve is measured, per turn; splines between them are true to 1e-12 of the length.
N_MEASURED = 2048
N_CLUSTERS, CLUSTERS_SIDE = 5, 10.0
N_BETWEEN_CLUSTERS = (N_CLUSTERS - 1) * N_JOINING
LLE_CITATION = "Saul and Roweis, Journal of Machine Learning Research 4 (2003) 119-155"
PEAKS_CITATION = "van der Maaten, Postma and van den Herik, Tilburg University TiCC-TR 2009-005 (2009)"
SEVERED_CITATION = "Grobler, Manifold Learning methods on a severed sphere, an example of scikit-learn"
HELIX_CITATION = "Coifman and Lafon, Applied and Computational Harmonic Analysis 21 (2006) 5-30"
KNOT_CITATION = "Rolfsen, Knots and Links, Publish or Perish (1976), knot 3_1"
TORUS_CITATION = "Flat torus: Clifford, Proceedings of the London Mathematical Society 4 (1873) 381-395"

# Points or lengths along a curve, a row each, at parameters t.
Curve = Callable[[FloatArray], FloatArray]


@described_as_in(make_swiss_roll)
def make_s_curve(n_samples: int = 1000, *, even: bool = False, noise: float = 0.0, random_state: int = 0) -> Dataset:
    r"""Sample a strip bent to the letter S, 9.4 long and 2 wide.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples; 100 still outline the letter.

    See Also
    --------
    hne.datasets.make_swiss_roll : A strip that is rolled up.
    hne.datasets.make_twin_peaks : A sheet that cannot be flattened.

    Notes
    -----
    Two opposite three-quarter turns of unit radius, as in [1]_:

    .. math:: x = (\sin t, \; h, \; \operatorname{sign}(t) (\cos t - 1)), \quad |t| \le 3 \pi / 2, \quad 0 \le h \le 2 .

    References
    ----------
    .. [1] Saul and Roweis, Journal of Machine Learning Research 4 (2003) 119-155.

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_s_curve
    >>> curve = make_s_curve(500)
    >>> np.allclose(curve.X[:, 0], np.sin(curve.chart[:, 0] - 1.5 * np.pi))
    True
    """
    draw = Draw(n_samples, random_state, even=even, noise=noise)
    u, v = draw.unit_square()
    t, height = S_HALF * (2 * u - 1), S_WIDTH * v
    X = np.column_stack([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)])
    return draw.dataset("S-curve", X, np.column_stack([t + S_HALF, height]), STRIP_NAMES, LLE_CITATION)


@described_as_in(make_swiss_roll)
def make_punctured_sphere(n_samples: int = 1000, *, random_state: int = 0) -> Dataset:
    r"""Sample a sphere that is open at the top, dense at the rim and thin at the bottom.

    Samples are 53 times as dense at the rim as at the bottom: one size of neighborhood has to fit both.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples. Few leave the bottom almost bare.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with the point p of the disk: angles are true, lengths are not.

    See Also
    --------
    hne.datasets.make_severed_sphere : A sphere with a slice cut out.
    hne.datasets.make_twin_peaks : Another surface that cannot be flattened.

    Notes
    -----
    Points p, uniform on a disk of radius 5, go to the unit sphere around (0, 0, 1) by stereographic projection from the
    top, as in [1]_:

    .. math:: x = (a p, \; 2 - 2 a), \qquad a = 4 / (4 + \|p\|^2) .

    References
    ----------
    .. [1] Saul and Roweis, Journal of Machine Learning Research 4 (2003) 119-155.

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_punctured_sphere
    >>> sphere = make_punctured_sphere(500)
    >>> np.allclose(np.linalg.norm(sphere.X - [0, 0, 1], axis=1), 1)
    True
    """
    draw = Draw(n_samples, random_state)
    u, v = draw.unit_square()
    radius, angle = DISK_RADIUS * np.sqrt(u), 2 * np.pi * v
    point = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    a = 4 / (4 + radius**2)
    X = np.column_stack([a[:, None] * point, 2 - 2 * a])
    return draw.dataset("Punctured sphere", X, point, ("disk x", "disk y"), LLE_CITATION)


@described_as_in(make_swiss_roll)
def make_severed_sphere(n_samples: int = 1000, *, random_state: int = 0) -> Dataset:
    r"""Sample a unit sphere without its polar caps and with a slice cut out, so that it can spread open.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples. With fewer than about 300 the slice is no wider than other gaps.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with longitude and polar angle in radians: no flat chart of a sphere has
        true lengths.

    See Also
    --------
    hne.datasets.make_punctured_sphere : A sphere that is open at the top.
    hne.datasets.make_swiss_hole : A roll with a hole.

    Notes
    -----
    .. math:: x = (\sin \theta \cos \phi, \; \sin \theta \sin \phi, \; \cos \theta), \qquad
        0 \le \phi \le 2 \pi - 0.55, \quad \pi / 8 \le \theta \le 7 \pi / 8,

    both angles uniform. The shape is that of scikit-learn's example on a severed sphere.

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_severed_sphere
    >>> sphere = make_severed_sphere(500)
    >>> np.allclose(sphere.X[:, 2], np.cos(sphere.chart[:, 1]))
    True
    """
    draw = Draw(n_samples, random_state)
    u, v = draw.unit_square()
    longitude, polar = (2 * np.pi - SLICE) * u, CAP + (np.pi - 2 * CAP) * v
    X = np.column_stack([np.sin(polar) * np.cos(longitude), np.sin(polar) * np.sin(longitude), np.cos(polar)])
    chart = np.column_stack([longitude, polar])
    return draw.dataset("Severed sphere", X, chart, ("longitude", "polar angle"), SEVERED_CITATION)


@described_as_in(make_swiss_roll)
def make_twin_peaks(n_samples: int = 1000, *, noise: float = 0.0, random_state: int = 0) -> Dataset:
    r"""Sample a square sheet with two peaks and two hollows.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples, uniform in x and y: slopes are sampled more thinly than level ground.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with x and y. The sheet is stretched, so lengths are not true.

    See Also
    --------
    hne.datasets.make_s_curve : A sheet that can be flattened.
    hne.datasets.make_punctured_sphere : Another surface that cannot.

    Notes
    -----
    As in [1]_,

    .. math:: (x, \; y, \; \sin(\pi x) \tanh(3 y)), \qquad -1 \le x, y \le 1 .

    References
    ----------
    .. [1] van der Maaten, Postma and van den Herik, "Dimensionality reduction: a comparative review", Tilburg
       University TiCC-TR 2009-005 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_twin_peaks
    >>> sheet = make_twin_peaks(500)
    >>> np.array_equal(sheet.X[:, :2], sheet.chart)
    True
    """
    draw = Draw(n_samples, random_state, noise=noise)
    x, y = 2 * draw.unit_square() - 1
    X = np.column_stack([x, y, np.sin(np.pi * x) * np.tanh(3 * y)])
    return draw.dataset("Twin peaks", X, np.column_stack([x, y]), ("x", "y"), PEAKS_CITATION)


@described_as_in(make_swiss_roll)
def make_helix(n_samples: int = 1000, *, n_turns: int = 8, noise: float = 0.0, random_state: int = 0) -> Dataset:
    r"""Sample a helix wound around a torus, a closed curve.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples, uniform in arc length. With fewer than about 30 for each turn, neighbors are found across
        turns.
    n_turns : int, default=8
        Number m of turns; more come nearer to each other.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), `chart` with the arc length. The curve is closed: its end is its beginning.

    See Also
    --------
    hne.datasets.make_trefoil : A closed curve with a knot.

    Notes
    -----
    The toroidal helix of [1]_,

    .. math:: x = ((2 + \cos m t) \cos t, \; (2 + \cos m t) \sin t, \; \sin m t), \qquad 0 \le t < 2 \pi .

    References
    ----------
    .. [1] Coifman and Lafon, Applied and Computational Harmonic Analysis 21 (2006) 5-30.

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_helix
    >>> x, y, z = make_helix(500).X.T
    >>> np.allclose((np.hypot(x, y) - 2) ** 2 + z**2, 1)  # on a torus of radii 2 and 1
    True
    """
    n_turns = check_integer("n_turns", n_turns, 1, "Try n_turns=8")

    def place(t: FloatArray) -> FloatArray:
        out = 2 + np.cos(n_turns * t)
        return np.column_stack([out * np.cos(t), out * np.sin(t), np.sin(n_turns * t)])

    def speed(t: FloatArray) -> FloatArray:
        return np.hypot(2 + np.cos(n_turns * t), n_turns)

    draw = Draw(n_samples, random_state, noise=noise)
    return _closed_curve(f"Helix of {n_turns} turns, closed", draw, place, speed, n_turns, HELIX_CITATION)


@described_as_in(make_helix)
def make_trefoil(n_samples: int = 1000, *, noise: float = 0.0, random_state: int = 0) -> Dataset:
    r"""Sample the trefoil knot, a closed curve.

    No projection to the plane leaves it free of crossings, yet as a curve it is a circle.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples, uniform in arc length. With fewer than about 100, neighbors are found across strands.

    See Also
    --------
    hne.datasets.make_helix : A closed curve without a knot.

    Notes
    -----
    The knot 3_1 of [1]_, as

    .. math:: x = (\sin t + 2 \sin 2 t, \; \cos t - 2 \cos 2 t, \; -\sin 3 t), \qquad 0 \le t < 2 \pi .

    References
    ----------
    .. [1] Rolfsen, "Knots and Links", Publish or Perish (1976).

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_trefoil
    >>> x, y, z = make_trefoil(500).X.T
    >>> np.allclose(((5 - x**2 - y**2) / 4) ** 2 + z**2, 1)  # x^2 + y^2 = 5 - 4 cos 3t
    True
    """

    def place(t: FloatArray) -> FloatArray:
        return np.column_stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)])

    def speed(t: FloatArray) -> FloatArray:
        # (cos t + 4 cos 2t)^2 + (4 sin 2t - sin t)^2 = 17 + 8 cos 3t
        return np.sqrt(17 + 8 * np.cos(3 * t) + 9 * np.cos(3 * t) ** 2)

    draw = Draw(n_samples, random_state, noise=noise)
    return _closed_curve("Trefoil knot, closed", draw, place, speed, 3, KNOT_CITATION)


def _closed_curve(kind: str, draw: Draw, place: Curve, speed: Curve, n_turns: int, citation: str) -> Dataset:
    """Dataset of a curve over t from 0 to 2 pi with that speed, uniform in arc length."""
    nodes = np.linspace(0, 2 * np.pi, n_turns * N_MEASURED + 1)
    lengths = cumulative_simpson(speed(nodes), x=nodes, initial=0)
    length = lengths[-1] * draw.generator.random(draw.n_samples)
    X = place(CubicSpline(lengths, nodes)(length))
    return draw.dataset(kind, X, length[:, None], ("closed arc length",), citation)


def make_clusters(n_samples: int = 300, *, random_state: int = 0) -> Dataset:
    """Sample five clusters in space, each joined to the next by nine samples on a line.

    Parameters
    ----------
    n_samples : int, default=300
        Number of samples, the 36 on the lines included; the others are shared out equally. More make the clusters
        denser, the lines stay thin.
    random_state : int, default=0
        Seed, also of the centers, which are near each other for some seeds and far for others.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), the lines last; `labels` 0 to 4, -1 on the lines; `chart` without columns.

    See Also
    --------
    hne.datasets.make_two_surfaces : Two strips joined by a line.

    Notes
    -----
    Centers are uniform in a cube of side 10. Each cluster is uniform in a cube around its center, whose side is the
    smallest distance between two centers divided by the square root of 12. The data are those of [1]_.

    References
    ----------
    .. [1] Liu et al., "Hierarchic Neighbors Embedding", arXiv:1909.07142 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_clusters
    >>> clusters = make_clusters(300)
    >>> [int(np.sum(clusters.labels == group)) for group in range(-1, 5)]
    [36, 53, 53, 53, 53, 52]
    """
    draw = Draw(n_samples, random_state, smallest=N_BETWEEN_CLUSTERS + N_CLUSTERS)
    centers = CLUSTERS_SIDE * draw.generator.random((N_CLUSTERS, 3))
    first, second = np.triu_indices(N_CLUSTERS, k=1)
    side = np.linalg.norm(centers[first] - centers[second], axis=1).min() / np.sqrt(12)
    labels = np.sort(np.arange(draw.n_samples - N_BETWEEN_CLUSTERS) % N_CLUSTERS)
    members = centers[labels] + side * (draw.generator.random((len(labels), 3)) - 0.5)
    X = np.vstack([members, *(between(start, end) for start, end in pairwise(centers))])
    clusters = draw.dataset("Clusters on a string", X, np.empty((draw.n_samples, 0)), (), HNE_CITATION)
    joined = np.concatenate([labels, np.full(N_BETWEEN_CLUSTERS, JOINING)])
    return replace(clusters, labels=joined.astype(np.intp))


@described_as_in(make_swiss_roll)
def make_cube(
    n_samples: int = 1000, *, dimension: int = 3, n_features: int = 8, noise: float = 0.0, random_state: int = 0
) -> Dataset:
    r"""Sample the unit cube of d dimensions, every edge bent to a half circle in a plane of its own.

    The cube keeps its inner lengths, but is curved in every direction.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples; each further dimension needs several times as many.
    dimension : int, default=3
        Dimensions d of the cube.
    n_features : int, default=8
        Dimensions of the space, at least 2 d. More change nothing but the cost.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, n_features), `chart` of shape (n_samples, d) with the place in the cube, which has the
        true lengths.

    See Also
    --------
    hne.datasets.make_swiss_roll : A surface of two dimensions with true lengths.
    hne.metrics.intrinsic_dimension : Finds d from the samples.

    Notes
    -----
    A part of a flat torus, turned by a random matrix R with orthonormal rows: for u uniform in the unit cube,

    .. math:: x = (\cos \pi u_1, \dots, \cos \pi u_d, \; \sin \pi u_1, \dots, \sin \pi u_d) \, R / \pi .

    Examples
    --------
    >>> import numpy as np
    >>> from hne.datasets import make_cube
    >>> cube = make_cube(500, dimension=3)
    >>> np.allclose(np.linalg.norm(cube.X, axis=1), np.sqrt(3) / np.pi)
    True
    """
    draw = Draw(n_samples, random_state, noise=noise)
    dimension = check_integer("dimension", dimension, 1, "Try dimension=3")
    n_features = check_integer("n_features", n_features, 1, "Try n_features=8")
    if n_features < 2 * dimension:
        rule = f"must be at least 2 * dimension = {2 * dimension}, a plane for each edge"
        refuse("n_features", rule, str(n_features), "Raise n_features or lower dimension")
    place = draw.generator.random((draw.n_samples, dimension))
    # Orthonormal rows: turning keeps lengths.
    turn = np.linalg.qr(draw.generator.standard_normal((n_features, 2 * dimension)))[0].T
    # Each coordinate from 0 to 1 is a half circle of length 1, radius 1 / pi, in two columns.
    bent = np.hstack([np.cos(np.pi * place), np.sin(np.pi * place)]) / np.pi
    names = tuple(f"edge {axis}" for axis in range(1, dimension + 1))
    return draw.dataset(f"Cube of {dimension} dimensions", bent @ turn, place, names, TORUS_CITATION)
