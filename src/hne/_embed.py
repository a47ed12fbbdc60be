"""embed(): the walk from X to Y, one arrow a line."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from numpy.typing import ArrayLike

from hne._alignment import alignment
from hne._eigen import bottom_eigenpairs
from hne._forecast import check_fits
from hne._neighbors import knn_graph
from hne._pieces import connected_pieces
from hne._progress import shown, stage
from hne._reconstruction import reconstruction_errors
from hne._threads import library_threads, thread_count
from hne._types import EigenPairs, Embedding, FloatArray, NeighborGraph, Pieces, Settings
from hne._units import units_of
from hne._validation import check_samples, check_settings
from hne._weights import layer_weights
from hne.exceptions import CloseEigenvaluesWarning, DisconnectedGraphWarning, NeighborRecallWarning

STAGES = ("neighbors", "pieces", "weights", "eigenpairs")

# Share of true neighbors below which a user is told: one neighbor in ten is wrong.
LOW_RECALL = 0.9
# Fewer samples need no forecast: its own tenth of a second would be felt, and few machines are too small.
FORECAST_MIN_SAMPLES = 50_000


def embed(X: ArrayLike, **parameters: Any) -> Embedding:
    """Embed the samples of X and keep what every stage made.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples, one a row.
    **parameters
        Those of :class:`hne.HierarchicNeighborsEmbedding`, with the same defaults.

    Returns
    -------
    Embedding
        Frozen record: `Y`, and the `graph`, `pieces`, `weights`, `eigenpairs` and `reconstruction_errors`
        it came from.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import embed
    >>> line = np.outer(np.arange(20.0), [3.0, 4.0])
    >>> result = embed(line, n_neighbors=2, n_components=1)
    >>> result.Y.shape, result.graph.distances[0]
    ((20, 1), array([ 5., 10.]))
    """
    settings = check_settings(parameters)
    return walk(check_samples(X, settings), settings)


def walk(X: FloatArray, settings: Settings) -> Embedding:
    """Go from checked samples to their embedding."""
    units = units_of(X)
    X = units.of(X)
    n_threads = thread_count(settings.n_jobs)
    if len(X) >= FORECAST_MIN_SAMPLES:
        check_fits(len(X), X.shape[1], settings)
    with library_threads(n_threads), shown(settings.verbose):
        k, search = settings.n_neighbors, settings.neighbors
        graph = stage("neighbors", knn_graph, X, k, n_threads, search, settings.random_state)
        pieces = stage("pieces", connected_pieces, graph)
        weights = stage("weights", layer_weights, X, graph, settings, None, n_threads)
        pairs = stage("eigenpairs", bottom_eigenpairs, alignment(weights, settings.gamma), settings, n_threads, X)
    errors = units.undo_length(reconstruction_errors(X, weights.J))
    if graph.recall < LOW_RECALL:
        _warn_of_recall(graph)
    if pieces.count > 1:
        _warn_of_pieces(pieces, graph)
    elif not pairs.certificate.is_resolved:
        _warn_of_close_eigenvalues(pairs)
    return Embedding(settings, graph, pieces, weights, pairs, errors)


def _warn_of_pieces(pieces: Pieces, graph: NeighborGraph) -> None:
    sizes = ", ".join(str(size) for size in pieces.sizes[:5]) + (", ..." if pieces.count > 5 else "")
    copies = int((graph.distances[:, -1] == 0).sum())
    cause = f" {copies} samples have only exact copies of themselves as neighbors: drop copies." if copies else ""
    msg = (
        f"the neighbor graph has {pieces.count} pieces (of {sizes} samples): the embedding separates the pieces "
        f"and shows little of what is inside each.{cause} Raise n_neighbors (now {graph.n_neighbors}), or embed "
        "each piece on its own (see piece_labels_)."
    )
    warnings.warn(msg, DisconnectedGraphWarning, stacklevel=_frames_up())


def _warn_of_recall(graph: NeighborGraph) -> None:
    msg = (
        f"approximate search should find at least {LOW_RECALL:.0%} of the true neighbors, got {graph.recall:.1%} on a "
        "sample of rows: the data is of too high a dimension for it. Reduce the features (PCA), or pass "
        "neighbors='exact'."
    )
    warnings.warn(msg, NeighborRecallWarning, stacklevel=_frames_up())


def _warn_of_close_eigenvalues(pairs: EigenPairs) -> None:
    d, proof = len(pairs.values), pairs.certificate
    msg = (
        f"eigenvalues {d} and {d + 1} after the constant one, {pairs.values[-1]:.2e} and {pairs.next_value:.2e}, are "
        f"closer than float64 tells apart ({proof.resolution:.1e}): the embedding is one of many that are equally "
        f"good. Choose n_components={d + 1} or another n_neighbors, or raise reg."
    )
    warnings.warn(msg, CloseEigenvaluesWarning, stacklevel=_frames_up())


def _frames_up() -> int:
    """Frames between the warning and the first caller outside the package, whichever door was used."""
    frame, level = sys._getframe(1), 1  # noqa: SLF001
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("hne.", "sklearn.")):
        frame, level = frame.f_back, level + 1
    return level
