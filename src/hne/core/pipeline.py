"""X, parameters -> Embedding: the one way, stage by stage, whichever door it came through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from hne._runtime.progress import show_progress, stage
from hne._runtime.threads import limit_blas_threads, look_for_libraries, thread_count
from hne.core.chart.chart import check_scale, draw_charts
from hne.core.eigenpairs import PieceEmbeddings, embedded_pieces
from hne.core.forecast import check_fits
from hne.core.layout.layout import compute_layout
from hne.core.neighbors.curve import CURVE_MAX_SAMPLES, find_curve
from hne.core.neighbors.graph import neighbor_graph
from hne.core.parameters import check_parameters, is_auto
from hne.core.pieces.split import SplitGraph, check_connected, split_into_pieces, without_isolated
from hne.core.records import (
    Core,
    Embedding,
    FloatArray,
    Layout,
    NeighborGraph,
    Pieces,
    ShortCircuits,
    UniqueSamples,
    Weights,
)
from hne.core.samples.canonical import InputScaling, canonicalize
from hne.core.samples.check import check_samples, output_kind
from hne.core.samples.kinds import Distances, Samples, width
from hne.core.short_circuits.cut import ChosenEdges, cut_short_circuits, edited
from hne.core.tangent.frames import flat_share
from hne.core.tangent.score import LocalGeometry, local_geometry
from hne.core.trust.assess import assess
from hne.core.trust.verdict import embedding_warnings, emit_warnings
from hne.core.weights.layers import layer_weights, reconstruction_errors
from hne.settings import (
    AUTO,
    DEFAULTS,
    LAYOUT_NEIGHBORS,
    NEAR_SURFACE,
    SEARCHED,
    STAGES,
    Settings,
    fill_curve_defaults,
    fill_defaults,
)

# Fewer samples need no forecast: its own tenth of a second would be felt, and few machines are too small.
FORECAST_MIN_SAMPLES = 50_000
NOT_MEASURED = float("nan")


def embed(X: ArrayLike, *, executor: Any = None, checkpoint: Any = None, **parameters: Any) -> Embedding:
    """Embed the samples of X and return what every stage made, as one frozen record.

    `hne.HierarchicNeighborsEmbedding` does the same as an estimator; its `from_embedding` makes one of the record.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples, one a row; or with `metric="precomputed"` their distances. With a `hne.scale.DaskExecutor` also a
        Dask array or data frame, a Zarr array, or the path of a .zarr, .parquet or .npy file, which the workers read.
    executor : DaskExecutor, default=None
        Who runs the blocks of each stage: this process, or for Dask's collections the active client, where None.
    checkpoint : path, default=None
        Folder that keeps every finished block and stage: the same call goes on from there. None keeps nothing.
    **parameters
        Those of `hne.HierarchicNeighborsEmbedding`, with the same defaults.

    Returns
    -------
    Embedding
        The coordinates `Y`, the `graph`, `pieces`, `weights`, `eigenpairs` and `reconstruction_errors` they came from,
        how far to trust them (`trust`), and how settings were chosen (`tuning`).

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : The estimator, whose page explains the method.
    hne.core.records.Embedding : The record.
    hne.viz.write_report : Write a page about it.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import embed
    >>> line = np.outer(np.arange(20.0), [3.0, 4.0])
    >>> result = embed(line, n_neighbors=2, n_components=1)
    >>> result.Y.shape, result.graph.distances[0]
    ((20, 1), array([ 5., 10.]))
    """
    return compute_embedding(X, parameters, executor, checkpoint)


def compute_embedding(X: Any, parameters: Mapping[str, Any], executor: Any = None, checkpoint: Any = None) -> Embedding:
    """The way from X to its embedding; copies of a sample count once."""
    settings, auto, unset = check_parameters(parameters)
    with _open_backend(X, settings, auto, executor, checkpoint) as (given, backend):
        result = run_stages(given, settings, auto, unset, backend, output_kind(X))
    emit_warnings(embedding_warnings(result))
    return result


def run_stages(
    given: Samples, settings: Settings, auto: frozenset[str], unset: frozenset[str], backend: Backend, dtype: Any
) -> Embedding:
    """The embedding of checked samples, each step taken by the backend; `auto` and `unset` are still to be chosen."""
    tuning = None
    if auto:
        from hne.tuning.auto import resolve_auto  # noqa: PLC0415, loaded only when asked for

        settings, tuning = resolve_auto(given, settings, auto, unset)
    n_threads = thread_count(settings.n_jobs)
    with limit_blas_threads(n_threads), show_progress(settings.verbose):
        unique, scaling, samples, settings = backend.canonicalize(given, settings)
        settings, graph, flatness = search_graph(backend, samples, settings, unset, unique, n_threads)
        with stage("short circuits") as done:
            found = backend.short_circuits(samples, graph, settings)
            circuits = done(edited(found, ChosenEdges.of(settings, unique)))
        with stage("pieces") as done:
            split = done(backend.pieces(samples, circuits.graph, settings, n_threads))
        check_connected(split.pieces, unique, settings)
        with stage("weights") as done:
            weights = done(backend.weights(samples, split.graph, settings, n_threads))
        geometry = backend.geometry(samples, split.pieces, settings, n_threads, graph)
        made = _coordinates(backend, samples, split, circuits, weights, settings, n_threads, flatness, geometry)
        errors = scaling.restore_lengths(backend.errors(samples, weights))
        core = Core(samples, split.graph, split.pieces, weights, errors, circuits.pairs, **made)
        trust = None
        if settings.assess:
            with stage("trust") as done:
                is_chosen = auto >= {*SEARCHED}
                trust = done(assess(core, settings, n_threads, geometry=geometry, is_chosen=is_chosen))
                trust = trust.of_samples(unique.index)
    result = Embedding(settings, unique, scaling, core, dtype, trust, tuning)
    check_scale(result)
    return result


def search_graph(
    backend: Backend, X: Samples, settings: Settings, unset: frozenset[str], unique: UniqueSamples, n_threads: int
) -> tuple[Settings, NeighborGraph, float]:
    """Choose the settings that are open and find the neighbors; return both and the tangent variance ratio.

    The ratio is NaN where nothing depends on it. Curves are recognized in a graph of ten neighbors or more, so that
    their charts depend on the settings alone, whether these were chosen or given.
    """
    flatness, is_open = NOT_MEASURED, settings.coordinates == AUTO
    if unset or is_open or settings.coordinates == "chart":
        flatness = backend.flat_share(X, settings, n_threads)
    settings = fill_defaults(settings, unset, flatness, X.shape[0], known_distances(X))
    backend.check_fits(X, settings)
    may_be_curve = flatness < NEAR_SURFACE and (is_open or settings.coordinates == "chart")
    wider = settings
    if may_be_curve and X.shape[0] <= CURVE_MAX_SAMPLES and isinstance(settings.neighbors, str):
        wider = fill_defaults(settings, ("n_neighbors",), flatness, X.shape[0], known_distances(X))
        wider = replace(settings, n_neighbors=max(settings.n_neighbors, min(LAYOUT_NEIGHBORS, wider.n_neighbors)))
    with stage("neighbors") as done:
        graph = backend.graph(X, wider, unique, n_threads)
        curve = find_curve(graph) if may_be_curve else None
        if curve is not None and is_open:
            settings = fill_curve_defaults(settings, unset)
        if curve is not None or wider is not settings:
            graph = (graph if curve is None else curve).nearest(settings.n_neighbors)
        return settings, done(graph), flatness


def _coordinates(
    backend: Backend,
    X: Samples,
    split: SplitGraph,
    circuits: ShortCircuits,
    weights: Weights,
    settings: Settings,
    n_threads: int,
    flatness: float,
    geometry: LocalGeometry,
) -> dict[str, Any]:
    """Run the stages from the weights to the coordinates: a layout, or eigenpairs and where wanted a chart of them."""
    if settings.coordinates == "layout":
        with stage("layout") as done:
            layout = done(backend.layout(X, weights, split.pieces, settings, n_threads))
        return {"Y": layout.Y, "kl_divergence": layout.kl_divergence, "layout_unit": layout.unit}
    with stage("eigenpairs") as done:
        solved = done(backend.eigenpairs(X, weights, split.pieces, settings, n_threads))
    if settings.coordinates == "eigenvectors":
        return {"Y": solved.Y, "eigenpairs": solved.eigenpairs}
    with stage("chart") as done:
        made_of = (X, split.graph, circuits.cut_pairs, solved, split.pieces, flatness)
        drawn = done(draw_charts(*made_of, settings, n_threads, geometry))
    return {"Y": drawn.Y, "eigenpairs": solved.eigenpairs, "charts": drawn.charts}


def n_stages(parameters: Mapping[str, Any]) -> int:
    """Largest number of stages of a fit; "auto" adds a search for the dimension and one for the rest."""
    auto = frozenset(name for name, value in parameters.items() if is_auto(value))
    is_assessed = parameters.get("assess", DEFAULTS["assess"])
    return len(STAGES) - (not is_assessed) + ("n_components" in auto) + bool(auto & {*SEARCHED})


def known_distances(X: Samples) -> int | None:
    """Distances that are known of a sample of a graph; None where all are."""
    return X.n_known if isinstance(X, Distances) and X.n_known < X.shape[1] - 1 else None


@contextmanager
def _open_backend(
    X: Any, settings: Settings, auto: frozenset[str], executor: Any, checkpoint: Any
) -> Iterator[tuple[Samples, Backend]]:
    """Checked samples and the backend that works on them: this process, unless something else is asked for."""
    if executor is None and checkpoint is None and not is_elsewhere(X):
        yield check_samples(X, settings), Backend()
        return
    from hne.scale.backends import open_backend  # noqa: PLC0415, loaded only when asked for

    with open_backend(X, settings, auto, executor, checkpoint) as opened:
        yield opened


def is_elsewhere(X: Any) -> bool:
    """Whether X is a collection of Dask, samples that workers read, or the path of a file."""
    home = type(X).__module__
    return home.partition(".")[0] in {"dask", "dask_expr"} or home == "hne.scale.sources" or isinstance(X, str | Path)


class Backend:
    """The steps of the pipeline, in the memory and with the threads of this process; no state between them.

    Others (`hne.scale`) take the same steps with the same functions elsewhere, and keep their results on disk.
    """

    def canonicalize(self, X: Samples, settings: Settings) -> tuple[UniqueSamples, InputScaling, Samples, Settings]:
        """Which samples are distinct, those in a scale that float64 bears, and settings with what they tell."""
        return canonicalize(X, settings)

    def flat_share(self, X: Samples, settings: Settings, n_threads: int) -> float:
        """Share of the local variance of the samples that lies in tangent planes; NaN where none is known."""
        return flat_share(X, settings.n_components, settings.metric, settings.metric_params, n_threads)

    def check_fits(self, X: Samples, settings: Settings) -> None:
        """Refuse what will not fit into memory."""
        if X.shape[0] >= FORECAST_MIN_SAMPLES:
            check_fits(X.shape[0], width(X), settings)

    def graph(self, X: Samples, settings: Settings, unique: UniqueSamples, n_threads: int) -> NeighborGraph:
        """The neighbors of each distinct sample."""
        return neighbor_graph(X, settings, unique, n_threads)

    def short_circuits(self, X: Samples, graph: NeighborGraph, settings: Settings) -> ShortCircuits:
        """The short circuits of the graph, and the graph without them where the settings say so.

        Edges that are cut and kept by hand change nothing here: `edited` sees to these.
        """
        # Far edges of isolated samples first: beside these, what ties the isolated to each other seems not to matter.
        return cut_short_circuits(X, without_isolated(graph, settings), settings)

    def pieces(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> SplitGraph:
        """The pieces of the graph, and the graph with which the stages after it go on."""
        return split_into_pieces(X, graph, settings, n_threads)

    def weights(self, X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> Weights:
        """Both layers of weights."""
        return layer_weights(X, graph, settings, n_threads)

    def eigenpairs(
        self, X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int
    ) -> PieceEmbeddings:
        """The embedding, piece by piece."""
        return embedded_pieces(X, weights, pieces, settings, n_threads)

    def layout(self, X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int) -> Layout:
        """Compute the neighbor-preserving layout."""
        return compute_layout(X, weights, pieces, settings, n_threads)

    def geometry(
        self, X: Samples, pieces: Pieces, settings: Settings, n_threads: int, graph: NeighborGraph
    ) -> LocalGeometry:
        """What charts and trust are measured by: frames and ranks, made when asked for; `graph` is as it was found."""
        return local_geometry(X, pieces, settings, n_threads, graph)

    def errors(self, X: Samples, weights: Weights) -> FloatArray:
        """How far off each sample is when it is rebuilt, in the scale of X."""
        with limit_blas_threads(1):
            return reconstruction_errors(X, weights.J)


# What is loaded by now is looked through here, or the first fit would take half as long again as the second.
look_for_libraries()
