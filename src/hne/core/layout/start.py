"""X -> start of a layout (n, d): robust principal coordinates, with a standard deviation of one along the first.

Samples far from the center are moved toward it before the principal axes are computed (Raymaekers and Rousseeuw 2019
call this a winsorized covariance). Otherwise a single far outlier would determine the axes and the scale of the start,
and with them the arrangement of all other samples.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import LinearOperator, eigsh

from hne import _kernels
from hne.core.pieces.arrange import leading_coordinates, scale_by_landmarks
from hne.core.records import DIRECTIONAL, FloatArray, SparseMatrix, fix_signs
from hne.core.samples.kinds import Distances, Samples, row_lengths
from hne.settings import Settings

# Largest distance from the center, in medians of that distance, and steps in which the center is found. Digits with
# an outlier 3 to 100 000 standard deviations away get the layout that they get without it (Procrustes error 0.0003;
# with plain principal coordinates 0.3 to 0.8). Twice the median does the same and keeps fewer large distances.
FARTHEST_MEDIANS, CENTER_STEPS = 3.0, 5
# Landmarks from which shortest paths are searched.
LANDMARKS = 100
# Largest number of samples for which an operator is formed as a dense matrix; for others, the largest number of
# iterations and the relative accuracy of the eigenvalues.
DENSE_MAX_SAMPLES, MAX_ITERATIONS, TOL = 100, 1000, 1e-6
BLOCK_BYTES = 2**25


def starting_coordinates(X: Samples, settings: Settings) -> FloatArray:
    """Compute the robust principal coordinates of X with a standard deviation of one along the first.

    With a directional metric, rows are first divided by their lengths. Distances are mapped by classical scaling, which
    gives the principal coordinates where they are Euclidean; where some are unknown, shortest paths take their place.
    """
    d = settings.n_components
    if isinstance(X, Distances):
        Y = scale_classically(X, d) if _has_all_distances(X) else scale_shortest_paths(X, d)
    else:
        X = normalize_rows(X, settings.metric) if settings.metric in DIRECTIONAL else X
        Y = principal_scores(X, d) if issparse(X) else leading_coordinates(_winsorize(X), d)
    spread = float(Y[:, 0].std())
    return np.ascontiguousarray(Y / (spread if spread > 0 else 1.0))


def _has_all_distances(X: Distances) -> bool:
    """Return whether all distances are known; a sparse matrix may store all of them."""
    if X.is_complete:
        return True
    n, indptr = X.shape[0], X.matrix.indptr
    n_diagonal = np.count_nonzero(X.matrix.indices == np.repeat(np.arange(n), np.diff(indptr)))
    return bool(X.matrix.nnz - n_diagonal == n * (n - 1))


def normalize_rows(X: Samples, metric: str) -> Samples:
    """Divide rows by their lengths, for "correlation" after subtracting their means."""
    if metric == "correlation":
        X = X.toarray() if issparse(X) else X
        X = X - X.mean(axis=1, keepdims=True)
    squares = X.multiply(X).sum(axis=1) if issparse(X) else (X**2).sum(axis=1)
    lengths = np.sqrt(np.asarray(squares).ravel())
    inverse = 1.0 / np.where(lengths > 0, lengths, 1.0)
    return csr_array(X.multiply(inverse[:, None])) if issparse(X) else X * inverse[:, None]


def weigh_by_distance(n: int, distances_from: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Compute a robust center and how far each sample is moved toward it.

    `distances_from(shares)` returns the distances of all samples from their mean with these shares, which sum to one.
    Return the shares of the center, Huber's M-estimate of location, and the factors by which distances from it are
    multiplied: one up to `FARTHEST_MEDIANS` medians, less beyond.
    """
    shares = np.full(n, 1.0 / n)
    for _ in range(CENTER_STEPS):
        distances = distances_from(shares)
        farthest = FARTHEST_MEDIANS * float(np.median(distances))
        factors = np.minimum(1.0, farthest / np.maximum(distances, farthest)) if farthest > 0 else np.ones(n)
        shares = factors / factors.sum()
    return shares, factors


