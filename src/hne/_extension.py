"""New X -> Y: place new samples by the weights that rebuild them from the fitted ones, row by row."""

import numpy as np

from hne._neighbors import nearest
from hne._threads import thread_count
from hne._types import Embedding, FloatArray
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
    rows, columns = np.nonzero(distances == 0)
    # Backwards, so that of several equal fitted samples the first has the last word.
    for row, sample in zip(rows[::-1], own[rows, columns][::-1], strict=True):
        if np.array_equal(new[row], X[sample]):
            placed[row] = Y[sample]
    return placed
