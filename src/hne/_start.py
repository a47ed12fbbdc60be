"""X -> where a walk starts: distinct samples in its units, and their neighbors."""

from dataclasses import replace

from hne._distinct import distinct_samples
from hne._neighbors import estimated_params, given_graph, knn_graph
from hne._samples import Distances, Samples
from hne._types import Distinct, NeighborGraph, Settings
from hne._units import Units, check_told_apart, units_of
from hne._validation import check_places


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


def neighbor_graph(X: Samples, settings: Settings, distinct: Distinct, n_threads: int) -> NeighborGraph:
    """The graph over places: searched, or as given."""
    given = settings.neighbors
    if isinstance(given, NeighborGraph):
        return given_graph(X, given, distinct, settings.n_neighbors, settings.metric, settings.metric_params)
    return searched_graph(X, settings, n_threads)


def searched_graph(X: Samples, settings: Settings, n_threads: int) -> NeighborGraph:
    """The graph over samples that are all different."""
    metric, params = settings.metric, settings.metric_params
    return knn_graph(X, settings.n_neighbors, n_threads, settings.neighbors, settings.random_state, metric, params)
