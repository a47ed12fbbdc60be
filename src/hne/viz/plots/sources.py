"""A model or an array, and a color -> what is drawn: coordinates, edges, and an RGB color a sample with its meaning."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import BoolArray, Embedding, FloatArray, IndexArray, SparseMatrix
from hne.core.samples.check import check_matrix
from hne.exceptions import InputTypeError, MissingExtraError, quoted, refuse
from hne.viz.report.details import as_numbers, natural_order

# Part of matplotlib's plasma that stands out on white; its lightness rises throughout, so it survives print and
# color-blind eyes.
COLOR_MAP, COLOR_RANGE = "plasma", (0.02, 0.86)
# Ten colors that stay apart for color-blind eyes, in their author's order (Petroff 2021, arXiv:2107.02270).
PALETTE = (
    *("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6"),
    *("#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"),
)
# Lighter than all of them: what has no value, and groups beyond the tenth.
MISSING_COLOR, OTHER_COLOR = "#bfc3c8", "#d3c7ac"


def pyplot() -> ModuleType:
    """Import matplotlib's pyplot, or say what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        msg = "pictures need matplotlib, got none installed. Run: pip install matplotlib."
        raise MissingExtraError(msg) from error
    return plt


def result_of(model: Any) -> Embedding | None:
    """The record behind a fitted HNE, or an Embedding as it is; None of anything else."""
    result = model if isinstance(model, Embedding) else getattr(model, "_fitted", None)
    return result if isinstance(result, Embedding) else None


def check_result(model: Any, purpose: str) -> Embedding:
    """Return the record behind a model, which has more to show than coordinates."""
    result = result_of(model)
    if result is None:
        rule = f"must be a fitted HNE or what embed() gave for {purpose}"
        refuse("model", rule, type(model).__name__, "Pass HNE(...).fit(X)", InputTypeError)
    return result


def coordinates(model: Any, name: str = "model") -> FloatArray:
    """Return the coordinates (n, d) of a fitted model, an Embedding or an array; rows of NaN stay."""
    result = result_of(model)
    Y = getattr(model, "embedding_", model) if result is None else result.Y
    if Y is model and hasattr(model, "fit"):
        got = f"{type(model).__name__} without coordinates"
        refuse(name, "must be fitted or an array", got, "Call fit, or pass what it made of X")
    matrix = np.asarray(Y)
    if matrix.dtype.kind != "f" or matrix.ndim != 2 or not matrix.size:
        matrix = check_matrix(Y, name)
    is_lost = np.isnan(matrix).all(axis=1)
    if is_lost.all():
        refuse(name, "must have samples with coordinates", f"{len(matrix)} without any", "Pass at least one")
    checked = check_matrix(np.where(is_lost[:, None], 0.0, matrix), name)
    return np.where(is_lost[:, None], np.nan, checked)


def has_place(points: FloatArray) -> BoolArray:
    """Whether each row is finite, (n,)."""
    return np.asarray(np.isfinite(points).all(axis=1))


def axis_name(model: Any, column: int) -> str:
    """What an axis shows."""
    result = result_of(model)
    if result is None:
        return f"coordinate {column + 1}"
    note = {"chart": " (units of X)", "layout": " (neighborhoods, not distances)"}.get(result.settings.coordinates, "")
    return f"{result.axis} {column + 1}{note}"


def check_components(components: Sequence[int], d: int) -> tuple[int, int]:
    """Return the two columns to draw, of d that there are."""
    try:
        first, second = (int(column) for column in components)
    except (TypeError, ValueError):
        first = second = -1
    if not (0 <= first < d and 0 <= second < d):
        rule = f"must be two of the {d} coordinates, counted from 0"
        refuse("components", rule, quoted(components), "Try components=(0, 1)")
    return first, second


def inner_weights(model: Any) -> SparseMatrix:
    """Return the weights of the inner layer, (n, n)."""
    result = result_of(model)
    weights = getattr(model, "inner_weights_", None) if result is None else result.weights.W
    if weights is None:
        rule = "must be a fitted HNE or LinearHNE to have links"
        refuse("model", rule, type(model).__name__, "Pass HNE(...).fit(X)", InputTypeError)
    return weights


def edges(W: SparseMatrix) -> IndexArray:
    """Pairs (smaller, larger) of samples of which one is a neighbor of the other, each once, (m, 2)."""
    pairs = np.sort(np.column_stack(W.nonzero()), axis=1)
    return np.unique(pairs, axis=0).astype(np.intp, copy=False)


def position_colors(chart: FloatArray) -> FloatArray:
    """Color each sample by one or two coordinates: hue by the first, lightness by the second; (n, 3) RGB."""
    places = check_matrix(chart, "chart")
    colors = value_colors(places[:, 0])
    return colors if places.shape[1] == 1 else colors * (0.6 + 0.4 * _share(places[:, 1]))[:, None]


