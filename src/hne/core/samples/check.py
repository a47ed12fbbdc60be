"""X -> samples that the walk can work with: dense, CSR, or distances; enough of them, and of one kind."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from hne.core.records import (
    PRECOMPUTED,
    FloatArray,
    IndexArray,
    NeighborGraph,
    Settings,
    SparseMatrix,
    UniqueSamples,
    is_euclidean,
    nearest_landmarks,
)
from hne.core.samples.kinds import Distances, Samples, shortest_links
from hne.core.samples.tables import check_matrix, check_stored
from hne.exceptions import InputError, InputTypeError, quoted

REMEDY = "Pass what KNeighborsTransformer.fit_transform returns, or (indices, distances)"


def check_graph(given: Any) -> NeighborGraph:
    """Return the neighbors that are given for each sample; a sample may still be its own, or be listed twice."""
    if isinstance(given, NeighborGraph):
        return given
    if issparse(given):
        return _from_matrix(given)
    if isinstance(given, tuple | list) and len(given) == 2:
        if _kind(given[0]) == "f" and _kind(given[1]) in "iu":
            msg = "neighbors must be (indices, distances), got (distances, indices). Swap the two."
            raise InputError(msg)
        indices = _check_indices(given[0])
        return NeighborGraph(indices, _check_lengths(given[1], indices), "given")
    msg = f"neighbors must be 'auto', 'exact', 'approximate' or a graph, got {type(given).__name__}. {REMEDY}."
    raise InputTypeError(msg)


def _kind(given: Any) -> str:
    """Kind of numbers in an array, as NumPy's letter; nothing for what is none."""
    return str(getattr(getattr(given, "dtype", None), "kind", "-"))


def _from_matrix(matrix: SparseMatrix) -> NeighborGraph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        msg = f"neighbors as a sparse matrix must be square, got shape {matrix.shape}. {REMEDY}."
        raise InputError(msg)
    if matrix.dtype.kind not in "biuf":
        msg = f"neighbors as a sparse matrix must hold distances, got values of {matrix.dtype}. {REMEDY}."
        raise InputError(msg)
    graph = csr_array(matrix, dtype=np.float64)
    counts = np.diff(graph.indptr)
    width = max(1, int(counts.max(initial=0)))
    slots = np.arange(width) < counts[:, None]
    indices, distances = np.full(slots.shape, -1, dtype=np.intp), np.full(slots.shape, np.inf)
    indices[slots], distances[slots] = graph.indices, graph.data
    return NeighborGraph(indices, _check_lengths(distances, indices), "given")


def _check_indices(given: Any) -> IndexArray:
    try:
        indices = np.asarray(given)
    except ValueError:
        indices = np.empty(0)
    if indices.ndim != 2 or indices.dtype.kind not in "iu" or not indices.size:
        msg = (
            "neighbors as (indices, distances) must have a row of sample numbers for each sample, got indices of shape "
            f"{indices.shape} and kind {indices.dtype}. Fill short rows up with -1."
        )
        raise InputError(msg)
    if indices.min() < -1 or indices.max() >= len(indices):
        worst = int(indices.min() if indices.min() < -1 else indices.max())
        msg = (
            f"neighbors must be numbers of samples from 0 to {len(indices) - 1}, or -1 for none, got {worst}. "
            "Pass a graph of X itself."
        )
        raise InputError(msg)
    return indices.astype(np.intp)


def _check_lengths(given: Any, indices: IndexArray) -> FloatArray:
    """Return distances that belong to the indices; None stands for unknown ones, all alike."""
    if given is None:
        return np.where(indices >= 0, 1.0, np.inf)
    try:
        distances = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        distances = np.empty(0)
    if distances.shape != indices.shape:
        msg = (
            f"neighbors as (indices, distances) must have two arrays of one shape, got {indices.shape} and "
            f"{distances.shape}. Pass (indices, None) to have distances measured."
        )
        raise InputError(msg)
    known = distances[indices >= 0]
    if not ((known >= 0) & np.isfinite(known)).all():
        worst = known[~((known >= 0) & np.isfinite(known))][0]
        msg = f"neighbors must have finite distances of zero and more, got {worst}. {REMEDY}."
        raise InputError(msg)
    return np.where(indices >= 0, distances, np.inf)


# Relative to the largest distance: what programs that sum in different order disagree by.
SYMMETRY = 1e-6
BLOCK_BYTES = 2**25
# From this share of stored entries on, a sparse matrix may be a full one whose zeros went unstored.
FULL = 0.5


