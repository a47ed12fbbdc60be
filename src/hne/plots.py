"""Pictures of data and embeddings: arrays -> matplotlib axes."""

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes

from hne._types import FloatArray, IndexArray
from hne._validation import check_matrix
from hne.exceptions import InputError, MissingExtraError

__all__ = [
    "angle_colors",
    "embedding_panel",
    "empty_panel",
    "image_panel",
    "oriented",
    "position_colors",
    "space_panel",
    "value_colors",
]

# Part of matplotlib's plasma that stands out on white; its lightness rises throughout, so it survives print
# and color-blind eyes.
COLOR_MAP, COLOR_RANGE = "plasma", (0.02, 0.86)
LINK_COLOR = "#9aa0a6"


def pyplot() -> ModuleType:
    """Import matplotlib's pyplot, or say what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        msg = "pictures need matplotlib, got none installed. Run: pip install matplotlib."
        raise MissingExtraError(msg) from error
    return plt


def position_colors(chart: FloatArray) -> FloatArray:
    """Color each sample by one or two coordinates: hue by the first, lightness by the second; (n, 3) RGB."""
    places = check_matrix(chart, "chart")
    hue = value_colors(places[:, 0])
    if places.shape[1] == 1:
        return hue
    low, high = places[:, 1].min(), places[:, 1].max()
    across = (places[:, 1] - low) / (high - low if high > low else 1.0)
    colors: FloatArray = hue * (0.6 + 0.4 * across)[:, None]
    return colors


def value_colors(values: FloatArray) -> FloatArray:
    """Color each sample by one value, dark for the lowest; (n, 3) RGB."""
    values = check_matrix(np.reshape(values, (-1, 1)), "values")[:, 0]
    low, high = float(values.min()), float(values.max())
    share = (values - low) / (high - low if high > low else 1.0)
    low_end, high_end = COLOR_RANGE
    colors: FloatArray = pyplot().get_cmap(COLOR_MAP)(low_end + (high_end - low_end) * share)[:, :3]
    return colors


def angle_colors(degrees: FloatArray) -> FloatArray:
    """Color each sample by an angle: hues of one lightness, 0 and 360 degrees the same; (n, 3) RGB."""
    angle = np.deg2rad(check_matrix(np.reshape(degrees, (-1, 1)), "degrees")[:, 0])
    # Oklab (Ottosson 2020): lightness, and the two axes of hue, to the cubes of three cones, to linear RGB.
    lab = np.column_stack([np.full(len(angle), 0.66), 0.13 * np.cos(angle), 0.13 * np.sin(angle)])
    cones = lab @ [
        [1, 1, 1],
        [0.3963377774, -0.1055613458, -0.0894841775],
        [0.2158037573, -0.0638541728, -1.2914855480],
    ]
    to_rgb = [
        [4.0767416621, -1.2684380046, -0.0041960863],
        [-3.3077115913, 2.6097574011, -0.7034186147],
        [0.2309699292, -0.3413193965, 1.7076147010],
    ]
    linear = np.clip(cones**3 @ to_rgb, 0, 1)
    colors: FloatArray = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return colors


def oriented(Y: FloatArray, chart: FloatArray) -> FloatArray:
    """Turn and mirror Y to the true chart, then give each axis the spread that the chart has there.

    Y is whitened and its orientation is free, so this changes nothing that the method decides.
    """
    Y, chart = check_matrix(Y, "Y"), check_matrix(chart, "chart")
    if Y.shape != chart.shape:
        msg = f"chart must have the shape of Y, {Y.shape}, got {chart.shape}. Pass as many true coordinates as columns."
        raise InputError(msg)
    target = chart - chart.mean(axis=0)
    spread = target.std(axis=0)
    lengths = Y.std(axis=0)
    source = (Y - Y.mean(axis=0)) / np.where(lengths > 0, lengths, 1.0)
    rotation, _ = orthogonal_procrustes(source, target / np.where(spread > 0, spread, 1.0))
    turned: FloatArray = source @ rotation * spread
    return turned


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

    `size` is that of the points. Not `equal`, each axis is stretched to the panel, as suits whitened coordinates.
    """
    Y = _first_columns(Y, 2, "Y")
    if links is not None:
        _draw_links(axes, Y, links)
    axes.scatter(*Y.T, c=colors, s=size, linewidths=0.3, edgecolors="white", zorder=2)
    axes.set_title(title, fontsize=11, loc="left")
    if equal:
        axes.set_aspect("equal", adjustable="datalim")
    return _bare(axes)


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
    X = _first_columns(X, 3, "X")
    if links is not None:
        _draw_links(axes, X, links)
    axes.scatter(*X.T, c=colors, s=size, linewidths=0.4, edgecolors="white", depthshade=False)
    axes.set_title(title, fontsize=11)
    axes.view_init(elev=view[0], azim=view[1])
    axes.set_box_aspect(np.ptp(X, axis=0), zoom=1.25)
    axes.set_axis_off()
    return axes


