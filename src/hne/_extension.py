"""New X -> Y: place new samples by the weights that rebuild them from the fitted ones, row by row."""

import numpy as np

from hne._neighbors import nearest
from hne._threads import thread_count
from hne._types import Embedding, FloatArray, IndexArray
from hne._weights import target_weights


def place(new: FloatArray, X: FloatArray, fitted: Embedding) -> FloatArray:
    """Coordinates (t, d) of new samples, given the fitted samples X in the same units.

    With inner weights w and joint weights j of a new sample, found as in the fit from its nearest fitted
    samples and their neighbors, its coordinates y minimize gamma |y - w Y|^2 + |y - j Y|^2: the share that one
    more sample would have in the objective, the fitted ones held still. A fitted sample keeps its own.
    """
    settings, Y = fitted.settings, fitted.Y
    n_threads = thread_count(settings.n_jobs)
    own, distances, _ = nearest(X, new, settings.n_neighbors, n_threads=n_threads)
    nobody = np.full(len(new), -1)
    weights = target_weights(X, new, own, fitted.graph, nobody, settings, fitted.weights.kernel, n_threads)
    placed: FloatArray = (settings.gamma * (weights.W @ Y) + weights.J @ Y) / (settings.gamma + 1.0)
    for row in np.flatnonzero(distances[:, 0] == 0):
        sample = _same_sample(new[row], X, own[row])
        if sample is not None:
            placed[row] = Y[sample]
    return placed


def _same_sample(x: FloatArray, X: FloatArray, nearest_samples: IndexArray) -> int | None:
    """The first fitted sample that equals x: among its nearest, or among all where those do not include it.

    Samples closer than 1e-162 have a distance of zero without being equal, and there may be more of them than k.
    """
    for candidates in (np.sort(nearest_samples), np.arange(len(X))):
        equal = candidates[(X[candidates] == x).all(axis=1)]
        if len(equal):
            return int(equal[0])
    return None