def check_square(X: ArrayLike) -> Distances:
    """Return the distances of samples among each other: symmetric, with nothing between a sample and itself."""
    distances = check_distances(X)
    if distances.shape[0] != distances.shape[1]:
        msg = (
            f"X must be square (distances of samples to each other) with metric='precomputed', got shape "
            f"{distances.shape}. Pass pairwise distances, or coordinates with another metric."
        )
        raise InputError(msg)
    if not distances.is_complete:
        return Distances(_with_copies(_symmetric(distances.matrix)))
    matrix = distances.matrix
    largest, block = float(matrix.max(initial=0.0)), max(1, BLOCK_BYTES // (8 * max(1, len(matrix))))
    itself = np.diagonal(matrix)
    if len(itself) and itself.max() > SYMMETRY * largest:
        row = int(itself.argmax())
        msg = (
            f"X must have zero distance of samples to themselves, got {itself[row]:.3g} in row {row}. "
            "Pass distances, not similarities."
        )
        raise InputError(msg)
    for start in range(0, len(matrix), block):
        off = np.abs(matrix[start : start + block] - matrix[:, start : start + block].T)
        if off.max() > SYMMETRY * largest:
            row, column = (int(number) for number in np.unravel_index(off.argmax(), off.shape))
            row += start
            msg = (
                f"X must be symmetric with metric='precomputed', got {matrix[row, column]:.6g} from sample {row} to "
                f"{column} and {matrix[column, row]:.6g} back. Pass X + X.T of a triangle, else (X + X.T) / 2."
            )
            raise InputError(msg)
    if itself.any():
        matrix = np.array(matrix)
        np.fill_diagonal(matrix, 0.0)
    return Distances(matrix)


def _symmetric(graph: SparseMatrix) -> SparseMatrix:
    """The graph with each distance known from both ends, and zero from a sample to itself."""
    n, entries = graph.shape[0], graph.tocoo()
    everyone = np.arange(n)
    rows = np.concatenate([entries.row, entries.col, everyone])
    columns = np.concatenate([entries.col, entries.row, everyone])
    values = np.concatenate([entries.data, entries.data, np.zeros(n)])
    values[rows == columns] = 0.0
    rows, columns, values = shortest_links(rows, columns, values)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return csr_array((values, columns, ends), shape=(n, n))


def _with_copies(graph: SparseMatrix) -> SparseMatrix:
    """A nearly full graph with the zeros that went unstored.

    Samples are copies if neither's distance to the other is stored, the same others are, and these are as far of both.
    """
    n = graph.shape[0]
    if graph.nnz == n * n or graph.nnz < FULL * n * n:
        return graph
    full = np.full(graph.shape, np.nan)
    full[np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices] = graph.data
    known = ~np.isnan(full)
    known[np.arange(n), np.arange(n)] = False
    alike: dict[bytes, list[int]] = {}
    for row in range(n):
        alike.setdefault(known[row].tobytes(), []).append(row)
    for members in alike.values():
        rows = np.array(members)
        others = known[rows[0]]
        if len(rows) > 1 and others.any() and not others[rows].any():
            values = full[np.ix_(rows, np.flatnonzero(others))]
            if np.ptp(values, axis=0).max() <= SYMMETRY * graph.data.max():
                full[np.ix_(rows, rows)] = 0.0
    known = ~np.isnan(full)
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    return csr_array((full[known], np.nonzero(known)[1], ends), shape=graph.shape)


def check_distances(X: ArrayLike) -> Distances:
    """Return X as distances, full or as a graph of those that are known."""
    if getattr(X, "ndim", 2) == 1:
        msg = (
            "X must be a matrix of distances with metric='precomputed', got one dimension. Reshape your data: "
            "scipy.spatial.distance.squareform(X) of condensed distances, X.reshape(1, -1) for one sample."
        )
        raise InputError(msg)
    matrix: Any = check_stored(X) if issparse(X) else check_matrix(X)
    values = matrix.data if issparse(matrix) else matrix
    if values.size and values.min() < 0:
        msg = (
            f"X must hold distances with metric='precomputed', got {values.min():.3g} (Negative values in data). "
            "Pass distances, not similarities."
        )
        raise InputError(msg)
    if issparse(matrix) and matrix.nnz > matrix.shape[0] and values.any() and (values[values > 0] == 1).all():
        msg = (
            "X as a graph must hold distances, got ones alone. Pass mode='distance' to KNeighborsTransformer, or fit "
            "the coordinates and pass the graph as neighbors=."
        )
        raise InputError(msg)
    return Distances(matrix)


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


def check_places(distinct: UniqueSamples, settings: Settings) -> None:
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
