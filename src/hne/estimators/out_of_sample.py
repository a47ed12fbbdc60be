"""New X -> Y and Y -> X: coordinates of new samples and samples of new points, by weights that rebuild them."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from hne._runtime.threads import thread_count
from hne.core.layout.layout import mix_layers, place_samples
from hne.core.neighbors.exact import nearest
from hne.core.neighbors.graph import nearest_by
from hne.core.records import Core, Embedding, FloatArray, IndexArray, SparseMatrix, Weights
from hne.core.samples.kinds import Distances, Samples, as_dense, take_among
from hne.core.weights.layers import reconstruct, target_weights
from hne.exceptions import refuse
from hne.settings import Settings

# Share of the largest distance up to which a sample is taken for the fitted one that it is so near to.
ITSELF = 1e-14

# Takes rows of targets, samples to search among (None for all) and a number; gives the nearest and their distances.
Search = Callable[[IndexArray, IndexArray | None, int], tuple[IndexArray, FloatArray]]


def extend(new: Samples, fitted: Embedding) -> FloatArray:
    """Coordinates (t, d) of new samples, in the units of the fitted ones.

    With inner weights w and joint weights j of a new sample, made as in the fit from its nearest fitted
    samples and their neighbors, its coordinates y minimize gamma |y - w Y|^2 + |y - j Y|^2: the share that one
    more sample would have in the objective, the fitted ones held still. In a layout they minimize its
    loss (`hne.core.layout.layout.place_samples`). A fitted sample keeps its coordinates.
    """
    settings, core = fitted.settings, fitted.core
    n_threads = thread_count(settings.n_jobs)
    if isinstance(new, Distances):
        new = new.to(fitted.distinct)

    def search(rows: IndexArray, among: IndexArray | None, count: int) -> tuple[IndexArray, FloatArray]:
        X, targets = (core.X, new[rows]) if among is None else take_among(core.X, new[rows], among)
        nearby, lengths, _ = nearest_by(settings.metric, settings.metric_params, X, targets, count, None, n_threads)
        return (nearby if among is None else np.where(nearby >= 0, among[nearby], -1)), lengths

    neighbors, distances = _within_a_piece(search, new.shape[0], core, settings.n_neighbors)
    # Only a sparse graph of distances has samples that are known to be near none of the fitted ones.
    if (neighbors[:, 0] < 0).any():
        got = f"none in row {int(np.argmax(neighbors[:, 0] < 0))}"
        refuse("X", "must hold the distance to one fitted sample at least", got, "Pass distances to the nearest ones")
    weights, total = _weights_of(core.X, new, neighbors, core, settings, n_threads)
    # In the units of the fit, in which sums stay in range.
    Y = core.Y
    if settings.coordinates == "layout":
        mixed, k = mix_layers(weights, settings.gamma, is_fit=False), core.graph.n_neighbors
        # As many entries for every sample, so that its coordinates do not depend on the others.
        coordinates = place_samples(mixed, Y, core.layout_unit, k + k**2, n_threads)
    else:
        coordinates = (settings.gamma * (weights.W @ Y) + weights.J @ Y) / total
    same = _same_samples(new, core.X, neighbors, distances)
    coordinates[same >= 0] = Y[same[same >= 0]]
    return fitted.units.restore_lengths(coordinates) if settings.in_lengths else coordinates


def preimage(points: FloatArray, fitted: Embedding) -> FloatArray | SparseMatrix:
    """Samples (t, D), in the units of the fitted ones, whose coordinates would be these points of the embedding.

    The way of `extend` gone back: weights rebuild a point from its nearest fitted places and their neighbors in the
    embedding, and the samples there are added up with them. At a fitted sample's place, it is that sample.
    """
    settings, core = fitted.settings, fitted.core
    n_threads = thread_count(settings.n_jobs)
    # Points come in the precision that coordinates were handed out in.
    Y, places = core.Y, fitted.core_Y.astype(fitted.dtype).astype(np.float64)
    if settings.in_lengths:
        # In the units of the fit, in which squares stay in range.
        places, points = places * fitted.units.scale, points * fitted.units.scale
    is_embedded = np.flatnonzero(np.isfinite(Y[:, 0]))

    def search(rows: IndexArray, among: IndexArray | None, count: int) -> tuple[IndexArray, FloatArray]:
        among = is_embedded if among is None else among
        nearby, lengths, _ = nearest(Y[among], points[rows], min(count, len(among)), n_threads=n_threads)
        return among[nearby], lengths

    neighbors, distances = _within_a_piece(search, len(points), core, settings.n_neighbors)
    weights, total = _weights_of(Y, points, neighbors, core, settings, n_threads)
    mixed = csr_array((settings.gamma * weights.W + weights.J) / total)
    same = _same_samples(points, places, neighbors, distances)
    rows = np.flatnonzero(same >= 0)
    if issparse(core.X):
        # Those samples alone, with weight one: rows of a sparse matrix are better made than assigned.
        only = csr_array((np.ones(len(rows)), (rows, same[rows])), shape=mixed.shape)
        return reconstruct(core.X, diags_array((same < 0).astype(float)) @ mixed + only)
    samples: Samples = reconstruct(core.X, mixed)
    samples[rows] = core.X[same[rows]]
    return samples


def _within_a_piece(search: Search, count: int, core: Core, k: int) -> tuple[IndexArray, FloatArray]:
    """The k nearest of each target in the piece of its nearest: a row of the width of the graph, -1 behind the last."""
    width = core.graph.n_neighbors
    neighbors, distances = np.full((count, width), -1, dtype=np.intp), np.full((count, width), np.inf)

    def fill(rows: IndexArray, among: IndexArray | None, n_there: int) -> None:
        nearby, lengths = search(rows, among, min(k, width, n_there))
        neighbors[rows], distances[rows] = -1, np.inf
        neighbors[rows, : nearby.shape[1]], distances[rows, : nearby.shape[1]] = nearby, lengths

    fill(np.arange(count), None, core.Y.shape[0])
    if core.pieces.count > 1:
        label = np.where(neighbors >= 0, core.pieces.labels[neighbors], -1)
        strays = np.flatnonzero(((label != label[:, :1]) & (neighbors >= 0)).any(axis=1))
        for piece in np.unique(label[strays, 0]):
            members = np.flatnonzero(core.pieces.labels == piece)
            fill(strays[label[strays, 0] == piece], members, len(members))
    return neighbors, distances


def _weights_of(
    X: Samples, targets: Samples, neighbors: IndexArray, core: Core, settings: Settings, n_threads: int
) -> tuple[Weights, FloatArray]:
    """Weights of both layers, and their sum (t, 1): beside an isolated sample, who has no neighbors, is no outer."""
    nobody = np.full(len(neighbors), -1)
    weights = target_weights(X, targets, neighbors, core.graph, nobody, settings, n_threads)
    return weights, settings.gamma + (np.diff(weights.J.indptr) > 0)[:, None]


def _same_samples(targets: Samples, X: Samples, neighbors: IndexArray, distances: FloatArray) -> IndexArray:
    """The fitted sample that each target equals, -1 for none."""
    if isinstance(targets, Distances):
        # Programs leave rounding where a distance to itself should be zero.
        farthest = np.asarray(as_dense(targets.matrix.max(axis=1)), dtype=np.float64).ravel()
        return np.where(distances[:, 0] <= ITSELF * farthest, neighbors[:, 0], -1)
    same = np.where(_differences(X[neighbors[:, 0]], targets) == 0, neighbors[:, 0], -1)
    # Samples closer than 1e-162 have a distance of zero without being equal, and there may be more of them than k.
    for row in np.flatnonzero((distances[:, 0] == 0) & (same < 0)):
        equal = np.flatnonzero(_differences(X, targets[row : row + 1]) == 0)
        same[row] = equal[0] if equal.size else -1
    return same


def _differences(X: Samples, targets: Samples) -> IndexArray:
    """Number of values in which rows differ; one target is compared with every row."""
    if issparse(targets) and targets.shape[0] != X.shape[0]:
        # SciPy does not broadcast, and finds matrices of two shapes not equal altogether.
        targets = targets[np.zeros(X.shape[0], dtype=np.intp)]
    return np.asarray((targets != X).sum(axis=1)).ravel()
