"""X, an engine, a folder -> the samples and the bench that the walk works on; what they cannot do is refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hne._runtime.threads import thread_count
from hne.core.backend import IN_MEMORY, Backend
from hne.core.records import PRECOMPUTED, Settings
from hne.core.samples.check import check_neighbors, check_samples, check_shape
from hne.core.samples.kinds import Distances, Samples
from hne.exceptions import InputError, InputTypeError, quoted
from hne.scale.executors import DaskExecutor, LocalExecutor, current_engine
from hne.scale.sources import READ_BY_WORKERS, LazySamples, is_collection, is_lazy, lazy_samples


@contextmanager
def open_backend(
    X: Any,
    settings: Settings,
    automatic: frozenset[str],
    engine: Any,
    checkpoint: Any,
    *,
    only_poses: bool = False,
) -> Iterator[tuple[Samples, Backend]]:
    """Lend the bench for a run, with its samples checked; `only_poses`: it leaves the eigenproblem to MPI elsewhere."""
    asked, engine = engine, _engine_for(X, settings, engine)
    is_remote = isinstance(engine, DaskExecutor)
    if not is_remote and checkpoint is None:
        yield check_samples(X, settings), IN_MEMORY if asked is None else Backend(thread_count(engine.n_jobs))
        return
    from hne.scale.backends import CachedBackend  # noqa: PLC0415, nobody else needs it
    from hne.scale.folder import Folder  # noqa: PLC0415

    _check_repeatable(settings)
    if isinstance(X, LazySamples) or (is_remote and is_lazy(X)):
        samples: Any = X if isinstance(X, LazySamples) else lazy_samples(X)
        _check_lazy(samples, settings, automatic)
    else:
        samples = check_samples(X, settings)
    if is_remote:
        _check_spreadable(samples)
    folder = Folder(checkpoint if checkpoint is not None else engine.folder())
    with folder.lent():
        yield samples, CachedBackend(engine, folder, only_poses=only_poses)


def _engine_for(X: Any, settings: Settings, engine: Any) -> LocalExecutor | DaskExecutor:
    if isinstance(X, str | Path) and Path(X).suffix in READ_BY_WORKERS and not isinstance(engine, DaskExecutor):
        got = f"'{X}' and engine={quoted(engine)}"
        msg = f"X as a path is read by Dask workers, got {got}. Pass engine=DaskExecutor(client)."
        raise InputError(msg)
    if engine is None:
        return current_engine() if is_collection(X) else LocalExecutor(settings.n_jobs)
    if isinstance(engine, LocalExecutor) and is_collection(X):
        msg = (
            f"engine must be a DaskExecutor for a collection of Dask, got {quoted(engine)}. Leave it out, or compute X."
        )
        raise InputError(msg)
    if not isinstance(engine, LocalExecutor | DaskExecutor):
        msg = (
            "engine must be a LocalExecutor or a DaskExecutor of hne.scale, "
            f"got {quoted(engine)}. Pass DaskExecutor(client)."
        )
        raise InputTypeError(msg)
    return engine


def _check_repeatable(settings: Settings) -> None:
    """Refuse what the same call would not do again, or what has no name to know it by."""
    if not isinstance(settings.random_state, int | np.integer):
        got = f"random_state={quoted(settings.random_state)}"
        msg = f"a run with checkpoint= or a DaskExecutor must be one that can be repeated, got {got}. Pass an integer."
        raise InputError(msg)
    if any(callable(value) for value in (settings.metric_params or {}).values()):
        msg = (
            "a run with checkpoint= or a DaskExecutor needs metric_params that are values, "
            "got a function. Leave it out."
        )
        raise InputError(msg)
    if callable(settings.metric):
        name = getattr(settings.metric, "__name__", type(settings.metric).__name__)
        msg = (
            f"a run with checkpoint= or a DaskExecutor needs a metric by its name, got the function {name}. Pass "
            "a name, or the graph as neighbors=."
        )
        raise InputError(msg)


def _check_lazy(samples: LazySamples, settings: Settings, automatic: frozenset[str]) -> None:
    if automatic:
        names = ", ".join(sorted(automatic))
        msg = (
            f"samples that workers read need settings that are known, got 'auto' for {names}. Choose them with "
            "hne.tuning.tune on a patch of samples near each other, as dense as the whole."
        )
        raise InputError(msg)
    if settings.metric == PRECOMPUTED:
        msg = "metric='precomputed' needs distances in memory, got samples that workers read. Pass a metric by name."
        raise InputError(msg)
    check_shape(samples.shape, settings)
    check_neighbors(samples, settings)


def _check_spreadable(samples: Samples) -> None:
    if issparse(samples) or isinstance(samples, Distances):
        kind = "distances" if isinstance(samples, Distances) else "a sparse X"
        msg = f"DaskExecutor needs a dense X, got {kind}. Reduce it first (TruncatedSVD), or leave the engine out."
        raise InputError(msg)