def _winsorize(X: FloatArray) -> FloatArray:
    """Center dense samples, those far from the center moved toward it."""
    shares, factors = weigh_by_distance(len(X), lambda shares: row_lengths(X - shares @ X))
    centered: FloatArray = X - shares @ X
    centered *= factors[:, None]
    return centered


def principal_scores(X: SparseMatrix, d: int) -> FloatArray:
    """Compute the first robust principal coordinates of sparse samples, which stay sparse."""
    n, squares = X.shape[0], row_lengths(X) ** 2

    def distances_from(shares: FloatArray) -> FloatArray:
        center = X.T @ shares
        return np.sqrt(np.maximum(squares - 2 * (X @ center) + center @ center, 0.0))

    shares, factors = weigh_by_distance(n, distances_from)
    center = X.T @ shares

    def gram(v: FloatArray) -> FloatArray:
        moved = factors * (v - v.mean())
        features = X.T @ moved - center * moved.sum()
        scores = factors * (X @ features - center @ features)
        return scores - scores.mean()

    return _leading_axes(gram, n, d)


def scale_classically(X: Distances, d: int) -> FloatArray:
    """Compute the first robust coordinates of classical multidimensional scaling of a full matrix of distances."""
    n = X.shape[0]
    step = max(1, BLOCK_BYTES // (8 * n))

    def multiply_squares(v: FloatArray) -> FloatArray:
        return np.concatenate([X.matrix[first : first + step] ** 2 @ v for first in range(0, n, step)])

    def distances_from(shares: FloatArray) -> FloatArray:
        squares = multiply_squares(shares)
        return np.sqrt(np.maximum(squares - shares @ squares / 2, 0.0))

    shares, factors = weigh_by_distance(n, distances_from)

    def gram(v: FloatArray) -> FloatArray:
        moved = factors * (v - v.mean())
        product = -multiply_squares(moved - shares * moved.sum()) / 2
        scores = factors * (product - shares @ product)
        return scores - scores.mean()

    return _leading_axes(gram, n, d)


def scale_shortest_paths(X: Distances, d: int) -> FloatArray:
    """Compute coordinates from shortest paths along known distances, by landmark MDS.

    Each landmark is as far as can be from those before. Without a path, two samples are twice as far from each other as
    the ends of the longest path.
    """
    graph = X.matrix.indptr.astype(np.intp), X.matrix.indices.astype(np.intp), X.matrix.data
    landmarks = np.zeros(min(X.shape[0], max(LANDMARKS, d + 1)), dtype=np.intp)
    landmarks = landmarks[: _kernels.spread_landmarks(*graph, landmarks)]
    paths = np.empty((len(landmarks), X.shape[0]))
    _kernels.shortest_ways(*graph, landmarks, paths)
    paths[np.isinf(paths)] = 2 * paths[np.isfinite(paths)].max()
    return fix_signs(scale_by_landmarks(paths, landmarks, d))


def _leading_axes(gram: Callable[[FloatArray], FloatArray], n: int, count: int) -> FloatArray:
    """Compute the leading eigenvectors of a symmetric operator, times the roots of their eigenvalues."""
    if n <= DENSE_MAX_SAMPLES or count >= n:
        matrix = np.array([gram(column) for column in np.eye(n)])
        values, vectors = eigh((matrix + matrix.T) / 2, subset_by_index=(max(0, n - count), n - 1))
    else:
        operator = LinearOperator((n, n), matvec=lambda v: gram(np.asarray(v, dtype=np.float64).ravel()), dtype=float)
        v0 = np.random.RandomState(0).standard_normal(n)
        values, vectors = eigsh(operator, count, which="LA", v0=v0, maxiter=MAX_ITERATIONS, tol=TOL)
    axes: FloatArray = fix_signs(vectors[:, ::-1]) * np.sqrt(np.maximum(values[::-1], 0.0))
    return np.pad(axes, ((0, 0), (0, count - axes.shape[1])))
