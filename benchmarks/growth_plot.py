"""Rows of every method over n -> a picture: seconds and peak memory, log-log, each line named at its end."""

from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from runner import Row

Point = tuple[float, float]

# Okabe and Ito's colors, which color-blind eyes tell apart: one a library. Names are at the lines, so that no more
# colors are needed; a family's members differ by marker.
FAMILIES = {
    "scikit-learn": "#D55E00",
    "tapkee": "#009E73",
    "umap-learn": "#CC79A7",
    "PHATE": "#CC79A7",
    "PaCMAP": "#CC79A7",
    "openTSNE": "#CC79A7",
    "PCA": "#777777",
    "random": "#777777",
}
OWN_COLOR = "#0072B2"
MARKERS = "osD^v<P"
LABEL_SIZE, LINE_SPACING = 8.0, 1.25  # points, and label heights from one label to the next


def draw(curves: dict[str, dict[int, Row]], path: Path) -> None:
    """Write the picture of all methods' rows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, field, unit, label in zip(
        panels, ("seconds", "peak_bytes"), (1.0, 1e9), ("seconds", "peak memory, GB"), strict=True
    ):
        lines = {
            name: [(float(n), row[field] / unit) for n, row in rows.items() if "failure" not in row]
            for name, rows in curves.items()
        }
        _panel(axes, {name: points for name, points in lines.items() if points}, label)
    figure.savefig(path, dpi=110)


def _panel(axes: Any, lines: dict[str, list[Point]], label: str) -> None:
    markers = cycle(MARKERS)
    for name, points in lines.items():
        own = _color(name) == OWN_COLOR
        style: dict[str, Any] = {"linewidth": 2.2 if own else 1.2, "zorder": 3 if own else 2}
        axes.loglog(*np.array(points).T, color=_color(name), marker=next(markers), markersize=4, **style)
    sizes = [n for points in lines.values() for n, _ in points]
    axes.set_xlim(min(sizes) / 1.3, max(sizes) * 8)  # room for the names
    axes.set_xlabel("samples")
    axes.set_ylabel(label)
    axes.grid(visible=True, which="major", color="#e4e4e4", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    ends = {name: points[-1] for name, points in lines.items()}
    for name, height in _label_heights(axes, ends).items():
        axes.annotate(
            name,
            xy=ends[name],
            xytext=(ends[name][0] * 1.25, height),
            color=_color(name),
            fontsize=LABEL_SIZE,
            va="center",
            zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5},
            arrowprops={"arrowstyle": "-", "color": _color(name), "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2},
        )


def _color(name: str) -> str:
    return next((color for family, color in FAMILIES.items() if name.startswith(family)), OWN_COLOR)


def _label_heights(axes: Any, ends: dict[str, Point]) -> dict[str, float]:
    """Height of the name of each line: at its end, moved until no two names are at the same height."""
    low, high = np.log(axes.get_ylim())
    height_in_points = axes.get_position().height * axes.figure.get_figheight() * 72
    gap = LINE_SPACING * LABEL_SIZE * (high - low) / height_in_points
    names = sorted(ends, key=lambda name: ends[name][1])
    heights = np.exp(spread(np.log([ends[name][1] for name in names]), gap))
    return dict(zip(names, heights.tolist(), strict=True))


def spread(heights: Any, gap: float) -> Any:
    """Ascending heights, moved as little as it takes for each to be `gap` above the one before.

    With the gaps taken off, the wanted heights must not descend: least squares under that condition is isotonic
    regression.
    """
    from sklearn.isotonic import isotonic_regression

    steps = gap * np.arange(len(heights))
    return isotonic_regression(np.asarray(heights) - steps) + steps
