"""Disconnected data: charts by each policy beside scikit-learn's LLE, and docs/images/pieces.png."""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.manifold import LocallyLinearEmbedding

from hne import HNE
from hne.core.records import FloatArray, IndexArray
from hne.datasets import make_swiss_roll
from hne.metrics import affine_errors
from hne.viz.plots import embedding_panel, position_colors, pyplot
from tables import table

TITLE = "Pieces"
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "pieces.png"
POLICIES = ("separate", "join", "largest")
SEEDS = range(10)
GOOD = 0.05
N_NEIGHBORS = 6  # of LLE
BLOB_COLORS = ("#3b528b", "#21918c", "#c8553d", "#8a6fa8", "#b8860b")


@dataclass(frozen=True)
class Torn:
    """Samples in pieces: `part` tells which one each is in, `charts` are true coordinates where a part has some."""

    title: str
    X: FloatArray
    part: IndexArray
    charts: dict[int, FloatArray]
    neighbors: object = "auto"


def two_rolls(seed: int = 0, *, even: bool = True) -> Torn:
    """Rolls of 700 and 300 samples, 60 apart."""
    large, small = (make_swiss_roll(n, even=even, random_state=s) for n, s in ((700, seed), (300, 100 + seed)))
    X = np.vstack([large.X, small.X + np.array([60.0, 0.0, 0.0])])
    return Torn("Two rolls, 700 + 300", X, np.repeat([0, 1], [700, 300]), {0: large.chart, 1: small.chart})


def five_blobs() -> Torn:
    """Gaussians of 40 to 200 samples in three dimensions."""
    rng, sizes = np.random.default_rng(0), [200, 120, 80, 60, 40]
    blobs = [rng.normal(size=(size, 3)) + 60 * rng.normal(size=3) for size in sizes]
    return Torn("Five Gaussian blobs", np.vstack(blobs), np.repeat(np.arange(5), sizes), {})


def roll_and_points() -> Torn:
    """A roll of 1000 samples and three points far from it."""
    roll = make_swiss_roll(1000, random_state=0)
    far = np.array([[100.0, 0.0, 0.0], [0.0, 200.0, 0.0], [-80.0, 50.0, 90.0]])
    part = np.concatenate([np.zeros(1000, dtype=np.intp), [1, 2, 3]])
    return Torn("A roll and 3 isolated points", np.vstack([roll.X, far]), part, {0: roll.chart})


def all_apart() -> Torn:
    """500 samples, nobody a neighbor of anybody: no search gives that, only a given graph."""
    X = np.random.default_rng(0).random((500, 3)) * 1e6
    nobody = (np.full((500, N_NEIGHBORS), -1), None)
    return Torn("500 samples, no links", X, np.arange(500), {}, nobody)


def all_far() -> Torn:
    """500 samples, each as far from every other, so that only their order decides who is whose neighbor."""
    return Torn("500 samples, all equally far", 1e6 * np.eye(500), np.zeros(500, dtype=np.intp), {})


DATA: tuple[Callable[[], Torn], ...] = (two_rolls, five_blobs, roll_and_points, all_apart, all_far)


def measure() -> str:
    """Measure and return the section as Markdown."""
    lines = [row for make in DATA for row in _rows(make())]
    _draw([make() for make in DATA[:4]])
    header = ["", "", "pieces found", "worst error within each part", "parts that overlap", "NaN"]
    text = [
        f"## {TITLE}",
        "",
        f'`HNE(coordinates="chart")` but for `pieces`; LLE with k = {N_NEIGHBORS} and reg = 1e-4. Errors',
        "are affine errors of each roll's own coordinates; parts overlap if their bounding boxes do. The roll of 1000",
        f"samples alone has an error of {_alone(roll_and_points(), 0):.4f}. Rolls of 700 and 300 are spread evenly.",
        "",
        table(header, lines),
        "",
        "How often each of the two is recovered; a roll of 300 samples is sparse, with or without another beside it:",
        "",
        _over_seeds(),
        "",
        "![Four data sets in pieces and their embeddings](../docs/images/pieces.png)",
    ]
    return "\n".join(text)


