"""Samples, a user's grid -> the settings to try."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from hne.core.parameters import check_settings
from hne.exceptions import InputTypeError, quoted, refuse
from hne.settings import NEAR_SURFACE, VARIANTS, Settings, suited
from hne.tuning.record import Candidate

# Values by name; None for those that are usual.
Grid = dict[str, tuple[Any, ...] | None]

# Charts near a surface, 24 settings. On 21 data sets their choice has a mean error of .0048, that of 105 (k from 4 on,
# reg from 1e-5 to .1) .0055, the defaults .0174.
GRID: dict[str, tuple[Any, ...]] = {"variant": VARIANTS, "n_neighbors": (8, 10, 12, 16), "reg": (1e-3, 1e-4)}
# Charts elsewhere, 8 settings. On 24 tables and image sets their choice misses .109 of the truth, that of 105 settings
# .118, the defaults .115: the score says less there.
GRID_ELSEWHERE: dict[str, tuple[Any, ...]] = {"variant": ("ihne",), "n_neighbors": (4, 5, 6, 8), "reg": (0.1, 0.01)}
# Without charts, 84 settings: with reg 1e-6 and 1e-7 beside them, the choice is no better.
GRID_OF_EIGENVECTORS: dict[str, tuple[Any, ...]] = {
    "variant": VARIANTS,
    "n_neighbors": (4, 5, 6, 7, 8, 10, 12),
    "reg": (1e-2, 1e-3, 1e-4, 1e-5),
}


def check_grid(grid: Mapping[str, Any] | None, settings: Settings, auto: Collection[str]) -> Grid:
    """Values to try: those of the grid, one where a setting is fixed, None for the usual ones."""
    if not isinstance(grid, Mapping | None):
        remedy = "Try grid={'n_neighbors': [6, 8, 10]}"
        refuse("grid", "must be a dict of lists", quoted(grid), remedy, InputTypeError)
    grid = grid or {}
    unknown = sorted(set(grid) - set(GRID), key=str)
    if unknown:
        refuse("grid", "must have the keys variant, n_neighbors and reg", quoted(unknown[0]), "Drop it")
    fixed = {name: None if name in auto else (getattr(settings, name),) for name in GRID}
    return {name: _check_values(name, grid[name]) if name in grid else fixed[name] for name in GRID}


def _check_values(name: str, values: Any) -> tuple[Any, ...]:
    values = (values,) if isinstance(values, str) or not isinstance(values, Iterable) else tuple(values)
    if not values or None in values:
        got = "None among them" if values else "none"
        refuse("grid", f"must have a value for {name} at least", got, "Leave the key out for the usual ones")
    return tuple(dict.fromkeys(getattr(check_settings({name: value}), name) for value in values))


def candidates(
    values: Grid, settings: Settings, unset: Collection[str], flat_share: float, n_samples: int
) -> list[Candidate]:
    """The settings to try for samples so much of whose local variance lies in tangent planes.

    Those that were left open are as they suit the samples, reg also the neighbors beside it.
    """
    usual = GRID if settings.coordinates == "chart" else GRID_OF_EIGENVECTORS
    if settings.coordinates == "chart" and flat_share < NEAR_SURFACE:
        usual = GRID_ELSEWHERE
    tried = [
        (getattr(settings, name),) if name in unset else usual[name] if some is None else some
        for name, some in values.items()
    ]
    wanted = [Candidate(**dict(zip(values, one, strict=True))) for one in product(*tried)]
    if "reg" not in unset:
        return wanted
    by_neighbors = {
        k: suited(replace(settings, n_neighbors=k), ["reg"], flat_share, n_samples).reg
        for k in {one.n_neighbors for one in wanted}
    }
    return [one._replace(reg=by_neighbors[one.n_neighbors]) for one in wanted]
