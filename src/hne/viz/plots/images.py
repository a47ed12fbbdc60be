"""An embedding with pictures of some samples beside their points."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import FloatArray, IndexArray
from hne.viz.plots.panels import embedding_panel, first_columns


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
    Y = first_columns(Y, 2, "Y")
    embedding_panel(axes, Y, colors, title=title, size=9, equal=False)
    draw_images(axes, Y, colors, images, n_images, zoom, equal=False)
    return axes


def draw_images(
    axes: Any, points: FloatArray, colors: FloatArray, images: NDArray[Any], n_images: int, zoom: float, *, equal: bool
) -> None:
    """Put some of the images beside their points, framed in their colors, with room for them at the borders.

    Not `equal`, each axis is stretched to the frame.
    """
    from matplotlib.colors import Normalize
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    axes.margins(0.14)
    low, high = points.min(axis=0), points.max(axis=0)
    reach = np.maximum(high - low, np.finfo(float).tiny)
    if equal:
        low, reach = (low + high - reach.max()) / 2, np.full(2, reach.max())
    scaled = (points - low) / reach
    chosen = spread_out(scaled, n_images)
    for place, center in zip(chosen, _rooms(scaled, chosen), strict=True):
        picture = OffsetImage(images[place], zoom=zoom, cmap="gray", norm=Normalize(0, 1))
        box = {"edgecolor": colors[place], "linewidth": 1.2, "boxstyle": "square,pad=0"}
        line = {"arrowstyle": "-", "color": colors[place], "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
        frame: dict[str, Any] = {"frameon": True, "pad": 0.0, "bboxprops": box, "arrowprops": line, "zorder": 3}
        axes.add_artist(AnnotationBbox(picture, points[place], low + center * reach, **frame))


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
