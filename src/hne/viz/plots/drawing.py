"""Points and their paint -> marks on matplotlib's axes: dots, lines, cells, the key to colors; and whole panels."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from hne.core.records import FloatArray, IndexArray
from hne.core.samples.check import check_matrix
from hne.exceptions import InputTypeError, refuse
from hne.viz.plots.sources import Paint, has_place, pyplot, value_map

# Beyond the first number dots are small and drawn as pixels, which keeps PDF files small; beyond the second they would
# cover each other, and cells show how many there are.
MANY, TOO_MANY = 20_000, 200_000
# Cells along the longer side: two pixels each at the default size.
CELLS = 240
LINK_COLOR, NOTE_COLOR = "#9aa0a6", "#5f6368"
DENSITY = "samples a cell"


@dataclass(frozen=True)
class Key:
    """What a color bar or a legend says; neither where there is no scale and no entry."""

    label: str = ""
    scale: Any = None  # matplotlib's norm and color map, of a color bar
    entries: Sequence[tuple[str, ...]] = ()  # name and color of each group, and its mark unless a dot, of a legend


def check_axes(axes: Any) -> Any:
    """Return the axes to draw on: those passed, or of a new figure."""
    if axes is None:
        return pyplot().subplots(figsize=(6.4, 4.8), layout="constrained")[1]
    if not hasattr(axes, "add_collection"):
        remedy = "Pass one of those that plt.subplots() gave"
        refuse("axes", "must be one Axes of matplotlib or None", type(axes).__name__, remedy, InputTypeError)
    return axes


def draw_points(axes: Any, points: FloatArray, paint: Paint, *, size: float | None = None) -> Key:
    """Draw the points that have a place, muted ones below; return the key to their colors."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    kept = has_place(points)
    points, paint = points[kept], paint.of(kept)
    n = len(points)
    # Names and colors of those groups that have samples.
    present = () if paint.codes is None else np.unique(paint.codes)
    legend = Key(paint.name, entries=tuple(paint.groups[code] for code in present))
    if n > TOO_MANY:
        return _draw_density(axes, points, paint, legend)
    order = np.arange(n) if paint.is_muted is None else np.argsort(~paint.is_muted, kind="stable")
    style: dict[str, Any] = {"linewidths": 0.3 if n <= 2_000 else 0.0, "edgecolors": "white", "zorder": 2}
    axes.scatter(*points[order].T, c=paint.colors[order], s=size or dot_size(n), rasterized=n > MANY, **style)
    if paint.values is None:
        return legend
    known = paint.values[np.isfinite(paint.values)]
    scale = ScalarMappable(Normalize(known.min(), known.max()), value_map()) if known.size else None
    return Key(paint.name, scale)


def dot_size(n: int) -> float:
    """Area of a dot in square points: that of a few hundred samples, then less for more."""
    return 1.5 if n > MANY else float(np.clip(22 * np.sqrt(500 / n), 3.0, 22.0))


