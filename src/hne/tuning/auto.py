"""Settings with "auto" among them -> settings: chosen by looking at the samples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from hne.core.records import Settings
from hne.core.samples.kinds import Samples
from hne.tuning.grid import GRID, check_grid, found_dimension
from hne.tuning.record import Tuning
from hne.tuning.tune import tuned


def resolve_auto(
    X: Samples, settings: Settings, auto: frozenset[str], unset: Collection[str] = ()
) -> tuple[Settings, Tuning | None]:
    """Choose what is "auto" for checked samples: first the dimension, then the rest for it; `unset` is left open."""
    if "n_components" in auto:
        settings = replace(settings, n_components=found_dimension(X, settings))
    names = auto & GRID.keys()
    if not names:
        return settings, None
    found = tuned(X, settings, check_grid(None, settings, names), unset=unset)
    return replace(settings, **found.best.parameters), found
