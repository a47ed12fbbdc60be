"""X -> Dimension: how many coordinates an embedding should have."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hne._dimension import Dimension, estimated_dimension
from hne._distinct import distinct_samples
from hne._neighbors import nearest
from hne._random import random_generator
from hne._samples import Samples
from hne._threads import thread_count
from hne._types import FloatArray, IndexArray
from hne._units import check_told_apart, units_of
from hne._validation import check_integer, check_settings
from hne.exceptions import InputError
from hne.metrics._pairs import check_given

# Samples that are looked at unless told: they tell d within d / 100 (one standard deviation; d / 40 the two nearest).
DEFAULT_SAMPLED = 2_000
# Neighbors below which the likelihood looks at little else than the two nearest.
LEAST_NEIGHBORS = 4


def intrinsic_dimension(
    X: ArrayLike,
    *,
    n_neighbors: int = 12,
    n_sampled: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Dimension:
    """Estimate how many dimensions the manifold has that the samples lie on: an `n_components` to begin with.

    By two estimators: the likelihood of the distances to all neighbors but the nearest third (Levina and Bickel 2004,
    rows averaged as MacKay and Ghahramani do), and the ratio of the distances to the two nearest (Facco et al. 2017).
    Both are right where samples were drawn at random from a smooth manifold and are dense enough for it to look flat.
    Noise raises the second, and so do samples spread more evenly than by chance; bends and turns that neighborhoods
    jump across raise the first. The answer is the first, or the second where that is lower by more than chance;
    `is_agreed` is False where they tell different whole numbers, and then it is a guess. Edges lower both: beyond 5,
    estimates are too low where samples are few (8 for 1000 in a cube of 10 dimensions), agreed or not.

    Copies of a sample count once. A scale of X does not matter, but that of one column to another does.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    n_neighbors : int, default=12
        Neighbors of each sample that are looked at, 4 or more. More look beyond stronger noise, fewer into finer
        turns.
    n_sampled : int, default=None
        Number of different samples whose neighbors are looked for, among all, drawn at random. None takes 2 000, or
        all where there are fewer. More give steadier estimates.
    random_state : int, RandomState or None, default=0
        Seed of the draw.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn: None is one, -1 all cores. Results are the same.

    Returns
    -------
    Dimension
        The whole number `dimension`, at most n_features, both estimates, and whether they agree.

    Examples
    --------
    >>> import numpy as np
    >>> disk = np.random.default_rng(0).normal(size=(500, 2))
    >>> in_space = np.column_stack([disk, disk.sum(axis=1)])
    >>> found = intrinsic_dimension(in_space)
    >>> found.dimension, found.is_agreed
    (2, True)
    """
    samples = check_given(X)
    k = check_integer("n_neighbors", n_neighbors, LEAST_NEIGHBORS, "Try n_neighbors=12")
    settings = check_settings({"random_state": random_state, "n_jobs": n_jobs})
    samples = units_of(samples).of(samples)
    # An order that is not that of X: the draw falls on the same samples, however they stand.
    places = samples[distinct_samples(samples).first]
    n_places = places.shape[0]
    if n_places <= k:
        msg = (
            f"n_neighbors={k} needs at least {k + 1} different samples, got {n_places}. "
            "Lower n_neighbors or pass more samples."
        )
        raise InputError(msg)
    rows = _drawn(n_places, n_sampled, settings.random_state)
    distances = _distances(places, rows, k, thread_count(settings.n_jobs))
    return estimated_dimension(distances, min(samples.shape[1], n_places - 1))


def _drawn(n_places: int, n_sampled: int | None, random_state: Any) -> IndexArray:
    """The places whose neighbors are looked for, in ascending order."""
    count = min(n_places, DEFAULT_SAMPLED)
    if n_sampled is not None:
        count = check_integer("n_sampled", n_sampled, 2, "Pass None for 2 000, or all of fewer")
        if count > n_places:
            msg = f"n_sampled must be at most the {n_places} different samples, got {count}. Pass None or fewer."
            raise InputError(msg)
    if count == n_places:
        return np.arange(n_places)
    return np.sort(random_generator(random_state).permutation(n_places)[:count])


def _distances(places: Samples, rows: IndexArray, k: int, n_threads: int) -> FloatArray:
    """Distances from these places to their k nearest others, none of them zero."""
    _, distances, _ = nearest(places, places[rows], k, rows, n_threads)
    check_told_apart(len(rows), int((distances[:, 0] > 0).sum()))
    return distances