def image_panel(
    axes: Any,
    Y: FloatArray,
    colors: FloatArray,
    images: NDArray[Any],
    title: str = "",
    *,
    n_images: int = 14,
    zoom: float = 0.5,
) -> Any:
    """Draw an embedding in the plane with some of its images beside their points; return the axes.

    `images` are (n, rows, columns) or (n, rows, columns, 3). Those of points far from each other are drawn, each where
    there is room near its point and tied to it by a line.
    """
    from matplotlib.colors import Normalize
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    Y = _first_columns(Y, 2, "Y")
    embedding_panel(axes, Y, colors, title=title, size=9, equal=False)
    axes.margins(0.14)
    low, reach = Y.min(axis=0), np.maximum(np.ptp(Y, axis=0), np.finfo(float).tiny)
    scaled = (Y - low) / reach
    chosen = spread_out(scaled, n_images)
    for place, center in zip(chosen, _rooms(scaled, chosen), strict=True):
        picture = OffsetImage(images[place], zoom=zoom, cmap="gray", norm=Normalize(0, 1))
        box = {"edgecolor": colors[place], "linewidth": 1.2, "boxstyle": "square,pad=0"}
        line = {"arrowstyle": "-", "color": colors[place], "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
        frame: dict[str, Any] = {"frameon": True, "pad": 0.0, "bboxprops": box, "arrowprops": line, "zorder": 3}
        axes.add_artist(AnnotationBbox(picture, Y[place], low + center * reach, **frame))
    return axes


def _rooms(points: FloatArray, chosen: IndexArray) -> FloatArray:
    """Where to put the pictures of the chosen points, in the unit square: of places around each the freest.

    Free is a place far from other pictures first, from points second, and within the square.
    """
    angles = np.arange(16) * np.pi / 8
    around = np.vstack([radius * np.column_stack([np.cos(angles), np.sin(angles)]) for radius in (0.12, 0.17)])
    placed: list[FloatArray] = []
    for point in points[chosen]:
        places = point + around
        from_points = np.linalg.norm(places[:, None] - points[None], axis=2).min(axis=1)
        from_pictures = np.full(len(places), 0.3)
        if placed:
            from_pictures = np.linalg.norm(places[:, None] - np.array(placed)[None], axis=2).min(axis=1)
        outside = np.maximum(np.abs(places - 0.5).max(axis=1) - 0.55, 0)
        free = 3 * np.minimum(from_pictures, 0.17) + np.minimum(from_points, 0.1) - 4 * outside
        placed.append(places[int(np.argmax(free))])
    return np.array(placed)


def spread_out(points: FloatArray, count: int) -> IndexArray:
    """Indices of points far from each other: the first nearest the middle, then always the one farthest from all."""
    nearest = np.linalg.norm(points - points.mean(axis=0), axis=1)
    chosen = [int(np.argmin(nearest))]
    nearest = np.full(len(points), np.inf)
    for _ in range(min(count, len(points)) - 1):
        nearest = np.minimum(nearest, np.linalg.norm(points - points[chosen[-1]], axis=1))
        chosen.append(int(np.argmax(nearest)))
    return np.array(chosen, dtype=np.intp)


def empty_panel(axes: Any, reason: str, title: str = "", *, line: int = 32) -> Any:
    """Draw nothing but the reason why there is nothing to draw, in lines of so many letters; return the axes."""
    from textwrap import fill

    axes.set_title(title, fontsize=11, loc="left")
    style = {"ha": "center", "va": "center", "fontsize": 8, "color": "#5f6368"}
    axes.text(0.5, 0.5, fill(reason, line), transform=axes.transAxes, **style)
    axes.set_facecolor("#f6f6f6")
    return _bare(axes)


def _first_columns(matrix: FloatArray, count: int, name: str) -> FloatArray:
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


def _bare(axes: Any) -> Any:
    """Take ticks away and leave a thin frame."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("#d0d0d0")
    return axes
