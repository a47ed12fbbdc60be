"""New X -> Y and Y -> X: place new samples and lift points of the embedding, by weights that rebuild them."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from hne._runtime.threads import thread_count
from hne.core.neighbors.exact import nearest
from hne.core.neighbors.graph import nearest_by
from hne.core.reconstruction import reconstruct
from hne.core.records import Core, Embedding, FloatArray, IndexArray, Settings, SparseMatrix, Weights
from hne.core.samples.kinds import Distances, Samples, as_dense, take_among
from hne.core.weights.layers import target_weights
from hne.exceptions import InputError

# Share of the largest distance up to which a sample is taken for the fitted one that it is so near to.
ITSELF = 1e-14

# Takes rows of targets, samples to search among (None for all) and a number; gives the nearest and their distances.
Search = Callable[[IndexArray, IndexArray | None, int], tuple[IndexArray, FloatArray]]


def place(new: Samples, fitted: Embedding) -> FloatArray:
    """Coordinates (t, d) of new samples, in the units of the fitted ones.

    With inner weights w and joint weights j of a new sample, found as in the fit from its nearest fitted
    samples and their neighbors, its coordinates y minimize gamma |y - w Y|^2 + |y - j Y|^2: the share that one
    more sample would have in the objective, the fitted ones held still. A fitted sample keeps its own.
    """
    settings, core = fitted.settings, fitted.core
    n_threads = thread_count(settings.n_jobs)
    if isinstance(new, Distances):
        new = new.to(fitted.distinct)

    def search(rows: IndexArray, among: IndexArray | None, count: int) -> tuple[IndexArray, FloatArray]:
        X, targets = core.X, new[rows]
        if among is not None:
            X, targets = take_among(X, targets, among)
        found, lengths, _ = nearest_by(settings.metric, settings.metric_params, X, targets, count, None, n_threads)
        return (found if among is None else np.where(found >= 0, among[found], -1)), lengths

    own, distances = _within_a_piece(search, new.shape[0], core, settings.n_neighbors)
    _check_near_anyone(own)
    weights = _weights_of(core.X, new, own, core, settings, n_threads)
    # In the units of the walk, in which sums stay in range.
    Y = core.rescaled.Y if settings.in_lengths else core.Y
    placed: FloatArray = (settings.gamma * (weights.W @ Y) + weights.J @ Y) / _layers(weights, settings)
    same = _same_places(new, core.X, own, distances)
    placed[same >= 0] = Y[same[same >= 0]]
    return fitted.units.restore_lengths(placed) if settings.in_lengths else placed


def lift(points: FloatArray, fitted: Embedding) -> FloatArray | SparseMatrix:
    """Samples (t, D), in the units of the fitted ones, whose coordinates would be these points of the embedding.

    The way of `place` gone back: weights rebuild a point from its nearest fitted places and their neighbors in the
    embedding, and the samples there are added up with them. At a fitted sample's place, it is that sample.
    """
    settings, core = fitted.settings, fitted.core
    n_threads = thread_count(settings.n_jobs)
    # In the units of the walk, in which squares stay in range.
    Y, points = (core.rescaled.Y, points * fitted.units.scale) if settings.in_lengths else (core.Y, points)
    is_embedded = np.flatnonzero(np.isfinite(Y[:, 0]))

    def search(rows: IndexArray, among: IndexArray | None, count: int) -> tuple[IndexArray, FloatArray]:
        among = is_embedded if among is None else among
        found, lengths, _ = nearest(Y[among], points[rows], min(count, len(among)), n_threads=n_threads)
        return among[found], lengths

    own, distances = _within_a_piece(search, len(points), core, settings.n_neighbors)
    weights = _weights_of(Y, points, own, core, settings, n_threads)
    mixed = csr_array((settings.gamma * weights.W + weights.J) / _layers(weights, settings))
    # Points come in the precision that coordinates were handed out in.
    same = _same_places(points, _handed_out(fitted), own, distances)
    rows = np.flatnonzero(same >= 0)
    if issparse(core.X):
        # Those samples alone, with weight one: rows of a sparse matrix are better made than assigned.
        only = csr_array((np.ones(len(rows)), (rows, same[rows])), shape=mixed.shape)
        return reconstruct(core.X, diags_array((same < 0).astype(float)) @ mixed + only)
    lifted: Samples = reconstruct(core.X, mixed)
    lifted[rows] = core.X[same[rows]]
    return lifted


def _handed_out(fitted: Embedding) -> FloatArray:
    """Coordinates as they were handed out, in their precision, and in the units of the walk again."""
    given: FloatArray = fitted.core_Y.astype(fitted.dtype).astype(np.float64)
    return given * fitted.units.scale if fitted.settings.in_lengths else given


def _within_a_piece(search: Search, count: int, core: Core, k: int) -> tuple[IndexArray, FloatArray]:
    """The k nearest of each target in the piece of its nearest: a row of the width of the graph, -1 behind the last."""
    width = core.graph.n_neighbors
    k = min(k, width)
    everyone = np.arange(count)
    found, lengths = search(everyone, None, min(k, core.Y.shape[0]))
    own, distances = np.full((count, width), -1, dtype=np.intp), np.full((count, width), np.inf)
    own[:, : found.shape[1]], distances[:, : found.shape[1]] = found, lengths
    if core.pieces.count == 1:
        return own, distances
    label = np.where(own >= 0, core.pieces.labels[own], -1)
    strays = np.flatnonzero(((label != label[:, :1]) & (own >= 0)).any(axis=1))
    for piece in np.unique(label[strays, 0]):
        members = np.flatnonzero(core.pieces.labels == piece)
        rows = strays[label[strays, 0] == piece]
        nearby, lengths = search(rows, members, min(k, len(members)))
        own[rows], distances[rows] = -1, np.inf
        own[rows, : nearby.shape[1]] = np.where(nearby >= 0, nearby, -1)
        distances[rows, : nearby.shape[1]] = lengths
    return own, distances


def _weights_of(
    X: Samples, targets: Samples, own: IndexArray, core: Core, settings: Settings, n_threads: int
) -> Weights:
    nobody = np.full(len(own), -1)
    return target_weights(X, targets, own, core.graph, nobody, [settings], core.weights.kernel, n_threads)[0]


def _layers(weights: Weights, settings: Settings) -> FloatArray:
    """Sum of the weights of both layers (t, 1): beside an isolated sample, who has no neighbors, there is no outer."""
    has_outer = np.diff(weights.J.indptr) > 0
    total: FloatArray = settings.gamma + has_outer[:, None]
    return total


def _check_near_anyone(own: IndexArray) -> None:
    """Refuse samples that are known to be near none of the fitted ones; only a sparse graph of distances has such."""
    if (own[:, 0] < 0).any():
        row = int(np.flatnonzero(own[:, 0] < 0)[0])
        msg = (
            f"X must hold the distance to one fitted sample at least, got none in row {row}. "
            "Pass distances to the nearest fitted samples."
        )
        raise InputError(msg)


def _same_places(targets: Samples, X: Samples, own: IndexArray, distances: FloatArray) -> IndexArray:
    """The fitted sample that each target equals, -1 for none."""
    if isinstance(targets, Distances):
        # Programs leave rounding where a distance to itself should be zero.
        return np.where(distances[:, 0] <= ITSELF * _farthest(targets), own[:, 0], -1)
    same = np.where(_differences(X[own[:, 0]], targets) == 0, own[:, 0], -1)
    # Samples closer than 1e-162 have a distance of zero without being equal, and there may be more of them than k.
    for row in np.flatnonzero((distances[:, 0] == 0) & (same < 0)):
        equal = np.flatnonzero(_differences(X, targets[row : row + 1]) == 0)
        same[row] = equal[0] if equal.size else -1
    return same


def _farthest(targets: Distances) -> FloatArray:
    """The largest distance of each target."""
    largest = targets.matrix.max(axis=1)
    return np.asarray(as_dense(largest), dtype=np.float64).ravel()


def _differences(X: Samples, targets: Samples) -> IndexArray:
    """Number of values in which rows differ; one target is compared with every row."""
    if issparse(targets) and targets.shape[0] != X.shape[0]:
        # SciPy does not broadcast, and finds matrices of two shapes not equal altogether.
        targets = targets[np.zeros(X.shape[0], dtype=np.intp)]
    counts: IndexArray = np.asarray((targets != X).sum(axis=1)).ravel()
    return counts
