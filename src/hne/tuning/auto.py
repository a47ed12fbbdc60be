"""Wishes -> settings: what is "auto" is chosen by looking at the samples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from hne.core.records import Settings
from hne.core.samples.kinds import Samples
from hne.tuning.grid import GRID, check_grid, found_dimension
from hne.tuning.record import Tuning
from hne.tuning.tune import tuned


@dataclass(frozen=True)
class Settled:
    """Settings without "auto", and what they were chosen by."""

    settings: Settings
    tuning: Tuning | None = None
    is_chosen: bool = False  # whether all of variant, n_neighbors and reg were chosen


def n_stages(automatic: frozenset[str]) -> int:
    """Stages that `settled` tells of."""
    return ("n_components" in automatic) + bool(automatic & GRID.keys())


def settled(X: Samples, settings: Settings, automatic: frozenset[str], unset: Collection[str] = ()) -> Settled:
    """Choose what is "auto" for checked samples: first the dimension, then the rest for it; `unset` is left open."""
    if "n_components" in automatic:
        settings = replace(settings, n_components=found_dimension(X, settings))
    names = automatic & GRID.keys()
    if not names:
        return Settled(settings)
    found = tuned(X, settings, check_grid(None, settings, names), unset=unset)
    return Settled(replace(settings, **found.best.parameters), found, is_chosen=names == GRID.keys())
