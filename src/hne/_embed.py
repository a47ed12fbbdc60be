"""embed(): the walk from X to Y, one arrow a line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hne._forecast import check_fits
from hne._metric import metric_coordinates
from hne._notices import check_connected, warn_of
from hne._parts import embedded_pieces, found_pieces
from hne._progress import shown, stage
from hne._reconstruction import reconstruction_errors
from hne._samples import Samples, width
from hne._start import at_places, neighbor_graph
from hne._threads import library_threads, thread_count
from hne._trust import judgment
from hne._types import Core, Embedding, Settings
from hne._validation import check_samples, check_wishes, output_kind
from hne._weights import layer_weights
from hne.tuning._auto import settled

STAGES = ("neighbors", "pieces", "weights", "eigenpairs", "lengths", "trust")

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
        Frozen record: `Y`, the `graph`, `pieces`, `weights`, `eigenpairs` and `reconstruction_errors` it came from,
        and `trust`, how far it can be believed.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import embed
    >>> line = np.outer(np.arange(20.0), [3.0, 4.0])
    >>> result = embed(line, n_neighbors=2, n_components=1)
    >>> result.Y.shape, result.graph.distances[0]
    ((20, 1), array([ 5., 10.]))
    """
    wished, automatic = check_wishes(parameters)
    samples = check_samples(X, wished)
    found = settled(samples, wished, automatic)
    return walk(samples, found.settings, output_kind(X), is_chosen=found.is_chosen)


def walk(X: Samples, settings: Settings, dtype: Any = np.float64, *, is_chosen: bool = False) -> Embedding:
    """Go from checked samples to their embedding; copies of a sample count once. `is_chosen`: the settings were."""
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
        parts = stage("eigenpairs", embedded_pieces, X, weights, pieces, settings, n_threads)
        metric = stage("lengths", metric_coordinates, X, parts, pieces, settings, n_threads)
        judged = stage("trust", judgment, is_chosen, X, graph, pieces, weights, parts, metric, settings, n_threads)
    with library_threads(1):
        errors = units.undo_length(reconstruction_errors(X, weights.J))
    core = Core(X, graph, pieces, weights, parts.parts, parts.Y, errors, metric)
    result = Embedding(settings, distinct, units, core, dtype, judged.trust.of_samples(distinct.first))
    warn_of(result)
    return result
