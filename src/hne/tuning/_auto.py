"""Wishes -> settings: what is "auto" is chosen by looking at the samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hne._progress import shown, stage
from hne._samples import Samples
from hne._start import at_places
from hne._threads import library_threads, thread_count
from hne._types import Settings
from hne._yardstick import dimension_of
from hne.exceptions import InputError
from hne.tuning._grid import GRID, check_grid
from hne.tuning._record import Tuning
from hne.tuning._tune import tuned


@dataclass(frozen=True)
class Settled:
    """Settings without "auto", and what they were chosen by."""

    settings: Settings
    tuning: Tuning | None = None


def n_stages(automatic: frozenset[str]) -> int:
    """Stages that `settled` tells of."""
    return ("n_components" in automatic) + bool(automatic & GRID.keys())


def settled(X: Samples, settings: Settings, automatic: frozenset[str]) -> Settled:
    """Choose what is to be chosen for checked samples: first the dimension, then the rest for it."""
    if "n_components" in automatic:
        settings = replace(settings, n_components=_dimension(X, settings))
    names = automatic & GRID.keys()
    if not names:
        return Settled(settings)
    found = tuned(X, settings, check_grid(None, settings, names))
    return Settled(replace(settings, **found.best.parameters), found)


def _dimension(X: Samples, settings: Settings) -> int:
    """The intrinsic dimension of checked samples, below the number of places."""
    n_threads = thread_count(settings.n_jobs)
    _, _, places, settings = at_places(X, settings)
    with library_threads(n_threads), shown(settings.verbose):
        found = stage("dimension", dimension_of, places, settings.metric, settings.metric_params, n_threads)
    if found is None:
        msg = (
            f"n_components='auto' needs more different samples to tell their dimension by, got {places.shape[0]}. "
            "Give n_components."
        )
        raise InputError(msg)
    dimension: int = found.dimension
    return dimension
