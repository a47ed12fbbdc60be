"""Points and Paint -> marks on axes: dots, small dots of many samples, or how dense they lie; and the key to colors."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hne.core.records import FloatArray, IndexArray
from hne.viz.plots.colors import value_map
from hne.viz.plots.paint import Paint
from hne.viz.plots.panels import LINK_COLOR

# Beyond the first number dots are small and drawn as pixels, which keeps PDF files small; beyond the second they would
# cover each other, and cells show how many there are.
MANY, TOO_MANY = 20_000, 200_000
# Cells along the longer side: two pixels each at the default size.
CELLS = 240
NOTE_COLOR = "#5f6368"
DENSITY = "samples a cell"


@dataclass(frozen=True)
class Bar:
    """What a color bar shows."""

    scale: Any  # matplotlib's norm and color map
    label: str


def draw_points(axes: Any, points: FloatArray, paint: Paint, *, size: float | None = None) -> Bar | None:
    """Draw the points, muted ones below; return what a color bar needs, None for a legend or nothing."""
    if len(points) > TOO_MANY:
        return _draw_density(axes, points, paint)
    n = len(points)
    order = np.arange(n) if paint.is_muted is None else np.argsort(~paint.is_muted, kind="stable")
    style: dict[str, Any] = {"linewidths": 0.3 if n <= 2_000 else 0.0, "edgecolors": "white", "zorder": 2}
    axes.scatter(*points[order].T, c=paint.colors[order], s=size or dot_size(n), rasterized=n > MANY, **style)
    return None if paint.values is None else _bar(paint.values, paint.name)


def dot_size(n: int) -> float:
    """Area of a dot in square points: that of a few hundred samples, then less for more."""
    return 1.5 if n > MANY else float(np.clip(22 * np.sqrt(500 / n), 3.0, 22.0))


def draw_links(axes: Any, points: FloatArray, links: IndexArray, **style: Any) -> Any:
    """Draw lines between pairs of points, those that have no place left out; return the lines."""
    from matplotlib.collections import LineCollection

    segments = points[links]
    shown = segments[np.isfinite(segments).all(axis=(1, 2))]
    given: dict[str, Any] = {
        "colors": LINK_COLOR,
        "linewidths": 0.5,
        "alpha": 0.6,
        "zorder": 1,
        "rasterized": len(points) > MANY,
    }
    return axes.add_collection(LineCollection(list(shown), **(given | style)))


def draw_key(axes: Any, paint: Paint, bar: Bar | None, *, among: Any = None) -> None:
    """Put a color bar or a legend beside the axes, or beside all of a figure."""
    if bar is not None:
        drawn = axes.figure.colorbar(bar.scale, ax=axes if among is None else among, shrink=0.85, aspect=28, pad=0.02)
        drawn.set_label(bar.label, fontsize=9)
        drawn.ax.tick_params(labelsize=8)
        drawn.outline.set_visible(False)
    elif paint.groups:
        legend_of(axes, [(name, color, "o") for name, color in paint.shown_groups()], paint.name, among=among)


def legend_of(axes: Any, entries: list[tuple[str, str, str]], title: str = "", *, among: Any = None) -> None:
    """Put a legend of names, colors and marks beside the axes, or beside all of a figure."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, label=name, linestyle="none", marker=mark) for name, color, mark in entries]
    style: dict[str, Any] = {"title": title, "frameon": False, "fontsize": 8.5, "title_fontsize": 9, "markerscale": 0.9}
    if among is None:
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, **style)
    else:
        axes.figure.legend(handles=handles, loc="outside right upper", **style)


def note(axes: Any, text: str, *, below: bool = False) -> None:
    """Write a remark above the axes, or below, at its right end."""
    if text:
        style = {"ha": "right", "va": "top" if below else "bottom", "fontsize": 8, "color": NOTE_COLOR}
        place = ((1.0, 0.0), (0, -4)) if below else ((1.0, 1.0), (0, 4))
        axes.annotate(text, *place, xycoords="axes fraction", textcoords="offset points", **style)


def _bar(values: FloatArray, name: str) -> Bar | None:
    """The color bar of these values, where there are any."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    known = values[np.isfinite(values)]
    return Bar(ScalarMappable(Normalize(known.min(), known.max()), value_map()), name) if known.size else None


def _draw_density(axes: Any, points: FloatArray, paint: Paint) -> Bar | None:
    """Cells with the color of most of their samples, the mean of their values, or how many they are."""
    from matplotlib.colors import LogNorm

    low, reach = points.min(axis=0), np.maximum(np.ptp(points, axis=0), np.finfo(float).tiny)
    width, height = np.maximum(1, np.round(CELLS * reach / reach.max())).astype(np.intp)
    columns, rows = np.minimum((points - low) / reach * [width, height], [width - 1, height - 1]).astype(np.intp).T
    cells = rows * width + columns
    counts = np.bincount(cells, minlength=width * height)
    extent = (low[0], low[0] + reach[0], low[1], low[1] + reach[1])
    place: dict[str, Any] = {"extent": extent, "origin": "lower", "interpolation": "nearest", "aspect": "auto"}
    if paint.codes is not None:
        axes.imshow(_majority(cells, paint.codes, paint.groups, len(counts)).reshape(height, width, 4), **place)
        return None
    place["cmap"] = value_map()
    if paint.values is not None:
        means = _means(cells, paint.values, len(counts)).reshape(height, width)
        return Bar(axes.imshow(means, **place), f"mean of {paint.name or 'color'}")
    shown = np.where(counts > 0, counts, np.nan).reshape(height, width)
    return Bar(axes.imshow(shown, norm=LogNorm(1, max(2, counts.max())), **place), DENSITY)


def _means(cells: IndexArray, values: FloatArray, n_cells: int) -> FloatArray:
    """Mean of the values in each cell, NaN where there are none."""
    known = np.isfinite(values)
    sums = np.bincount(cells[known], values[known], minlength=n_cells)
    counts = np.bincount(cells[known], minlength=n_cells)
    means: FloatArray = np.divide(sums, counts, out=np.full(n_cells, np.nan), where=counts > 0)
    return means


def _majority(cells: IndexArray, codes: IndexArray, groups: tuple[tuple[str, str], ...], n_cells: int) -> FloatArray:
    """RGBA of the group with most samples in each cell, nothing where there are none."""
    from matplotlib.colors import to_rgba

    counts = np.bincount(cells * len(groups) + codes, minlength=n_cells * len(groups)).reshape(n_cells, -1)
    palette = np.array([to_rgba(color) for _, color in groups])
    colors: FloatArray = palette[counts.argmax(axis=1)]
    colors[counts.sum(axis=1) == 0] = 0.0
    return colors
