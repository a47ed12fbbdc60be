"""Figure "neighbor connections": the neighbor lines of a sparse Swiss roll, in space and as embedded."""

from typing import Any

import numpy as np

from hne import plots
from hne._neighbors import knn_graph
from hne._types import BoolArray, FloatArray, IndexArray
from hne.datasets import Dataset
from hne.experiments._cells import Cell, Store
from hne.experiments._pictures import save
from hne.experiments._records import Claim, Options, Picture, Section, Table
from hne.experiments._statistics import number
from hne.experiments._studies import PROBLEMS, run_embeddings
from hne.experiments._summaries import verdict_of
from hne.metrics import affine_errors

TITLE = "Neighbor lines of a sparse roll"
PROBLEM = "roll, spread evenly"
# As in the paper: LLE with 6 neighbors, HNE with 5.
SETTINGS = {"LLE": 6, "BHNE": 5}
# Lines that jump to the next turn are at least as long along the roll as half a turn of the innermost one, 15; lines
# between true neighbors are below 8.
JUMP = 12.0
SHORTCUT_COLOR = "#c2185b"


def run(options: Options, store: Store) -> Section:
    """Draw roll 0, and count on all seeds how many lines jump between turns."""
    data = PROBLEMS[PROBLEM].make(0)
    found = {method: run_embeddings(store, PROBLEM, (method,), k)[method] for method, k in SETTINGS.items()}
    picture = Picture(
        save(_picture(data, found), options.output, "neighbors"),
        "Lines between neighbors, LLE with k = 6 and BHNE with k = 5, in space (left) and as embedded (right); color "
        "is the true place along and across the strip. Lines that jump to another turn of the roll are red. Roll of "
        "seed 0.",
    )
    cells = [Cell(f"jumps seed={seed}", count_jumps, (seed, (4, 5, 6, 7, 8))) for seed in range(options.n_seeds)]
    jumps = np.array(store.measured("jumps", cells))
    shares = jumps.mean(axis=0)
    table = Table(
        "Neighbor lines that jump to another turn, share of all lines",
        ("", *(f"k = {k}" for k in (4, 5, 6, 7, 8))),
        (
            ("mean of the seeds", *(f"{100 * share:.2f} %" for share in shares)),
            ("seeds without any", *(f"{int((column == 0).sum())} of {len(jumps)}" for column in jumps.T)),
        ),
        f"A line jumps if its ends are more than {JUMP:g} apart along the roll; neighbors on the strip are within 8.",
    )
    return Section(
        name="neighbors",
        title=TITLE,
        text=TEXT,
        claims=(_claim(data, found, jumps),),
        pictures=(picture,),
        tables=(table,),
        settings=f"{options.n_seeds} seeds.",
    )


TEXT = (
    "300 samples of a Swiss roll, spread evenly. One layer of 6 neighbors reaches to the next turn of so sparse a "
    "roll; two layers of 5 see as far along the strip with shorter lines."
)


def _claim(data: Dataset, found: dict[str, FloatArray | str], jumps: FloatArray) -> Claim:
    errors = {
        method: float(affine_errors(Y, data.chart).mean()) for method, Y in found.items() if not isinstance(Y, str)
    }
    at_five, at_six = jumps[:, 1], jumps[:, 2]
    fewer = int((at_five < at_six).sum())
    return Claim(
        "Hierarchic neighbors see a wider region with fewer neighbors, so that fewer lines leave the surface.",
        f"On roll 0 the error is {', '.join(f'{method} {number(error)}' for method, error in errors.items())}. With k "
        f"= 5 {100 * at_five.mean():.2f} % of the lines jump to another turn, with k = 6 {100 * at_six.mean():.2f} %; "
        f"fewer with k = 5 on {fewer} of {len(jumps)} rolls, none with either on {int((at_six + at_five == 0).sum())}.",
        verdict_of([errors.get("BHNE", 1.0) < errors.get("LLE", 1.0), at_five.mean() < at_six.mean()]),
        f"{len(jumps)} seeds",
    )


def count_jumps(seed: int, neighbors: tuple[int, ...]) -> list[float]:
    """Share of the neighbor lines that jump to another turn, for each k."""
    data = PROBLEMS[PROBLEM].make(seed)
    return [float(_jumps(data, knn_graph(data.X, k).indices).mean()) for k in neighbors]


def _jumps(data: Dataset, links: IndexArray) -> BoolArray:
    """Which links lead to another turn, (n, k)."""
    along = data.chart[:, 0]
    far: BoolArray = np.abs(along[links] - along[:, None]) > JUMP
    return far


def _picture(data: Dataset, found: dict[str, FloatArray | str]) -> Any:
    colors = plots.position_colors(data.chart)
    figure = plots.pyplot().figure(figsize=(11, 6.2), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.9])
    for row, (method, k) in enumerate(SETTINGS.items()):
        links, Y = knn_graph(data.X, k).indices, found[method]
        jumps = np.argwhere(_jumps(data, links))
        shortcuts = np.column_stack([jumps[:, 0], links[tuple(jumps.T)]])
        space = figure.add_subplot(grid[row, 0], projection="3d")
        plots.space_panel(space, data.X, colors, title=f"k = {k}", links=links, size=12)
        _draw_shortcuts(space, data.X, shortcuts)
        plane = figure.add_subplot(grid[row, 1])
        if isinstance(Y, str):
            plots.empty_panel(plane, Y, title=f"{method}: failed")
            continue
        shown = plots.oriented(Y, data.chart)
        error = number(float(affine_errors(Y, data.chart).mean()))
        plots.embedding_panel(plane, shown, colors, links, f"{method}, k = {k}: error {error}", size=14)
        _draw_shortcuts(plane, shown, shortcuts)
    return figure


def _draw_shortcuts(axes: Any, points: FloatArray, pairs: IndexArray) -> None:
    for pair in pairs:
        axes.plot(*points[pair].T, color=SHORTCUT_COLOR, linewidth=1.2, zorder=2)
