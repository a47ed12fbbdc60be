"""embed(): the walk from X to Y, one arrow a line."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hne._runtime.progress import show_progress, stage
from hne._runtime.threads import limit_blas_threads
from hne.core.backend import IN_MEMORY, Backend
from hne.core.chart.lengths import rescaled_coordinates
from hne.core.defaults import known_of, suited
from hne.core.notices import check_connected, check_lengths, emit_warnings
from hne.core.parameters import check_parameters
from hne.core.records import Core, Embedding, Settings
from hne.core.samples.kinds import Samples
from hne.core.samples.tables import output_kind
from hne.core.tangent.frames import flat_share
from hne.core.trust.assess import judgment
from hne.scale.backends import open_backend
from hne.tuning.auto import settled

STAGES = ("neighbors", "short circuits", "pieces", "weights", "eigenpairs", "chart", "trust")
NAN = float("nan")


def embed(X: ArrayLike, *, executor: Any = None, checkpoint: Any = None, **parameters: Any) -> Embedding:
    """Embed the samples of X and keep what every stage made.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples, one a row; or with metric="precomputed" their distances. With a :class:`hne.scale.DaskExecutor`
        also a Dask array or data frame, an array of Zarr, or the path of a .zarr, .parquet or .npy file, which
        workers read and nobody gathers.
    executor : DaskExecutor, default=None
        Who runs the blocks of the walk; None is this process, or for Dask's collections the client that is there.
    checkpoint : path, default=None
        Folder in which every finished block and stage is kept: the same call goes on from there.
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
    wished, automatic, unset = check_parameters(parameters)
    with open_backend(X, wished, automatic, executor, checkpoint) as (samples, bench):
        found = settled(samples, wished, automatic, unset)
        return walk(samples, found.settings, output_kind(X), is_chosen=found.is_chosen, unset=unset, bench=bench)


def walk(
    X: Samples,
    settings: Settings,
    dtype: Any = np.float64,
    *,
    is_chosen: bool = False,
    unset: Collection[str] = (),
    bench: Backend = IN_MEMORY,
) -> Embedding:
    """Go from checked samples to their embedding; copies of a sample count once.

    `is_chosen`: the settings were; `unset` of them are left to what the samples are near to.
    """
    n_threads = bench.n_threads(settings)
    with limit_blas_threads(n_threads), show_progress(settings.verbose):
        distinct, units, X, settings = bench.canonicalize(X, settings)
        flatness = NAN
        if unset or settings.coordinates == "chart":
            flatness = flat_share(X, settings.n_components, settings.metric, settings.metric_params, n_threads)
        settings = suited(settings, unset, flatness, X.shape[0], known_of(X))
        bench.check_fits(X, settings)
        graph = stage("neighbors", bench.graph, X, settings, distinct, n_threads)
        circuits = stage("short circuits", bench.short_circuits, X, graph, settings)
        found = stage("pieces", bench.pieces, X, circuits.graph, settings, n_threads)
        pieces, graph = found.pieces, found.graph
        check_connected(pieces, distinct, settings)
        weights = stage("weights", bench.weights, X, graph, settings, n_threads)
        parts = stage("eigenpairs", bench.parts, X, weights, pieces, settings, n_threads)
        cut = circuits.pairs if circuits.is_cut else circuits.pairs[:0]
        drawing = (X, graph, cut, parts, pieces, flatness, settings, n_threads)
        rescaled = stage("chart", rescaled_coordinates, *drawing)
        walked = (X, graph, pieces, weights, parts, rescaled, circuits.pairs, settings, n_threads)
        judged = stage("trust", judgment, is_chosen, *walked)
        errors = units.restore_lengths(bench.errors(X, weights))
    core = Core(X, graph, pieces, weights, parts.eigenpairs, parts.Y, errors, rescaled, circuits.pairs)
    result = Embedding(settings, distinct, units, core, dtype, judged.trust.of_samples(distinct.index))
    check_lengths(result)
    emit_warnings(result)
    return result
