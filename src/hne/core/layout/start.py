"""X -> start of a layout (n, d): principal coordinates, centered, with a standard deviation of one along the first."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import LinearOperator, eigsh

from hne.core.pieces.arrange import leading_coordinates
from hne.core.records import DIRECTIONAL, FloatArray, SparseMatrix, fix_signs
from hne.core.samples.kinds import Distances, Samples
from hne.settings import Settings

# Most iterations and relative accuracy of the eigenvalues of an operator.
MAX_ITERATIONS, TOL = 1000, 1e-6
BLOCK_BYTES = 2**25


def starting_coordinates(X: Samples, P: SparseMatrix, settings: Settings) -> FloatArray:
    """Compute the principal coordinates of X with a standard deviation of one along the first.

    Of samples with a directional metric, rows have unit length first. Distances are mapped by classical scaling, which
    gives the principal coordinates where they are Euclidean; where some are unknown, by the bottom eigenvectors of the
    normalized Laplacian of the affinities, which need none.
    """
    d = settings.n_components
    if isinstance(X, Distances):
        Y = scale_classically(X, d) if X.is_complete else embed_spectrally(P, d)
    else:
        X = normalize_rows(X, settings.metric) if settings.metric in DIRECTIONAL else X
        Y = principal_scores(X, d) if issparse(X) else leading_coordinates(X, d)
    spread = float(Y[:, 0].std())
    return np.ascontiguousarray(Y / (spread if spread > 0 else 1.0))


def normalize_rows(X: Samples, metric: str) -> Samples:
    """Divide rows by their lengths, for "correlation" after subtracting their means."""
    if metric == "correlation":
        X = X.toarray() if issparse(X) else X
        X = X - X.mean(axis=1, keepdims=True)
    squares = X.multiply(X).sum(axis=1) if issparse(X) else (X**2).sum(axis=1)
    lengths = np.sqrt(np.asarray(squares).ravel())
    inverse = 1.0 / np.where(lengths > 0, lengths, 1.0)
    return csr_array(X.multiply(inverse[:, None])) if issparse(X) else X * inverse[:, None]


def principal_scores(X: SparseMatrix, d: int) -> FloatArray:
    """Compute the first principal coordinates of sparse samples, which stay sparse."""
    mean = np.asarray(X.mean(axis=0)).ravel()

    def gram(v: FloatArray) -> FloatArray:
        features = X.T @ v - mean * v.sum()
        return X @ features - mean @ features

    return _leading_axes(gram, X.shape[0], d)


def scale_classically(X: Distances, d: int) -> FloatArray:
    """Compute the first coordinates of classical multidimensional scaling of a full matrix of distances."""
    n = X.shape[0]
    step = max(1, BLOCK_BYTES // (8 * n))

    def gram(v: FloatArray) -> FloatArray:
        v = v - v.mean()
        product = np.concatenate([X.matrix[first : first + step] ** 2 @ v for first in range(0, n, step)])
        return -(product - product.mean()) / 2

    return _leading_axes(gram, n, d)


def embed_spectrally(P: SparseMatrix, d: int) -> FloatArray:
    """Compute eigenvectors 2 to d + 1 of the random walk on the affinities."""
    degrees = np.asarray(P.sum(axis=1), dtype=np.float64).ravel()
    root = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    # The identity makes all eigenvalues positive, so that the largest are also the largest in magnitude.
    axes = _leading_axes(lambda v: v + P @ (v / root) / root, P.shape[0], d + 1)
    Y: FloatArray = axes[:, 1:] / root[:, None]
    return Y - Y.mean(axis=0)


def _leading_axes(gram: Callable[[FloatArray], FloatArray], n: int, count: int) -> FloatArray:
    """Compute the leading eigenvectors of a symmetric operator, times the roots of their eigenvalues."""
    operator = LinearOperator((n, n), matvec=lambda v: gram(np.asarray(v, dtype=np.float64).ravel()), dtype=np.float64)
    count = min(count, n - 1)
    v0 = np.random.RandomState(0).standard_normal(n)
    values, vectors = eigsh(operator, count, which="LA", v0=v0, maxiter=MAX_ITERATIONS, tol=TOL)
    axes: FloatArray = fix_signs(vectors[:, ::-1]) * np.sqrt(np.maximum(values[::-1], 0.0))
    return axes
