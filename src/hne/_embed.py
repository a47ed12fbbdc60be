"""embed(): the walk from X to Y, one arrow a line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hne._alignment import alignment
from hne._distinct import distinct_samples
from hne._forecast import check_fits
from hne._neighbors import estimated_params, given_graph, knn_graph
from hne._notices import check_connected, warn_of
from hne._parts import embedded_pieces, found_pieces
from hne._progress import shown, stage
from hne._reconstruction import reconstruction_errors
from hne._samples import Distances, Samples, width
from hne._threads import library_threads, thread_count
from hne._types import Core, Distinct, Embedding, NeighborGraph, Settings
from hne._units import Units, check_told_apart, units_of
from hne._validation import check_places, check_samples, check_settings, output_kind
from hne._weights import layer_weights

STAGES = ("neighbors", "pieces", "weights", "eigenpairs")

# Fewer samples need no forecast: its own tenth of a second would be felt, and few machines are too small.
FORECAST_MIN_SAMPLES = 50_000


def embed(X: ArrayLike, **parameters: Any) -> Embedding:
    """Embed the samples of X and keep what every stage made.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples, one a row; or with metric="precomputed" their distances.
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
    return walk(check_samples(X, settings), settings, output_kind(X))


def walk(X: Samples, settings: Settings, dtype: Any = np.float64) -> Embedding:
    """Go from checked samples to their embedding; copies of a sample count once."""
    distinct, units, X, settings = at_places(X, settings)
    n_threads = thread_count(settings.n_jobs)
    if X.shape[0] >= FORECAST_MIN_SAMPLES:
        check_fits(X.shape[0], width(X), settings)
    with library_threads(n_threads), shown(settings.verbose):
        graph = stage("neighbors", neighbor_graph, X, settings, distinct, n_threads)
        found = stage("pieces", found_pieces, X, graph, settings, n_threads)
        pieces, graph = found.pieces, found.graph
        check_connected(pieces, distinct, settings)
        weights = stage("weights", layer_weights, X, graph, settings, None, n_threads)
        parts = stage("eigenpairs", embedded_pieces, X, alignment(weights, settings.gamma), pieces, settings, n_threads)
    with library_threads(1):
        errors = units.undo_length(reconstruction_errors(X, weights.J))
    core = Core(X, graph, pieces, weights, parts.parts, parts.Y, errors)
    result = Embedding(settings, distinct, units, core, dtype)
    warn_of(result)
    return result


def neighbor_graph(X: Samples, settings: Settings, distinct: Distinct, n_threads: int) -> NeighborGraph:
    """The graph over places: searched, or as given."""
    given = settings.neighbors
    if isinstance(given, NeighborGraph):
        return given_graph(X, given, distinct, settings.n_neighbors, settings.metric, settings.metric_params)
    metric, params = settings.metric, settings.metric_params
    return knn_graph(X, settings.n_neighbors, n_threads, given, settings.random_state, metric, params)


def at_places(X: Samples, settings: Settings) -> tuple[Distinct, Units, Samples, Settings]:
    """Which samples are distinct, those in the units of the walk, and settings with what they tell of the metric."""
    distinct = distinct_samples(X)
    check_places(distinct, settings)
    X = X.of(distinct) if isinstance(X, Distances) else X[distinct.first]
    units = units_of(X, moved=settings.metric == "euclidean")
    inside = units.of(X)
    if units.scale != 1.0 or units.origin is not None:
        check_told_apart(distinct.n_places, distinct_samples(inside).n_places)
    params = estimated_params(settings.metric, settings.metric_params, inside)
    return distinct, units, inside, replace(settings, metric_params=params)
