"""The settings that a search goes through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

from hne._quoted import quoted
from hne._types import VARIANTS, Settings
from hne._validation import check_choice, check_integer, check_positive
from hne.exceptions import InputError, InputTypeError

# 84 settings: with reg 1e-6 and 1e-7 beside them, the choice is no better.
GRID: dict[str, tuple[Any, ...]] = {
    "variant": VARIANTS,
    "n_neighbors": (4, 5, 6, 7, 8, 10, 12),
    "reg": (1e-2, 1e-3, 1e-4, 1e-5),
}


def check_grid(grid: Mapping[str, Iterable[Any]] | None, settings: Settings, automatic: Iterable[str]) -> list[Any]:
    """Values of variant, n_neighbors and reg to try: those of the grid, or one where a setting is fixed."""
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
    found = []
    for name, default in GRID.items():
        if name not in given:
            found.append(default if name in automatic else (getattr(settings, name),))
            continue
        values = given[name]
        values = (values,) if isinstance(values, str) or not isinstance(values, Iterable) else tuple(values)
        if not values:
            msg = f"grid must have a value for {name} at least, got none. Leave the key out for the usual ones."
            raise InputError(msg)
        found.append(tuple(dict.fromkeys(checks[name](value) for value in values)))
    return found


def settings_of(grid: list[Any]) -> list[tuple[str, int, float]]:
    """All settings of a grid: variant, n_neighbors, reg."""
    return list(product(*grid))
