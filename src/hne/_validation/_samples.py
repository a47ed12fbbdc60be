"""X -> samples that the walk can work with: dense, CSR, or distances; enough of them, and of one kind."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from hne._landmark_limits import nearest_landmarks
from hne._quoted import quoted
from hne._samples import Distances, Samples
from hne._types import (
    PRECOMPUTED,
    Distinct,
    FloatArray,
    NeighborGraph,
    Settings,
    SparseMatrix,
    is_euclidean,
)
from hne._validation._distances import check_distances, check_square
from hne._validation._tables import check_matrix, check_stored
from hne.exceptions import InputError


def check_samples(X: ArrayLike, settings: Settings) -> Samples:
    """Return X as samples of float64: dense, CSR, or Distances where the metric is "precomputed"."""
    samples: Samples = check_square(X) if settings.metric == PRECOMPUTED else _check_coordinates(X)
    check_shape(samples.shape, settings)
    if settings.n_landmarks is not None and issparse(samples):
        msg = (
            f"n_landmarks needs a dense X, got n_landmarks={settings.n_landmarks} and a sparse matrix. "
            "Reduce its features to a few first, or leave n_landmarks out."
        )
        raise InputError(msg)
    check_neighbors(samples, settings)
    return samples


def check_shape(shape: tuple[int, int], settings: Settings) -> None:
    """Raise where there are too few samples or features for the settings."""
    n, n_features = shape
    _check_sizes(n, n, settings)
    if settings.metric != PRECOMPUTED and settings.n_components > n_features:
        msg = (
            f"n_components={settings.n_components} needs at least {settings.n_components} features, "
            f"got n_features={n_features}. Lower n_components or pass more features."
        )
        raise InputError(msg)


def check_places(distinct: Distinct, settings: Settings) -> None:
    """Raise where there are too few distinct samples for the settings."""
    if distinct.n_places == 1:
        n = distinct.n_samples
        msg = f"X must have different samples, got {n} samples that are all equal. Check how X was read."
        raise InputError(msg)
    _check_sizes(distinct.n_samples, distinct.n_places, settings)


def _check_sizes(n: int, m: int, settings: Settings) -> None:
    """Raise where n samples, m of them different, are too few."""
    if n == 0:
        msg = "X must have samples, got n_samples=0. Check how X was read."
        raise InputError(msg)
    k, d = settings.n_neighbors, settings.n_components
    # Of n_neighbors nobody has to have said anything.
    if n == k == 1:
        msg = "X must have at least 2 samples, got n_samples=1. Pass more samples."
        raise InputError(msg)
    different, got = ("different ", f"n_samples={n}, {m} of them different") if m < n else ("", f"n_samples={n}")
    # Given neighborhoods may be as small as they like.
    if m <= k and not isinstance(settings.neighbors, NeighborGraph):
        msg = (
            f"n_neighbors={k} needs at least {k + 1} {different}samples, got {got}. "
            "Lower n_neighbors or pass more samples."
        )
        raise InputError(msg)
    if m <= d:
        msg = (
            f"n_components={d} needs at least {d + 1} {different}samples, got {got}. "
            "Lower n_components or pass more samples."
        )
        raise InputError(msg)
    landmarks = settings.n_landmarks
    if landmarks is not None and landmarks >= m:
        msg = (
            f"n_landmarks={landmarks} needs at least {landmarks + 1} {different}samples, got {got}. "
            "Leave n_landmarks out: so few samples are embedded without."
        )
        raise InputError(msg)
    if landmarks is not None and landmarks <= nearest_landmarks(d):
        msg = (
            f"n_landmarks must be at least {nearest_landmarks(d) + 1} with n_components={d}, got {landmarks}. "
            "Try a hundredth of the samples, or more."
        )
        raise InputError(msg)


def check_new_samples(X: ArrayLike, fitted: Samples) -> Samples:
    """Return new samples to place, of the kind of the fitted ones, at least one row."""
    if isinstance(fitted, Distances):
        new: Samples = check_distances(X)
    else:
        new = _check_coordinates(X)
        if issparse(fitted) != issparse(new):
            new = csr_array(new) if issparse(fitted) else new.toarray()
    if not new.shape[0]:
        msg = f"X must have samples, got 0 sample(s) (shape={new.shape}). Pass at least one row."
        raise InputError(msg)
    return new


def check_points(Y: ArrayLike, n_components: int) -> FloatArray:
    """Return points of the embedding as a float64 matrix of `n_components` columns."""
    points = check_matrix(Y, "Y")
    if points.shape[1] != n_components:
        msg = f"Y must have {n_components} columns, as the embedding, got {points.shape[1]}. Pass what transform gave."
        raise InputError(msg)
    if not len(points):
        msg = f"Y must have points, got 0 sample(s) (shape={points.shape}). Pass at least one row."
        raise InputError(msg)
    return points


def _check_coordinates(X: ArrayLike) -> FloatArray | SparseMatrix:
    return _check_sparse(X) if issparse(X) else check_matrix(X)


def check_neighbors(X: Samples, settings: Settings) -> None:
    """Refuse what the wanted search does not know."""
    graph = settings.neighbors
    if isinstance(graph, NeighborGraph):
        if graph.n_samples != X.shape[0]:
            n = X.shape[0]
            msg = f"neighbors must have a row for each of the {n} samples, got {graph.n_samples}. Pass the graph of X."
            raise InputError(msg)
    elif graph == "approximate" and (issparse(X) or isinstance(X, Distances)):
        kind = "distances" if isinstance(X, Distances) else "a sparse X"
        msg = f"neighbors='approximate' needs a dense X, got {kind}. Pass neighbors='auto'."
        raise InputError(msg)
    elif graph == "approximate" and not is_euclidean(settings.metric, settings.metric_params):
        msg = (
            f"neighbors='approximate' knows the Euclidean and the cosine metric, got metric={quoted(settings.metric)}. "
            "Pass neighbors='auto'."
        )
        raise InputError(msg)


def _check_sparse(X: SparseMatrix) -> SparseMatrix:
    """Return sparse samples as a CSR array of float64 without stored zeros."""
    matrix = check_stored(X)
    _check_no_graph(matrix)
    matrix.eliminate_zeros()
    return matrix


def _check_no_graph(matrix: SparseMatrix) -> None:
    """Refuse what a neighbor search makes, and only it: square, equally many in each row, a diagonal of nothing.

    Or of ones alone, as all its other entries, where only who is a neighbor is told.
    """
    n, counts = matrix.shape[0], np.diff(matrix.indptr)
    if n != matrix.shape[1] or n < 2 or counts.min() != counts.max() or not 0 < counts[0] < n:
        return
    itself = matrix.diagonal()
    if (matrix.data >= 0).all() and ((itself == 0).all() or ((itself == 1).all() and (matrix.data == 1).all())):
        msg = (
            f"X must hold samples, got what looks like a graph of neighbors (square, {counts[0]} in every row). "
            "Pass metric='precomputed' for a graph of distances, or fit the samples and pass the graph as neighbors=."
        )
        raise InputError(msg)
