"""Pictures of data and embeddings: arrays -> matplotlib axes."""

from types import ModuleType
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from hne._types import FloatArray, IndexArray
from hne.exceptions import MissingExtraError

__all__ = ["embedding_panel", "oriented", "position_colors", "space_panel"]

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
    """Color each sample by two coordinates: hue by the first, lightness by the second; (n, 3) RGB."""
    low, high = chart.min(axis=0), chart.max(axis=0)
    along, across = ((chart - low) / np.where(high > low, high - low, 1.0)).T[:2]
    low_end, high_end = COLOR_RANGE
    hue = pyplot().get_cmap(COLOR_MAP)(low_end + (high_end - low_end) * along)[:, :3]
    shade = (0.6 + 0.4 * across)[:, None]
    colors: FloatArray = hue * shade
    return colors


def oriented(Y: FloatArray, chart: FloatArray) -> FloatArray:
    """Turn and mirror Y to the true chart, then give each axis the spread that the chart has there.

    Y is whitened and its orientation is free, so this changes nothing that the method decides.
    """
    target = chart - chart.mean(axis=0)
    spread = target.std(axis=0)
    source = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    rotation, _ = orthogonal_procrustes(source, target / spread)
    turned: FloatArray = source @ rotation * spread
    return turned


def embedding_panel(
    axes: Any, Y: FloatArray, colors: FloatArray, links: IndexArray | None = None, title: str = ""
) -> Any:
    """Draw an embedding in the plane, thin lines between neighbors underneath; return the axes."""
    from matplotlib.collections import LineCollection

    if links is not None:
        starts = np.repeat(np.arange(len(links)), links.shape[1])
        segments = list(np.stack([Y[starts], Y[links.ravel()]], axis=1))
        axes.add_collection(LineCollection(segments, colors=LINK_COLOR, linewidths=0.5, alpha=0.5, zorder=1))
    axes.scatter(*Y.T, c=colors, s=18, linewidths=0.3, edgecolors="white", zorder=2)
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("#d0d0d0")
    return axes


def space_panel(axes: Any, X: FloatArray, colors: FloatArray, title: str = "") -> Any:
    """Draw samples in three dimensions, seen along the roll's axis; return the axes."""
    axes.scatter(*X.T, c=colors, s=26, linewidths=0.4, edgecolors="white", depthshade=False)
    axes.set_title(title, fontsize=11)
    axes.view_init(elev=10, azim=-68)
    axes.set_box_aspect(np.ptp(X, axis=0), zoom=1.25)
    axes.set_axis_off()
    return axes