def _draw_density(axes: Any, points: FloatArray, paint: Paint, legend: Key) -> Key:
    """Cells with the color of most of their samples, the mean of their values, or how many they are."""
    from matplotlib.colors import LogNorm, to_rgba

    low, reach = points.min(axis=0), np.maximum(np.ptp(points, axis=0), np.finfo(float).tiny)
    width, height = np.maximum(1, np.round(CELLS * reach / reach.max())).astype(np.intp)
    columns, rows = np.minimum((points - low) / reach * [width, height], [width - 1, height - 1]).astype(np.intp).T
    cells, n_cells = rows * width + columns, width * height
    counts = np.bincount(cells, minlength=n_cells)
    extent = (low[0], low[0] + reach[0], low[1], low[1] + reach[1])
    style: dict[str, Any] = {"extent": extent, "origin": "lower", "interpolation": "nearest", "aspect": "auto"}
    if paint.codes is not None:
        n_groups = len(paint.groups)
        members = np.bincount(cells * n_groups + paint.codes, minlength=n_cells * n_groups).reshape(n_cells, -1)
        colors = np.array([to_rgba(color) for _, color in paint.groups])[members.argmax(axis=1)]
        colors[counts == 0] = 0.0
        axes.imshow(colors.reshape(height, width, 4), **style)
        return legend
    style["cmap"] = value_map()
    if paint.values is not None:
        known = np.isfinite(paint.values)
        sums = np.bincount(cells[known], paint.values[known], minlength=n_cells)
        n_known = np.bincount(cells[known], minlength=n_cells)
        means = np.divide(sums, n_known, out=np.full(n_cells, np.nan), where=n_known > 0)
        return Key(f"mean of {paint.name or 'color'}", axes.imshow(means.reshape(height, width), **style))
    shown = np.where(counts > 0, counts, np.nan).reshape(height, width)
    return Key(DENSITY, axes.imshow(shown, norm=LogNorm(1, max(2, counts.max())), **style))


def draw_links(axes: Any, points: FloatArray, links: IndexArray, **style: Any) -> None:
    """Draw lines between pairs of points, in the plane or in space, those that have no place left out."""
    from matplotlib.collections import LineCollection
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    segments = points[links]
    shown = list(segments[np.isfinite(segments).all(axis=(1, 2))])
    usual: dict[str, Any] = {"colors": LINK_COLOR, "linewidths": 0.5, "alpha": 0.6, "zorder": 1}
    style = {**usual, "rasterized": len(points) > MANY, **style}
    if points.shape[1] == 2:
        axes.add_collection(LineCollection(shown, **style))
    else:
        axes.add_collection3d(Line3DCollection(shown, **style))


def draw_key(axes: Any, key: Key, *, among: Any = None) -> None:
    """Put a color bar or a legend beside the axes, or beside all of a figure."""
    from matplotlib.lines import Line2D

    if key.scale is not None:
        bar = axes.figure.colorbar(key.scale, ax=axes if among is None else among, shrink=0.85, aspect=28, pad=0.02)
        bar.set_label(key.label, fontsize=9)
        bar.ax.tick_params(labelsize=8)
        bar.outline.set_visible(False)
    elif key.entries:
        handles = [
            Line2D([], [], color=color, label=name, linestyle="none", marker=mark[0] if mark else "o")
            for name, color, *mark in key.entries
        ]
        style: dict[str, Any] = {"title": key.label, "frameon": False, "fontsize": 8.5, "title_fontsize": 9}
        style |= {"handles": handles, "markerscale": 0.9}
        if among is None:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, **style)
        else:
            axes.figure.legend(loc="outside right upper", **style)


def note(axes: Any, remarks: Sequence[str], *, below: bool = False) -> None:
    """Write remarks above the axes, or below, at the right end."""
    if remarks:
        style = {"ha": "right", "va": "top" if below else "bottom", "fontsize": 8, "color": NOTE_COLOR}
        place = ((1.0, 0.0), (0, -4)) if below else ((1.0, 1.0), (0, 4))
        axes.annotate(", ".join(remarks), *place, xycoords="axes fraction", textcoords="offset points", **style)


def finish(axes: Any, labels: Sequence[str], title: str | None, *, is_plane: bool = False, units: bool = True) -> Any:
    """Write at the axes and above; a plane has one scale, and ticks only where units of coordinates mean something."""
    if is_plane:
        axes.set_aspect("equal", adjustable="datalim")
    if units:
        axes.tick_params(labelsize=8, color=LINK_COLOR)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    else:
        bare(axes)
    axes.set_xlabel(labels[0], fontsize=9)
    axes.set_ylabel(labels[1], fontsize=9)
    if title is not None:
        axes.set_title(title, fontsize=11, loc="left")
    return axes


