"""Figures "teapots": images of a pot turned through 360 degrees, a ring whose circular order can be judged."""

from typing import Any

import numpy as np

from hne.datasets import Dataset
from hne.viz import plots
from hne_paper.experiments._cells import Cell, Store
from hne_paper.experiments._images import Images, find_teapots, pictures_of
from hne_paper.experiments._methods import (
    ALL,
    ALL_AND_CHART,
    AUTHORS,
    CHART,
    DEFAULT,
    REG_WORDS,
    VARIANTS,
    attempt,
    has_reg,
)
from hne_paper.experiments._pictures import angle_colors, image_panel, save
from hne_paper.experiments._records import Claim, Options, Picture, Section, Table
from hne_paper.experiments._statistics import listed
from hne_paper.experiments._summaries import verdict_of
from hne_paper.metrics import ring_order_error

TITLE = "Teapots on a turntable"
TEXT = (
    "Images of a pot turned through 360 degrees are a ring. Its circular order is right if every image lies between "
    "the two that were taken before and after it. Few images and few neighbors are the hard case."
)
SIZES = (50, 100, 200)
NEIGHBORS = (2, 4, 6)
# Images, k and methods of the paper's pictures.
PICTURES = (
    (100, 2, (*VARIANTS, CHART)),
    (100, 4, ("LLE", "LLC", "LTSA", "MLLE", *VARIANTS, CHART)),
    (200, 6, ("LLE", "LLC", "LTSA", "MLLE", *VARIANTS, CHART)),
)

Values = dict[str, Any]
Results = dict[tuple[int, int], dict[str, dict[str, Values]]]  # of images and k: method, reg


def run(options: Options, store: Store) -> Section:
    """Embed rings of every size with every k, and judge their order."""
    sizes = SIZES[1:2] if options.quick else SIZES
    found: Results = {}
    sources = {n: find_teapots(options, n) for n in sizes}
    cells = {
        (n, k): Cell(f"{images.name} k={k}", embed_ring, (images, k))
        for n, images in sources.items()
        for k in NEIGHBORS
    }
    found = dict(zip(cells, store.measured("rings", list(cells.values())), strict=True))
    pictures = []
    for n, k, methods in PICTURES:
        if n not in sources:
            continue
        images = sources[n]
        file = save(
            _picture(images.load(), {one: found[n, k][one] for one in methods}, k), options.output, f"teapots-n{n}-k{k}"
        )
        pictures.append(Picture(file, _caption(images, n, k)))
    tables = tuple(_table(found, sources, reg) for reg in (DEFAULT, AUTHORS))
    claims = (_few_neighbors_claim(found), _claim(found, DEFAULT), _claim(found, AUTHORS))
    words = " ".join(dict.fromkeys(f"n = {n}: {images.words}" for n, images in sources.items()))
    return Section(
        name="teapots",
        title=TITLE,
        text=TEXT,
        claims=claims,
        pictures=tuple(pictures),
        tables=tables,
        settings=words,
    )


def embed_ring(images: Images, k: int) -> dict[str, dict[str, Values]]:
    """Coordinates and order errors of all methods, for both choices of reg."""
    return {
        method: {
            reg: _embedded(images, method, k, reg) for reg in ((DEFAULT, AUTHORS) if has_reg(method) else (DEFAULT,))
        }
        for method in ALL_AND_CHART
    }


def _embedded(images: Images, method: str, k: int, reg: str) -> Values:
    tried = attempt(method, images.coordinates(), k, reg=reg)
    if tried.Y is None:
        return {"failure": tried.failure}
    return {"Y": tried.Y.tolist(), "error": ring_order_error(tried.Y, images.load().chart, period=360)}


def _error(values: dict[str, Values], reg: str) -> float | None:
    """Order error of a method, None where it failed; one without reg has the same for all."""
    error: float | None = values.get(reg, values[DEFAULT]).get("error")
    return error


