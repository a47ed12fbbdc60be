"""Arrays -> panels of a figure: an embedding in the plane, samples in space, images, or why there is nothing."""

from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from hne.core.records import FloatArray, IndexArray
from hne.core.samples.tables import check_matrix
from hne.exceptions import InputError

LINK_COLOR = "#9aa0a6"


def oriented(Y: FloatArray, chart: FloatArray) -> FloatArray:
    """Turn and mirror Y to the true chart, then give each axis the spread that the chart has there.

    The columns of Y are eigenvectors, and its orientation is free, so this changes nothing that the method decides.
    """
    Y, chart = check_matrix(Y, "Y"), check_matrix(chart, "chart")
    check_chart(Y, chart)
    target = chart - chart.mean(axis=0)
    spread = target.std(axis=0)
    lengths = Y.std(axis=0)
    source = (Y - Y.mean(axis=0)) / np.where(lengths > 0, lengths, 1.0)
    rotation, _ = orthogonal_procrustes(source, target / np.where(spread > 0, spread, 1.0))
    turned: FloatArray = source @ rotation * spread
    return turned


def turned(Y: FloatArray, chart: FloatArray) -> FloatArray:
    """Turn and mirror Y to the true chart, its lengths as they are."""
    Y, chart = check_matrix(Y, "Y"), check_matrix(chart, "chart")
    check_chart(Y, chart)
    centered = Y - Y.mean(axis=0)
    rotation, _ = orthogonal_procrustes(centered, chart - chart.mean(axis=0))
    moved: FloatArray = centered @ rotation
    return moved


def check_chart(Y: FloatArray, chart: FloatArray) -> None:
    """Raise unless there is a true coordinate for each of Y."""
    if Y.shape != chart.shape:
        msg = f"chart must have the shape of Y, {Y.shape}, got {chart.shape}. Pass as many true coordinates as columns."
        raise InputError(msg)


def embedding_panel(
    axes: Any,
    Y: FloatArray,
    colors: FloatArray,
    links: IndexArray | None = None,
    title: str = "",
    *,
    size: float = 18,
    equal: bool = True,
) -> Any:
    """Draw an embedding in the plane, thin lines between neighbors underneath; return the axes.

    `size` is that of the points. Not `equal`, each axis is stretched to the panel, as suits eigenvectors.
    """
    Y = first_columns(Y, 2, "Y")
    if links is not None:
        _draw_links(axes, Y, links)
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
    links: IndexArray | None = None,
    size: float = 26,
    view: tuple[float, float] = (10, -68),
) -> Any:
    """Draw samples in three dimensions, by default seen along the roll's axis; return the axes.

    `view` is the elevation and the azimuth of the eye, in degrees.
    """
    X = first_columns(X, 3, "X")
    if links is not None:
        _draw_links(axes, X, links)
    axes.scatter(*X.T, c=colors, s=size, linewidths=0.4, edgecolors="white", depthshade=False)
    axes.set_title(title, fontsize=11)
    axes.view_init(elev=view[0], azim=view[1])
    axes.set_box_aspect(np.ptp(X, axis=0), zoom=1.25)
    axes.set_axis_off()
    return axes


def empty_panel(axes: Any, reason: str, title: str = "", *, line: int = 32) -> Any:
    """Draw nothing but the reason why there is nothing to draw, in lines of so many letters; return the axes."""
    from textwrap import fill

    axes.set_title(title, fontsize=11, loc="left")
    style = {"ha": "center", "va": "center", "fontsize": 8, "color": "#5f6368"}
    axes.text(0.5, 0.5, fill(reason, line), transform=axes.transAxes, **style)
    axes.set_facecolor("#f6f6f6")
    return bare(axes)


def first_columns(matrix: FloatArray, count: int, name: str) -> FloatArray:
    """The first columns, as many as are drawn, or an error that says how many there must be."""
    checked = check_matrix(matrix, name)
    if checked.shape[1] < count:
        msg = f"{name} must have at least {count} columns to be drawn, got {checked.shape[1]}. "
        raise InputError(msg + f"Embed in {count} dimensions.")
    return checked[:, :count]


def _draw_links(axes: Any, points: FloatArray, links: IndexArray, color: str = LINK_COLOR) -> None:
    """Thin lines from each point to its neighbors, in the plane or in space."""
    starts, ends = np.repeat(np.arange(len(links)), links.shape[1]), links.ravel()
    segments = list(np.stack([points[starts], points[ends]], axis=1))
    style: dict[str, Any] = {"colors": color, "linewidths": 0.5, "alpha": 0.5, "zorder": 1}
    if points.shape[1] == 2:
        from matplotlib.collections import LineCollection

        axes.add_collection(LineCollection(segments, **style))
    else:
        from mpl_toolkits.mplot3d.art3d import Line3DCollection

        axes.add_collection3d(Line3DCollection(segments, **style))


def bare(axes: Any) -> Any:
    """Take ticks away and leave a thin frame."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("#d0d0d0")
    return axes
