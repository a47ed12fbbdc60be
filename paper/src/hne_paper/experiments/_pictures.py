"""Embeddings and errors -> the pictures that several experiments share, written whole to the output folder."""

from collections.abc import Callable, Mapping
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._runtime.files import atomic_write, make_folder
from hne.core.records import FloatArray, IndexArray
from hne.core.samples.check import check_matrix
from hne.datasets import Dataset
from hne.metrics import affine_errors
from hne.viz import plots
from hne.viz.plots.embeddings import draw_images
from hne_paper.experiments._methods import CHART, DEFAULT, OWN
from hne_paper.experiments._statistics import median, number
from hne_paper.experiments._studies import PAPER_NEIGHBORS, Study

FOLDER = "figures"
CHART_CAPTION = f"{CHART} has its own k and reg."
DPI = 150
# Okabe and Ito's colors, told apart by nearly all eyes; baselines are gray.
METHOD_COLORS = {"IHNE": "#0072B2", "RHNE": "#D55E00", "BHNE": "#009E73", CHART: "#B0458C"}
BASELINE_COLOR = "#5f6368"
# Errors below are drawn here: nobody sees the difference on a picture, and the axis has logarithms.
LOWEST_ERROR = 1e-3

# Of the small print in empty panels.
LETTERS_PER_INCH = 13

Found = Mapping[str, FloatArray | str]


def save(figure: Any, output: Path, name: str) -> str:
    """Write the figure as PNG; return its address from the page."""
    make_folder(output / FOLDER)
    file = f"{FOLDER}/{name}.png"
    with atomic_write(output / file) as temporary:
        figure.savefig(temporary, dpi=DPI)
    plots.pyplot().close(figure)
    return file


def label_colors(labels: IndexArray) -> FloatArray:
    """A color for each group, gray for what joins them."""
    palette = np.array([[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [230, 159, 0]]) / 255
    colors: FloatArray = np.where((labels < 0)[:, None], 0.45, palette[labels % len(palette)])
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
    """An embedding in the plane, images (n, rows, columns) of points far from each other beside their points."""
    plots.embedding_panel(axes, Y, colors, title=title, size=9, equal=False)
    draw_images(axes, Y[:, :2], colors, images, n_images, zoom, equal=False)
    return axes


def methods_picture(
    data: Dataset,
    found: Found,
    colors: FloatArray,
    title_of: Callable[[str, FloatArray], str],
    *,
    columns: int = 2,
    panel: tuple[float, float] = (4.2, 1.5),
    view: tuple[float, float] = (10, -68),
) -> Any:
    """The data in space on the left, what each method makes of it on the right, failures as empty panels."""
    plt = plots.pyplot()
    rows = -(-len(found) // columns)
    width = min(4.6, rows * panel[1])
    figure = plt.figure(figsize=(width + columns * panel[0], max(3.4, rows * panel[1])), layout="constrained")
    grid = figure.add_gridspec(rows, columns + 1, width_ratios=[width, *columns * [panel[0]]])
    space = figure.add_subplot(grid[:, 0], projection="3d")
    plots.space_panel(space, data.X, colors, title=data.name, size=15, view=view)
    for place, (method, Y) in enumerate(found.items()):
        axes = figure.add_subplot(grid[place % rows, 1 + place // rows])
        if isinstance(Y, str):
            plots.empty_panel(axes, Y, title=f"{method}: failed", line=int(LETTERS_PER_INCH * panel[0]))
        else:
            _draw_embedding(axes, Y, data, colors, title_of(method, Y), in_lengths=method == CHART)
    return figure


def error_title(data: Dataset) -> Callable[[str, FloatArray], str]:
    """What to write above an embedding of data whose chart is known: the method and its mean affine error."""
    return lambda method, Y: f"{method}: error {number(float(affine_errors(Y, data.chart).mean()))}"


def _draw_embedding(
    axes: Any, Y: FloatArray, data: Dataset, colors: FloatArray, title: str, *, in_lengths: bool
) -> None:
    """An embedding, turned to the chart where there is one, else stretched; groups above what joins them."""
    chart, order = data.chart, np.argsort(data.labels >= 0, kind="stable")
    shown = plots.oriented(Y, chart) if chart.shape[1] == Y.shape[1] else Y
    equal = in_lengths or bool(chart.shape[1])
    plots.embedding_panel(axes, shown[order], colors[order], title=title, size=11, equal=equal)


def strips_picture(studies: Mapping[str, Study], reg: str = DEFAULT, xlabel: str = "affine error") -> Any:
    """A dot a seed, a line of dots a method: errors at the paper's k and at each method's best k."""
    plt = plots.pyplot()
    methods = next(iter(studies.values())).methods
    figure, grid = plt.subplots(
        len(studies),
        2,
        sharex=True,
        squeeze=False,
        layout="constrained",
        figsize=(9.5, 0.5 + len(studies) * (0.5 + 0.24 * len(methods))),
    )
    for (title, study), (at_paper, at_best) in zip(studies.items(), grid, strict=True):
        _strips(at_paper, study, dict.fromkeys(methods, PAPER_NEIGHBORS), reg)
        _strips(at_best, study, {method: study.best_k(method, reg) for method in methods}, reg, is_chosen=True)
        at_paper.set_title(f"{title}, k = {PAPER_NEIGHBORS}", fontsize=10, loc="left")
        at_best.set_title("each at its best k", fontsize=10, loc="left")
    figure.get_layout_engine().set(wspace=0.06)
    for axes in grid[-1]:
        axes.set_xlabel(f"{xlabel}, 0 is perfect", fontsize=9)
    return figure


def _strips(axes: Any, study: Study, neighbors: Mapping[str, int | None], reg: str, *, is_chosen: bool = False) -> None:
    """One panel: the errors of all seeds, a vertical mark at the median; k beside where each method has its own."""
    for row, (method, k) in enumerate(neighbors.items()):
        errors = study.of(method, k, reg)
        color = METHOD_COLORS.get(method, BASELINE_COLOR)
        ran = [max(error, LOWEST_ERROR) for error in errors if not isinf(error)]
        # Dots of equal errors side by side, in the order of their seeds.
        heights = row + 0.26 * np.sin(2.4 * np.arange(len(ran)))
        axes.scatter(ran, heights, s=11, color=color, alpha=0.6, linewidths=0)
        middle = median(errors)
        if not isinf(middle):
            axes.vlines(max(middle, LOWEST_ERROR), row - 0.42, row + 0.42, color=color, linewidth=2.4)
        chosen = "own k" if k == OWN else f"k = {k}"
        text = _beside(chosen if is_chosen else "", len(ran), len(errors))
        axes.text(1.02, row, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8, color="#5f6368")
    axes.set_xscale("log")
    axes.set_xlim(LOWEST_ERROR * 0.8, 1.3)
    axes.set_xticks([0.001, 0.01, 0.1, 1], ["≤ .001", ".01", ".1", "1"])
    axes.minorticks_off()
    axes.set_yticks(range(len(neighbors)), list(neighbors))
    axes.set_ylim(len(neighbors) - 0.4, -0.6)
    axes.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8.5)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in METHOD_COLORS else "normal")


def _beside(chosen: str, n_ran: int, n_seeds: int) -> str:
    """What to write beside a strip: the k that was chosen, and on how many seeds the method failed."""
    if n_ran == 0:
        return "failed"
    failed = f"{n_seeds - n_ran} failed" if n_ran < n_seeds else ""
    return ", ".join(part for part in (chosen, failed) if part)
