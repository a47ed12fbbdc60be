"""What a user gives as color -> Paint: an RGB color a sample, and what a color bar or a legend has to say of it."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import BoolArray, FloatArray, IndexArray
from hne.exceptions import InputError, InputTypeError, quoted
from hne.viz.plots.colors import value_colors

# Ten colors that stay apart for color-blind eyes, in their author's order (Petroff 2021, arXiv:2107.02270).
PALETTE = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#94a4a2",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#92dadd",
)
# Lighter than all of them: what has no value, and groups beyond the tenth.
MISSING_COLOR, OTHER_COLOR = "#bfc3c8", "#d3c7ac"
MISSING, OTHER = "missing", "other"


@dataclass(frozen=True)
class Paint:
    """The colors of n samples, and where they come from."""

    colors: FloatArray  # (n, 3)
    name: str = ""  # of what the colors show
    values: FloatArray | None = None  # (n,), the numbers that they show; NaN for none
    groups: tuple[tuple[str, str], ...] = ()  # name and color of each group that they show
    codes: IndexArray | None = None  # (n,), the number of each sample's group
    is_muted: BoolArray | None = None  # (n,), without a value, or of no group of its own: drawn below the others

    def of(self, kept: BoolArray) -> "Paint":
        """The paint of some of the samples."""
        values = None if self.values is None else self.values[kept]
        codes = None if self.codes is None else self.codes[kept]
        is_muted = None if self.is_muted is None else self.is_muted[kept]
        return Paint(self.colors[kept], self.name, values, self.groups, codes, is_muted)

    def shown_groups(self) -> list[tuple[str, str]]:
        """Name and color of the groups that have samples."""
        present = set() if self.codes is None else set(self.codes.tolist())
        return [group for number, group in enumerate(self.groups) if number in present]


def paint(color: Any, n: int, name: str | None = None) -> Paint:
    """Return the paint of n samples: one color, numbers, groups, or colors as they are."""
    name = str(getattr(color, "name", None) or "") if name is None else name
    if color is None or isinstance(color, str):
        return Paint(np.tile(_rgb(PALETTE[0] if color is None else color), (n, 1)), name)
    is_category = str(getattr(color, "dtype", "")) == "category"
    given = np.asarray(color, dtype=object) if is_category else np.asarray(color)
    if given.ndim == 2 and given.shape[1] in (3, 4) and given.dtype.kind == "f":
        _check_length(len(given), n)
        return Paint(given[:, :3].astype(np.float64), name)
    if given.ndim != 1:
        msg = f"color must be one value for each sample, got shape {given.shape}. Pass one column."
        raise InputError(msg)
    _check_length(len(given), n)
    values = None if is_category else _numbers(given)
    return _of_groups(given, name) if values is None else _of_values(values, name)


def piece_paint(labels: IndexArray) -> Paint:
    """Return the paint of samples by the piece that they are in."""
    return _of_groups(labels.astype(str), "piece")


def _check_length(got: int, n: int) -> None:
    if got != n:
        msg = (
            f"color must have one value for each of the {n} samples, got {got}. "
            "Pass a column of the table that was embedded, all rows and in its order."
        )
        raise InputError(msg)


def _numbers(given: NDArray[Any]) -> FloatArray | None:
    """The values as numbers, NaN where there is none; nothing where they are names."""
    if given.dtype.kind in "mM":
        msg = f"color must be numbers or names, got values of {given.dtype}. Pass color.astype('int64')."
        raise InputTypeError(msg)
    if given.dtype.kind in "biuf":
        return None if given.dtype.kind == "b" else given.astype(np.float64)
    if given.dtype.kind != "O":
        return None
    is_gone = _is_missing(given)
    if is_gone.all() or not all(_is_number(value) for value in given[~is_gone]):
        return None
    return np.array([np.nan if gone else float(value) for gone, value in zip(is_gone, given, strict=True)])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _is_missing(given: NDArray[Any]) -> BoolArray:
    """Which values are None, NaN or pandas' NA."""
    return np.array([value is None or str(value) in {"nan", "<NA>", "NaT"} for value in given], dtype=bool)


def _of_values(values: FloatArray, name: str) -> Paint:
    known = np.isfinite(values)
    colors = np.tile(_rgb(MISSING_COLOR), (len(values), 1))
    if known.any():
        colors[known] = value_colors(values[known])
    return Paint(colors, name, values=np.where(known, values, np.nan), is_muted=~known)


def _of_groups(given: NDArray[Any], name: str) -> Paint:
    """The ten most frequent groups have colors of their own, in the order of their names; others share one.

    By name, a group keeps its color when a few samples are left out.
    """
    words, is_gone = np.array([str(value) for value in given]), _is_missing(given)
    found, counts = np.unique(words[~is_gone], return_counts=True)
    by_count = found[np.argsort(-counts, kind="stable")]
    own, shared = sorted(by_count[: len(PALETTE)], key=_in_order), by_count[len(PALETTE) :]
    groups = [*zip(own, PALETTE, strict=False)]
    codes = np.full(len(words), len(own), dtype=np.intp)
    for number, word in enumerate(own):
        codes[words == word] = number
    if len(shared):
        groups.append((f"{OTHER} ({len(shared)})", OTHER_COLOR))
    if is_gone.any():
        groups.append((MISSING, MISSING_COLOR))
    codes[is_gone] = len(groups) - 1
    palette = np.array([_rgb(color) for _, color in groups])
    labeled = tuple((str(word), color) for word, color in groups)
    return Paint(palette[codes], name, groups=labeled, codes=codes, is_muted=codes >= len(own))


def _in_order(word: str) -> list[tuple[int, float, str]]:
    """A key by which names sort as people count: 2 before 10."""
    parts = re.split(r"(\d+)", word)
    return [(0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in parts if part]


def _rgb(color: str) -> FloatArray:
    from matplotlib.colors import to_rgb

    try:
        return np.asarray(to_rgb(color), dtype=np.float64)
    except ValueError:
        msg = (
            f"color must be a color of matplotlib or one value for each sample, got {quoted(color)}. "
            "Pass the column itself, not its name."
        )
        raise InputError(msg) from None
