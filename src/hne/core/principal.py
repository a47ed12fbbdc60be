"""Samples -> principal coordinates: of a few samples, of many, and of the centers of pieces."""

import numpy as np
from scipy.sparse import csr_array, issparse

from hne.core.records import FloatArray, IndexArray, Pieces, fix_signs
from hne.core.samples.kinds import Distances, Samples, as_dense

# Pieces from which the distance tells where another piece is: enough to span any plane it is drawn in.
LANDMARKS = 32
# Centers up to which a matrix of all their distances is decomposed.
MAX_CENTERS = 1000
# Features up to which their covariance costs less than the iteration, and what that takes: columns beyond those that
# are wanted, and steps, as scikit-learn's randomized PCA does.
MAX_COVARIANCE, OVERSAMPLED, POWERS = 200, 10, 7
BLOCK_BYTES = 2**25


def principal_coordinates(X: Samples, rows: IndexArray, count: int) -> FloatArray:
    """The first `count` principal coordinates of some of the samples, zero behind the last there are."""
    if isinstance(X, Distances):
        squares = X.at(rows[:, None], rows[None, :]) ** 2
        # A distance that nobody knows tells nothing: such samples are points.
        squares = np.zeros_like(squares) if np.isnan(squares).any() else squares
        return _leading(_scaled(squares), count)
    return _leading(as_dense(X[rows]), count)


def leading_coordinates(X: FloatArray, count: int) -> FloatArray:
    """The first `count` principal coordinates of many dense samples, what PCA draws; in time of n, not of its square.

    Up to some hundred features from the covariance, exactly; of more, by a subspace iteration from a random start
    (Halko, Martinsson and Tropp 2011), whose coordinates lose next to nothing of the variance.
    """
    centered = X - X.mean(axis=0)
    n_features = X.shape[1]
    if n_features <= MAX_COVARIANCE:
        axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :count]
    else:
        axes = np.random.RandomState(0).standard_normal((n_features, count + OVERSAMPLED))
        for _ in range(POWERS):
            axes, _ = np.linalg.qr(centered.T @ (centered @ axes))
    return _leading(centered @ axes, count)


def piece_centers(X: Samples, pieces: Pieces, count: int) -> FloatArray:
    """Where the pieces are: principal coordinates (pieces, count) of the means of their samples.

    Where few distances are known, or pieces are very many, those of the distances to the first samples of some of the
    largest pieces.
    """
    n = X.shape[0]
    share = csr_array((1.0 / pieces.sizes[pieces.labels], (pieces.labels, np.arange(n))), shape=(pieces.count, n))
    if isinstance(X, Distances):
        if X.is_complete and pieces.count <= MAX_CENTERS:
            # |a - b|^2 = mean d_ab^2 - (mean d_aa^2 + mean d_bb^2) / 2
            between, step = np.zeros((pieces.count, pieces.count)), max(1, BLOCK_BYTES // (8 * n))
            for start in range(0, n, step):
                rows = slice(start, start + step)
                between += share[:, rows] @ (share @ (X.matrix[rows] ** 2).T).T
            within = np.diagonal(between)
            return _with_width(_scaled(between - (within[:, None] + within[None, :]) / 2), count)
        _, first = np.unique(pieces.labels, return_index=True)
        away = X.at(first[:, None], first[None, :LANDMARKS])
        return _leading(np.zeros_like(away) if np.isnan(away).any() else away, count)
    means = share @ X
    if issparse(means):
        from sklearn.utils.extmath import randomized_svd  # noqa: PLC0415, a second to load

        left, lengths, _ = randomized_svd(means, min(count + 1, *means.shape), random_state=0)
        means = left * lengths
    return _leading(means, count)


def _scaled(squares: FloatArray) -> FloatArray:
    """Principal coordinates from squared distances."""
    halfway = squares - squares.mean(axis=0)
    values, vectors = np.linalg.eigh(-(halfway - halfway.mean(axis=1, keepdims=True)) / 2)
    return vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))


def _leading(points: FloatArray, count: int) -> FloatArray:
    """The first principal coordinates, at most one less than there are points: centered, orthogonal columns."""
    centered = points - points.mean(axis=0)
    # Again, for points far from the origin: a rest of the mean would look like one dimension more.
    centered -= centered.mean(axis=0)
    left, lengths, _ = np.linalg.svd(centered, full_matrices=False)
    return _with_width((left * lengths)[:, : len(points) - 1], count)


def _with_width(coordinates: FloatArray, count: int) -> FloatArray:
    """The first `count` columns with fixed signs, zeros behind the last there are."""
    leading = fix_signs(coordinates[:, :count]) if coordinates.size else coordinates[:, :count]
    return np.hstack([leading, np.zeros((len(leading), count - leading.shape[1]))])
