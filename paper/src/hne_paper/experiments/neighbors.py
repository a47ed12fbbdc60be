"""Figure "neighbor connections": the neighbor lines of a sparse Swiss roll, in space and as embedded."""

from typing import Any

import numpy as np

from hne.core.neighbors.graph import knn_graph
from hne.core.records import BoolArray, FloatArray, IndexArray
from hne.core.short_circuits.cut import cut_short_circuits
from hne.datasets import Dataset
from hne.metrics import affine_errors
from hne.settings import CHART_NEIGHBORS as OWN_NEIGHBORS
from hne.settings import Settings
from hne.viz import plots
from hne_paper.experiments._cells import Cell, Store
from hne_paper.experiments._methods import CHART, attempt
from hne_paper.experiments._pictures import save
from hne_paper.experiments._records import Claim, Options, Picture, Section, Table
from hne_paper.experiments._statistics import median, number, wins
from hne_paper.experiments._studies import PROBLEMS, run_embeddings
from hne_paper.experiments._summaries import CLEARLY, verdict_of

TITLE = "Neighbor lines of a sparse roll"
PROBLEM = "roll, spread evenly"
# As in the paper: LLE with 6 neighbors, HNE with 5.
SETTINGS = {"LLE": 6, "BHNE": 5}
DRAWN = {**SETTINGS, CHART: OWN_NEIGHBORS}
# Lines that jump to the next turn are at least as long along the roll as half a turn of the innermost one, 15; lines
# between true neighbors are below 8.
JUMP = 12.0
SHORTCUT_COLOR = "#c2185b"
NEIGHBORS = (4, 5, 6, 7, 8, OWN_NEIGHBORS)
TEXT = (
    "300 samples of a Swiss roll, spread evenly, and the lines between neighbors. The paper's argument: two layers "
    "of few neighbors see as far along the strip as one layer of more, and shorter lines are less likely to leave "
    "the surface for the next turn."
)


def run(options: Options, store: Store) -> Section:
    """Draw one roll, and measure on all seeds how many lines jump between turns and how well both methods do."""
    cells = [Cell(f"lines seed={seed}", measure_lines, (seed, NEIGHBORS)) for seed in range(options.n_seeds)]
    rolls = store.measured("lines", cells)
    seed = _typical(rolls)
    data = PROBLEMS[PROBLEM].make(seed)
    found = {method: run_embeddings(store, PROBLEM, (method,), k, seed=seed)[method] for method, k in DRAWN.items()}
    picture = Picture(
        save(_picture(data, found), options.output, "neighbors"),
        "Lines between neighbors, LLE with k = 6 and BHNE with k = 5, in space (left) and as embedded (right); color "
        "is the true place along and across the strip. Lines that jump to another turn of the roll, if any, are red. "
        f"{CHART}, which is not in the paper, cuts such lines before it embeds. Seed {seed}, near the medians.",
    )
    jumps, left = (np.array([roll[name] for roll in rolls]) for name in ("jumps", "left"))
    table = Table(
        "Neighbor lines that jump to another turn, share of all lines",
        ("", *(f"k = {k}" for k in NEIGHBORS)),
        (
            ("mean of the seeds", *(f"{100 * share:.2f} %" for share in jumps.mean(axis=0))),
            ("seeds without any", *(f"{int((column == 0).sum())} of {len(jumps)}" for column in jumps.T)),
            (f"mean that {CHART} leaves", *(f"{100 * share:.2f} %" for share in left.mean(axis=0))),
        ),
        f"A line jumps if its ends are more than {JUMP:g} apart along the roll; neighbors on the strip are within 8. "
        f"{CHART} takes lines away that seem to leave the surface, and goes on with the others; k = {OWN_NEIGHBORS} is "
        "what it chooses itself.",
    )
    return Section(
        name="neighbors",
        title=TITLE,
        text=TEXT,
        claims=(_claim(rolls, jumps),),
        pictures=(picture,),
        tables=(table,),
        settings=f"{options.n_seeds} seeds.",
    )


def _typical(rolls: list[dict[str, Any]]) -> int:
    """The roll on which both methods come nearest to their medians."""
    errors = np.array([[roll["errors"][method] for method in SETTINGS] for roll in rolls])
    return int(np.argmin(np.abs(errors - np.median(errors, axis=0)).sum(axis=1)))


