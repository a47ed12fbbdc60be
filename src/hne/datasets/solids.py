"""Random places -> samples of more than a surface: clusters on a string, a cube bent in eight dimensions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hne.core.parameters import check_integer
from hne.core.records import FloatArray
from hne.datasets.record import JOINING, Dataset, check_draw, check_noise, noisy, titled
from hne.datasets.rolls import HNE_CITATION, N_JOINING, between
from hne.exceptions import InputError

N_CLUSTERS, CLUSTERS_SIDE = 5, 10.0
N_BETWEEN_CLUSTERS = (N_CLUSTERS - 1) * N_JOINING


def make_clusters(n_samples: int = 300, *, random_state: int = 0) -> Dataset:
    """Sample five clusters in space, on a string: nine samples join each to the next.

    Centers are uniform in a cube of side 10; each cluster is uniform in a cube about its center whose side is the
    smallest distance of two centers, divided by sqrt(12).

    Parameters
    ----------
    n_samples : int, default=300
        Number of samples, the 36 of the string included; the others are shared out equally.
    random_state : int, default=0
        Seed: also of the centers, which are near each other for some and far for others.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, 3), the string last; `labels` 0 to 4, -1 on the string; `chart` without columns.

    Examples
    --------
    >>> clusters = make_clusters(300)
    >>> [int(np.sum(clusters.labels == group)) for group in range(-1, 5)]
    [36, 53, 53, 53, 53, 52]
    """
    n_samples, seed = check_draw(n_samples, random_state, smallest=N_BETWEEN_CLUSTERS + N_CLUSTERS, usual=300)
    generator = np.random.default_rng(seed)
    centers = CLUSTERS_SIDE * generator.random((N_CLUSTERS, 3))
    first, second = np.triu_indices(N_CLUSTERS, k=1)
    side = np.linalg.norm(centers[first] - centers[second], axis=1).min() / np.sqrt(12)
    labels = np.sort(np.arange(n_samples - N_BETWEEN_CLUSTERS) % N_CLUSTERS)
    members = centers[labels] + side * (generator.random((len(labels), 3)) - 0.5)
    string = [between(start, end) for start, end in pairwise(centers)]
    return Dataset(
        X=np.vstack([members, *string]),
        chart=np.empty((n_samples, 0)),
        name=titled("Clusters on a string", n_samples),
        citation=HNE_CITATION,
        labels=np.concatenate([labels, np.full(N_BETWEEN_CLUSTERS, JOINING)]).astype(np.intp),
        chart_names=(),
    )


def make_cube(
    n_samples: int = 1000, *, dimension: int = 3, n_features: int = 8, noise: float = 0.0, random_state: int = 0
) -> Dataset:
    """Sample the unit cube of d dimensions, every edge bent to a half circle in a plane of its own.

    The cube keeps its inner lengths, being a piece of a flat torus, but is curved in every direction; the whole is
    turned at random.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples; each dimension more needs several times as many.
    dimension : int, default=3
        Dimensions d of the cube.
    n_features : int, default=8
        Dimensions of the space, at least 2 d. More change nothing but the cost.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on each coordinate of `X`; the chart stays that of the sample without it.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Dataset
        `X` of shape (n_samples, n_features), `chart` of shape (n_samples, d) with the place in the cube: isometric.

    Examples
    --------
    >>> cube = make_cube(500)
    >>> cube.X.shape, cube.chart.shape
    ((500, 8), (500, 3))
    """
    n_samples, seed = check_draw(n_samples, random_state)
    dimension = check_integer("dimension", dimension, 1, "Try dimension=3")
    n_features = check_integer("n_features", n_features, 1, "Try n_features=8")
    if n_features < 2 * dimension:
        msg = (
            f"n_features must be at least 2 * dimension = {2 * dimension}, a plane for each edge, got {n_features}. "
            "Raise n_features or lower dimension."
        )
        raise InputError(msg)
    noise = check_noise(noise)
    generator = np.random.default_rng(seed)
    place = generator.random((n_samples, dimension))
    # Orthonormal rows: turning keeps lengths.
    turn = np.linalg.qr(generator.standard_normal((n_features, 2 * dimension)))[0].T
    return Dataset.of_one_group(
        noisy(_bent(place) @ turn, noise, generator),
        place,
        name=titled(f"Cube of {dimension} dimensions", n_samples, noise=noise),
        citation="Flat torus: Clifford, Proceedings of the London Mathematical Society 4 (1873) 381-395",
        chart_names=tuple(f"edge {axis}" for axis in range(1, dimension + 1)),
    )


def _bent(place: FloatArray) -> FloatArray:
    """Each coordinate from 0 to 1 as a half circle of length 1, radius 1 / pi, in two columns."""
    return np.hstack([np.cos(np.pi * place), np.sin(np.pi * place)]) / np.pi
