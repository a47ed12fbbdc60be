"""Samples -> principal coordinates: of a few samples, and of the centers of pieces."""

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.extmath import randomized_svd

from hne._samples import Distances, Samples
from hne._types import FloatArray, IndexArray, Pieces

# Pieces from which the distance tells where another piece is: enough to span any plane it is drawn in.
LANDMARKS = 32


def principal_coordinates(X: Samples, rows: IndexArray, count: int) -> FloatArray:
    """The first `count` principal coordinates of some of the samples, zero behind the last there are."""
    if isinstance(X, Distances):
        squares = X.at(rows[:, None], rows[None, :]) ** 2
        # A distance that nobody knows tells nothing: such samples are points.
        squares = np.zeros_like(squares) if np.isnan(squares).any() else squares
        halfway = squares - squares.mean(axis=0)
        values, vectors = np.linalg.eigh(-(halfway - halfway.mean(axis=1, keepdims=True)) / 2)
        coordinates = _leading(vectors * np.sqrt(np.maximum(values, 0.0)))
    else:
        coordinates = _leading(X[rows].toarray() if issparse(X) else X[rows])
    return _fitted_to(coordinates, count)


def piece_centers(X: Samples, pieces: Pieces, count: int) -> FloatArray:
    """Where the pieces are: principal coordinates (pieces, count) of the means of their samples.

    Of samples known by their distances, those of the distances to the first samples of some of the largest pieces.
    """
    if isinstance(X, Distances):
        _, first = np.unique(pieces.labels, return_index=True)
        away = X.at(first[:, None], first[None, :LANDMARKS])
        return _fitted_to(_leading(np.zeros_like(away) if np.isnan(away).any() else away), count)
    n = X.shape[0]
    share = csr_array((1.0 / pieces.sizes[pieces.labels], (pieces.labels, np.arange(n))), shape=(pieces.count, n))
    means = share @ X
    if not issparse(means):
        return _fitted_to(_leading(means), count)
    left, lengths, _ = randomized_svd(means, min(count + 1, *means.shape), random_state=0)
    return _fitted_to(_leading(left * lengths), count)


def _leading(points: FloatArray) -> FloatArray:
    """All principal coordinates, at most one less than there are points: centered, orthogonal columns."""
    centered = points - points.mean(axis=0)
    # Again, for points far from the origin: a rest of the mean would look like one dimension more.
    centered -= centered.mean(axis=0)
    left, lengths, _ = np.linalg.svd(centered, full_matrices=False)
    coordinates: FloatArray = (left * lengths)[:, : len(points) - 1]
    return coordinates


def _fitted_to(coordinates: FloatArray, count: int) -> FloatArray:
    """As many columns as asked for, signs fixed by the entry that is farthest out."""
    found = coordinates[:, :count]
    if found.size:
        farthest = np.take_along_axis(found, np.abs(found).argmax(axis=0)[None], axis=0)
        found = found * np.where(farthest < 0, -1.0, 1.0)
    return np.hstack([found, np.zeros((len(found), count - found.shape[1]))])