def _claim(rolls: list[dict[str, Any]], jumps: FloatArray) -> Claim:
    errors = {method: [roll["errors"][method] for roll in rolls] for method in SETTINGS}
    better = wins(errors["BHNE"], errors["LLE"])
    at_five, at_six = (jumps[:, NEIGHBORS.index(k)] for k in (5, 6))
    told = ", ".join(f"{method} with k = {k} {number(median(errors[method]))}" for method, k in SETTINGS.items())
    return Claim(
        "Two layers of 5 neighbors unroll a sparse roll better than one layer of 6.",
        f"Median error of {told}; BHNE does better on {better} of {len(rolls)} rolls. Lines that jump to another turn: "
        f"{100 * at_five.mean():.2f} % with k = 5, {100 * at_six.mean():.2f} % with k = 6; fewer with k = 5 on "
        f"{int((at_five < at_six).sum())} rolls, more on {int((at_five > at_six).sum())}.",
        verdict_of([better >= CLEARLY * len(rolls)]),
        f"{len(rolls)} seeds",
    )


def measure_lines(seed: int, neighbors: tuple[int, ...]) -> dict[str, Any]:
    """Share of the neighbor lines that jump to another turn for each k, before and after cutting; both errors."""
    data = PROBLEMS[PROBLEM].make(seed)
    tried = {method: attempt(method, data.X, k) for method, k in SETTINGS.items()}
    return {
        "jumps": [float(_jumps(data, knn_graph(data.X, k).indices).mean()) for k in neighbors],
        "left": [float(_jumps(data, _lines_left(data, k)).mean()) for k in neighbors],
        "errors": {
            method: 1.0 if one.Y is None else float(affine_errors(one.Y, data.chart).mean())
            for method, one in tried.items()
        },
    }


def _lines_left(data: Dataset, k: int) -> IndexArray:
    """Neighbors after cutting, (n, k); a line that was cut leads from a sample to itself."""
    links = cut_short_circuits(data.X, knn_graph(data.X, k), Settings(short_circuits="cut")).graph.indices
    return np.where(links < 0, np.arange(len(links))[:, None], links)


def _jumps(data: Dataset, links: IndexArray) -> BoolArray:
    """Which links lead to another turn, (n, k)."""
    along = data.chart[:, 0]
    far: BoolArray = np.abs(along[links] - along[:, None]) > JUMP
    return far


def _picture(data: Dataset, found: dict[str, FloatArray | str]) -> Any:
    colors = plots.position_colors(data.chart)
    figure = plots.pyplot().figure(figsize=(11, 3.1 * len(DRAWN)), layout="constrained")
    grid = figure.add_gridspec(len(DRAWN), 2, width_ratios=[1, 1.9])
    for row, (method, k) in enumerate(DRAWN.items()):
        links, Y = knn_graph(data.X, k).indices, found[method]
        space = figure.add_subplot(grid[row, 0], projection="3d")
        title = f"k = {k}{', before cutting' if method == CHART else ''}"
        plots.space_panel(space, data.X, colors, title, neighbors=links, size=12)
        _draw_shortcuts(space, data.X, _shortcuts(data, links))
        plane = figure.add_subplot(grid[row, 1])
        if isinstance(Y, str):
            plots.empty_panel(plane, Y, title=f"{method}: failed")
            continue
        shown, lines = plots.oriented(Y, data.chart), _lines_left(data, k) if method == CHART else links
        error = number(float(affine_errors(Y, data.chart).mean()))
        plots.embedding_panel(plane, shown, colors, lines, f"{method}, k = {k}: error {error}", size=14)
        _draw_shortcuts(plane, shown, _shortcuts(data, lines))
    return figure


def _shortcuts(data: Dataset, links: IndexArray) -> IndexArray:
    """Pairs of samples whose line leads to another turn."""
    jumps = np.argwhere(_jumps(data, links))
    return np.column_stack([jumps[:, 0], links[tuple(jumps.T)]])


def _draw_shortcuts(axes: Any, points: FloatArray, pairs: IndexArray) -> None:
    for pair in pairs:
        axes.plot(*points[pair].T, color=SHORTCUT_COLOR, linewidth=1.2, zorder=2)