def value_colors(values: FloatArray) -> FloatArray:
    """Color each sample by one value, dark for the lowest; (n, 3) RGB."""
    values = check_matrix(np.reshape(values, (-1, 1)), "values")[:, 0]
    low, high = COLOR_RANGE
    return pyplot().get_cmap(COLOR_MAP)(low + (high - low) * _share(values))[:, :3]


def value_map() -> Any:
    """The color map of `value_colors`, for color bars."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(pyplot().get_cmap(COLOR_MAP)(np.linspace(*COLOR_RANGE, 256)), name="hne_values")


def _share(values: FloatArray) -> FloatArray:
    """Values from 0, the lowest, to 1, the highest."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low if high > low else 1.0)


@dataclass(frozen=True)
class Paint:
    """The colors of n samples, and where they come from."""

    colors: FloatArray  # (n, 3)
    name: str = ""  # of what the colors show
    values: FloatArray | None = None  # (n,), the numbers that they show; NaN for none
    groups: tuple[tuple[str, str], ...] = ()  # name and color of each group that they show
    codes: IndexArray | None = None  # (n,), the number of each sample's group
    is_muted: BoolArray | None = None  # (n,), without a value, or of no group of its own: drawn below the others

    def of(self, rows: Any) -> "Paint":
        """The paint of some of the samples."""
        columns = {name: getattr(self, name) for name in ("colors", "values", "codes", "is_muted")}
        return replace(self, **{name: column[rows] for name, column in columns.items() if column is not None})


def paint(color: Any, n: int, model: Any = None) -> Paint:
    """Return the paint of n samples: one color, numbers, groups, or colors as they are; else of the model's pieces."""
    result = result_of(model)
    if color is None and result is not None and result.pieces.count > 1:
        return _group_paint(result.pieces.labels.astype(str), "piece")
    name = str(getattr(color, "name", None) or "")
    if color is None or isinstance(color, str):
        return Paint(np.tile(_rgb(PALETTE[0] if color is None else color), (n, 1)), name)
    is_category = str(getattr(color, "dtype", "")) == "category"
    column = np.asarray(color, dtype=object) if is_category else np.asarray(color)
    is_rgb = column.ndim == 2 and column.shape[1] in (3, 4) and column.dtype.kind == "f"
    if column.ndim != 1 and not is_rgb:
        refuse("color", "must be one value for each sample", f"shape {column.shape}", "Pass one column")
    if len(column) != n:
        remedy = "Pass a column of the table that was embedded, all rows and in its order"
        refuse("color", f"must have one value for each of the {n} samples", str(len(column)), remedy)
    if is_rgb:
        return Paint(column[:, :3].astype(np.float64), name)
    values = None if is_category else _numbers(column)
    if values is None:
        return _group_paint(column, name)
    is_known = np.isfinite(values)
    colors = np.tile(_rgb(MISSING_COLOR), (n, 1))
    if is_known.any():
        colors[is_known] = value_colors(values[is_known])
    return Paint(colors, name, values=np.where(is_known, values, np.nan), is_muted=~is_known)


def _numbers(column: NDArray[Any]) -> FloatArray | None:
    """The values as numbers, NaN where there is none; nothing where they are names."""
    kind = column.dtype.kind
    if kind in "mM":
        remedy = "Pass color.astype('int64')"
        refuse("color", "must be numbers or names", f"values of {column.dtype}", remedy, InputTypeError)
    numbers = as_numbers(column) if kind == "O" else column
    return numbers.astype(np.float64) if numbers.dtype.kind in "iuf" else None


def _group_paint(column: NDArray[Any], name: str) -> Paint:
    """The ten most frequent groups have a color each, in the order of their names; others share one.

    By name, a group keeps its color when a few samples are left out.
    """
    words = np.array([str(one) for one in column])
    # None, NaN and pandas' NA, which are texts where NumPy has made them so.
    is_gone = np.isin(words, ["nan", "<NA>", "NaT"]) | np.array([one is None for one in column], dtype=bool)
    names, counts = np.unique(words[~is_gone], return_counts=True)
    by_count = names[np.argsort(-counts, kind="stable")]
    colored = natural_order(by_count[: len(PALETTE)].tolist())
    groups = [(word, color) for word, color in zip(colored, PALETTE, strict=False)]
    codes = np.full(len(words), len(colored), dtype=np.intp)
    for number, word in enumerate(colored):
        codes[words == word] = number
    if len(by_count) > len(PALETTE):
        groups.append((f"other ({len(by_count) - len(PALETTE)})", OTHER_COLOR))
    if is_gone.any():
        groups.append(("missing", MISSING_COLOR))
    codes[is_gone] = len(groups) - 1
    palette = np.array([_rgb(color) for _, color in groups])
    return Paint(palette[codes], name, groups=tuple(groups), codes=codes, is_muted=codes >= len(colored))


def _rgb(color: str) -> FloatArray:
    from matplotlib.colors import is_color_like, to_rgb

    if not is_color_like(color):
        rule = "must be a color of matplotlib or one value for each sample"
        refuse("color", rule, quoted(color), "Pass the column itself, not its name")
    return np.asarray(to_rgb(color), dtype=np.float64)
