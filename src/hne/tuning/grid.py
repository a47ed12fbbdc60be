"""X -> the number of coordinates to find, where nobody gave one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

from hne._runtime.progress import advise, run_stage, show_progress
from hne._runtime.threads import limit_blas_threads, thread_count
from hne.core.neighbors.graph import canonicalize
from hne.core.parameters import check_choice, check_integer, check_positive
from hne.core.records import VARIANTS, Settings
from hne.core.samples.kinds import Samples
from hne.core.tangent.score import LocalGeometry
from hne.exceptions import InputError, InputTypeError, quoted
from hne.settings import NEAR_SURFACE


def found_dimension(X: Samples, settings: Settings) -> int:
    """The intrinsic dimension of checked samples, below the number of places."""
    n_threads = thread_count(settings.n_jobs)
    _, _, places, settings = canonicalize(X, settings)
    with limit_blas_threads(n_threads), show_progress(settings.verbose):
        found = run_stage("dimension", lambda: LocalGeometry.of(places, settings, n_threads).dimension)
    if found is None:
        msg = (
            f"n_components='auto' needs more different samples to tell their dimension by, got {places.shape[0]}. "
            "Give n_components."
        )
        raise InputError(msg)
    if not found.is_agreed:
        msg = (
            f"n_components='auto' takes the samples' own dimension, got two estimates that do not agree: {found}. "
            "Look at others as well."
        )
        advise(msg)
    dimension: int = found.dimension
    return dimension


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


def usual_grid(settings: Settings, flat_share: float) -> dict[str, tuple[Any, ...]]:
    """The values that are tried of samples so much of whose local variance lies in tangent planes."""
    if settings.coordinates != "chart":
        return GRID_OF_EIGENVECTORS
    return GRID_ELSEWHERE if flat_share < NEAR_SURFACE else GRID


def check_grid(grid: Mapping[str, Iterable[Any]] | None, settings: Settings, automatic: Iterable[str]) -> list[Any]:
    """Values of variant, n_neighbors and reg to try: of the grid, one where a setting is fixed, None for the usual."""
    given = {} if grid is None else grid
    if not isinstance(given, Mapping):
        msg = f"grid must be a dict of lists, got {given!r:.80}. Try grid={{'n_neighbors': [6, 8, 10]}}."
        raise InputTypeError(msg)
    unknown = sorted(set(given) - set(GRID), key=str)
    if unknown:
        msg = f"grid must have the keys variant, n_neighbors and reg, got {quoted(unknown[0])}. Drop it."
        raise InputError(msg)
    checks: dict[str, Callable[[Any], Any]] = {
        "variant": lambda value: check_choice("variant", value, VARIANTS),
        "n_neighbors": lambda value: check_integer("n_neighbors", value, 1, "Try n_neighbors=6"),
        "reg": lambda value: check_positive("reg", value, "Try reg=1e-4"),
    }
    found: list[tuple[Any, ...] | None] = []
    for name in GRID:
        if name not in given:
            found.append(None if name in automatic else (getattr(settings, name),))
            continue
        values = given[name]
        values = (values,) if isinstance(values, str) or not isinstance(values, Iterable) else tuple(values)
        if not values:
            msg = f"grid must have a value for {name} at least, got none. Leave the key out for the usual ones."
            raise InputError(msg)
        found.append(tuple(dict.fromkeys(checks[name](value) for value in values)))
    return found


def settings_of(grid: Iterable[Iterable[Any]]) -> list[tuple[str, int, float]]:
    """All settings of a grid: variant, n_neighbors, reg."""
    return list(product(*grid))