def bare(axes: Any) -> Any:
    """Take ticks away and leave a thin frame."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("#d0d0d0")
    return axes


def oriented(Y: FloatArray, chart: FloatArray, *, stretched: bool = True) -> FloatArray:
    """Turn and mirror Y to the true chart; `stretched`, each axis also gets the spread that the chart has there.

    The columns of Y are eigenvectors, and its orientation is free, so this changes nothing that the method decides.
    """
    Y, chart = check_matrix(Y, "Y"), check_matrix(chart, "chart")
    if Y.shape != chart.shape:
        remedy = "Pass as many true coordinates as columns"
        refuse("chart", f"must have the shape of Y, {Y.shape}", str(chart.shape), remedy)
    lengths, spread = (matrix.std(axis=0) if stretched else np.ones(Y.shape[1]) for matrix in (Y, chart))
    source = (Y - Y.mean(axis=0)) / np.where(lengths > 0, lengths, 1.0)
    rotation, _ = orthogonal_procrustes(source, (chart - chart.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
    return np.asarray(source @ rotation * spread)


def embedding_panel(
    axes: Any,
    Y: FloatArray,
    colors: FloatArray,
    neighbors: IndexArray | None = None,
    title: str = "",
    *,
    size: float = 18,
    equal: bool = True,
) -> Any:
    """Draw an embedding in the plane, thin lines to the `neighbors` (n, k) underneath; return the axes.

    `size` is that of the points. Not `equal`, each axis is stretched to the panel, as suits eigenvectors.
    """
    Y = _draw_neighbors(axes, Y, 2, "Y", neighbors)
    axes.scatter(*Y.T, c=colors, s=size, linewidths=0.3, edgecolors="white", zorder=2)
    axes.set_title(title, fontsize=11, loc="left")
    if equal:
        axes.set_aspect("equal", adjustable="datalim")
    return bare(axes)


def space_panel(
    axes: Any,
    X: FloatArray,
    colors: FloatArray,
    title: str = "",
    *,
    neighbors: IndexArray | None = None,
    size: float = 26,
    view: tuple[float, float] = (10, -68),
) -> Any:
    """Draw samples in three dimensions, by default seen along the roll's axis; return the axes.

    `view` is the elevation and the azimuth of the eye, in degrees.
    """
    X = _draw_neighbors(axes, X, 3, "X", neighbors)
    axes.scatter(*X.T, c=colors, s=size, linewidths=0.4, edgecolors="white", depthshade=False)
    axes.set_title(title, fontsize=11)
    axes.view_init(elev=view[0], azim=view[1])
    axes.set_box_aspect(np.ptp(X, axis=0), zoom=1.25)
    axes.set_axis_off()
    return axes


def empty_panel(axes: Any, reason: str, title: str = "", *, line: int = 32) -> Any:
    """Draw nothing but the reason why there is nothing to draw, in lines of so many letters; return the axes."""
    axes.set_title(title, fontsize=11, loc="left")
    style = {"ha": "center", "va": "center", "fontsize": 8, "color": NOTE_COLOR}
    axes.text(0.5, 0.5, fill(reason, line), transform=axes.transAxes, **style)
    axes.set_facecolor("#f6f6f6")
    return bare(axes)


def _draw_neighbors(axes: Any, matrix: FloatArray, count: int, name: str, neighbors: IndexArray | None) -> FloatArray:
    """Return the first columns of a matrix, with lines drawn between each row and its neighbors (n, k)."""
    points = check_matrix(matrix, name)[:, :count]
    if points.shape[1] < count:
        rule = f"must have at least {count} columns to be drawn"
        refuse(name, rule, str(points.shape[1]), f"Embed in {count} dimensions")
    if neighbors is not None:
        pairs = np.column_stack([np.repeat(np.arange(len(neighbors)), neighbors.shape[1]), neighbors.ravel()])
        draw_links(axes, points, pairs, alpha=0.5)
    return points