def _rows(torn: Torn) -> list[list[str]]:
    rows = []
    for policy in POLICIES:
        model = HNE(coordinates="chart", pieces=policy, neighbors=torn.neighbors)
        print(f"  {torn.title}, {policy} ...", file=sys.stderr)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                Y = model.fit_transform(torn.X)
            except ValueError as error:
                rows.append([torn.title, f"HNE, {policy}", "-", str(error), "-", "-"])
                continue
        rows.append([torn.title, f"HNE, {policy}", f"{model.n_pieces_}", *_judged(torn, Y)])
    if torn.neighbors == "auto":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Y = LocallyLinearEmbedding(n_neighbors=N_NEIGHBORS, reg=1e-4, eigen_solver="dense").fit_transform(torn.X)
        rows.append([torn.title, "scikit-learn LLE", "-", *_judged(torn, Y)])
    return rows


def _judged(torn: Torn, Y: FloatArray) -> list[str]:
    errors = []
    for part, chart in torn.charts.items():
        own = Y[torn.part == part]
        errors.append(f"{affine_errors(own, chart).max():.4f}" if np.isfinite(own).all() else "NaN")
    known = np.isfinite(Y).all(axis=1)
    return [", ".join(errors) or "-", f"{overlaps(Y[known], torn.part[known])}", f"{(~known).sum()}"]


def overlaps(Y: FloatArray, part: IndexArray) -> int:
    """Number of pairs of parts whose bounding boxes overlap."""
    low, high = (np.array([end(Y[part == one], axis=0) for one in np.unique(part)]) for end in (np.min, np.max))
    meets = (low[:, None] <= high[None]).all(axis=2) & (low[None] <= high[:, None]).all(axis=2)
    return int(np.triu(meets, 1).sum())


def _alone(torn: Torn, part: int) -> float:
    return float(affine_errors(HNE().fit_transform(torn.X[torn.part == part]), torn.charts[part]).max())


def _over_seeds() -> str:
    """How often each roll is recovered, and whether that is the roll's own doing."""
    lines = []
    for even, spread in ((True, "spread evenly"), (False, "spread at random")):
        within, alone = [], []
        for seed in SEEDS:
            torn = two_rolls(seed, even=even)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Y = HNE().fit_transform(torn.X)
            within.append([float(affine_errors(Y[torn.part == one], torn.charts[one]).max()) for one in (0, 1)])
            alone.append([_alone(torn, one) for one in (0, 1)])
        good = (np.array(within) < GOOD).sum(axis=0)
        off = np.abs(np.array(within) - np.array(alone)).max()
        lines.append([spread, f"{good[0]} of {len(SEEDS)}", f"{good[1]} of {len(SEEDS)}", f"{off:.0e}"])
    header = ["two rolls", f"700 samples: error under {GOOD:g}", f"300 samples: error under {GOOD:g}"]
    header += ["largest difference from the roll embedded alone"]
    return table(header, lines)


def _draw(torn: list[Torn]) -> None:
    plt = pyplot()
    figure = plt.figure(figsize=(15, 7.5), layout="constrained")
    for column, data in enumerate(torn):
        colors = _colors(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Y = HNE(coordinates="chart", neighbors=data.neighbors).fit_transform(data.X)
        space = figure.add_subplot(2, len(torn), column + 1, projection="3d")
        space.scatter(*data.X.T, c=colors, s=7, depthshade=False)
        space.set_title(data.title, fontsize=11)
        space.set_axis_off()
        plane = figure.add_subplot(2, len(torn), len(torn) + column + 1)
        embedding_panel(plane, Y, colors)
    figure.savefig(PICTURE, dpi=90)
    plt.close(figure)


def _colors(torn: Torn) -> FloatArray:
    from matplotlib.colors import to_rgb

    if not torn.charts:
        if torn.part.max() >= len(BLOB_COLORS):
            return position_colors(torn.X[:, :2])
        return np.array([to_rgb(BLOB_COLORS[one]) for one in torn.part])
    colors = np.tile(to_rgb("#c8553d"), (len(torn.X), 1))
    for part, chart in torn.charts.items():
        colors[torn.part == part] = position_colors(chart)
    return colors