def _table(found: Results, sources: dict[int, Images], reg: str) -> Table:
    header = ("method", *(f"n = {n}, k = {k}" for n, k in found))
    rows = []
    for method in ALL_AND_CHART:
        errors = [_error(of_setting[method], reg) for of_setting in found.values()]
        rows.append((method, *("failed" if error is None else _words(error) for error in errors)))
    note = (
        "Share of neighboring images that are not neighbors on the embedded ring; 'right' is 0. Failed: too few "
        "neighbors for the method, or a neighbor graph in pieces that it puts at points."
    )
    kinds = ", ".join(dict.fromkeys(images.title for images in sources.values()))
    return Table(f"Circular order, {kinds}: {REG_WORDS[reg]}", header, tuple(rows), note)


def _words(error: float) -> str:
    return "right" if error == 0 else f"{error:.2f}"


def _few_neighbors_claim(found: Results) -> Claim:
    errors = {
        (n, variant): _error(of_setting[variant], DEFAULT)
        for (n, k), of_setting in found.items()
        if k == min(NEIGHBORS)
        for variant in VARIANTS
    }
    told = ", ".join(
        f"{variant} {'failed' if error is None else _words(error)} (n = {n})" for (n, variant), error in errors.items()
    )
    settings = [of_setting for (_, k), of_setting in found.items() if k == min(NEIGHBORS)]
    others = [
        baseline
        for baseline in ALL
        if baseline not in VARIANTS and all(_error(one[baseline], DEFAULT) == 0 for one in settings)
    ]
    return Claim(
        "Two neighbors are enough for HNE to embed the teapots as a ring.",
        f"Circular order with k = 2: {told}. Of the baselines, right on all of these: "
        f"{listed(others) if others else 'none'}.",
        verdict_of([error == 0 for error in errors.values()]),
        f"{len(errors)} embeddings",
    )


def _claim(found: Results, reg: str) -> Claim:
    larger = [setting for setting in found if setting[1] > min(NEIGHBORS)]
    right = {method: sum(_error(found[setting][method], reg) == 0 for setting in larger) for method in ALL}
    told = ", ".join(f"{method} {count}" for method, count in right.items())
    return Claim(
        f"With more neighbors HNE keeps the ring where baselines tear or knot it ({REG_WORDS[reg]}).",
        f"Settings with k = 4 and 6 in which the order is right, of {len(larger)}: {told}.",
        verdict_of(
            [right[variant] > right[baseline] for variant in VARIANTS for baseline in ("LLE", "LLC", "LTSA", "MLLE")]
        ),
        f"{len(larger)} settings",
        in_paper=reg == DEFAULT,
    )


def _caption(images: Images, n: int, k: int) -> str:
    return (
        f"{n} images, {images.title}, k = {k}, reg = 1e-4 ({CHART} has its own); color is the angle of "
        "the turntable, and the line follows it. Axes are stretched to their panels."
    )


def _picture(data: Dataset, found: dict[str, dict[str, Values]], k: int) -> Any:
    columns = min(4, len(found))
    rows = -(-len(found) // columns)
    figure, grid = plots.pyplot().subplots(
        rows, columns, figsize=(3.5 * columns, 3.4 * rows), layout="constrained", squeeze=False
    )
    colors = angle_colors(data.chart[:, 0])
    pictures = pictures_of(data)
    for axes in grid.ravel()[len(found) :]:
        axes.remove()
    for axes, (method, values) in zip(grid.ravel(), found.items(), strict=False):
        one = values[DEFAULT]
        if "failure" in one:
            plots.empty_panel(axes, one["failure"], title=f"{method}, k = {k}: failed")
            continue
        Y = np.array(one["Y"])
        ring = np.vstack([Y, Y[:1]])
        axes.plot(*ring.T, color=plots.LINK_COLOR, linewidth=0.8, zorder=1)
        title = f"{method}, k = {k}: order {'right' if one['error'] == 0 else 'wrong by ' + _words(one['error'])}"
        image_panel(axes, Y, colors, pictures, title=title, n_images=10, zoom=26 / pictures.shape[1])
    return figure
