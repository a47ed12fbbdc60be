"""Figure "statue faces": images of a head under two pose angles and one light, by all methods at k = 5, 6 and 8."""

from typing import Any

import numpy as np

from hne.datasets import Dataset
from hne.metrics import affine_errors
from hne.viz import plots
from hne_paper.experiments._cells import Cell, Store
from hne_paper.experiments._images import Images, find_faces, pictures_of
from hne_paper.experiments._methods import ALL_AND_CHART, AUTHORS, CHART, DEFAULT, REG_WORDS, VARIANTS, attempt, has_reg
from hne_paper.experiments._pictures import image_panel, save
from hne_paper.experiments._records import Claim, Options, Picture, Section, Table
from hne_paper.experiments._summaries import verdict_of

TITLE = "Statue faces"
TEXT = (
    "Images of a head that differ in two pose angles and the direction of the light. A good embedding in three "
    "dimensions has all three as coordinates: R^2 tells what share of an angle an affine map of the embedding "
    "explains."
)
NEIGHBORS = (5, 6, 8)
PICTURE_METHODS = ("LLE", "LLC", "LTSA", "MLLE", *VARIANTS, CHART)
BASELINES = ("LLE", "LLC", "LTSA", "MLLE")

Values = dict[str, Any]


def run(options: Options, store: Store) -> Section:
    """Embed the faces in two dimensions for the pictures and in three for the angles."""
    images = find_faces(options)
    data = images.load()
    neighbors = NEIGHBORS[1:2] if options.quick else NEIGHBORS
    planes = store.measured(
        "pictures", [_plane_cell(images, method, k) for k in neighbors for method in PICTURE_METHODS]
    )
    spaces = store.measured("angles", [_angles_cell(images, method, k) for k in neighbors for method in ALL_AND_CHART])
    found = {
        k: dict(zip(PICTURE_METHODS, planes[place * len(PICTURE_METHODS) :], strict=False))
        for place, k in enumerate(neighbors)
    }
    explained = {
        k: dict(zip(ALL_AND_CHART, spaces[place * len(ALL_AND_CHART) :], strict=False))
        for place, k in enumerate(neighbors)
    }
    pictures = tuple(
        Picture(save(_picture(data, found[k], k), options.output, f"faces-k{k}"), _caption(images, k))
        for k in neighbors
    )
    tables = tuple(_table(data, explained, reg) for reg in (DEFAULT, AUTHORS))
    claims = (_claim(data, explained, DEFAULT), _claim(data, explained, AUTHORS))
    return Section(
        name="faces",
        title=TITLE,
        text=TEXT,
        claims=claims,
        pictures=pictures,
        tables=tables,
        settings=images.words,
    )


def _plane_cell(images: Images, method: str, k: int) -> Cell:
    return Cell(f"{images.name} plane {method} k={k}", embed_in_plane, (images, method, k))


def _angles_cell(images: Images, method: str, k: int) -> Cell:
    return Cell(f"{images.name} angles {method} k={k}", explain_angles, (images, method, k))


def embed_in_plane(images: Images, method: str, k: int) -> Values:
    """Coordinates for a picture."""
    tried = attempt(method, images.coordinates(), k)
    return {"failure": tried.failure} if tried.Y is None else {"Y": tried.Y.tolist()}


def explain_angles(images: Images, method: str, k: int) -> dict[str, Values]:
    """R^2 of each angle from the embedding in three dimensions, for both choices of reg."""
    chart, explained = images.load().chart, {}
    for reg in (DEFAULT, AUTHORS) if has_reg(method) else (DEFAULT,):
        tried = attempt(method, images.coordinates(), k, n_components=3, reg=reg)
        explained[reg] = (
            {"failure": tried.failure} if tried.Y is None else {"R2": (1 - affine_errors(tried.Y, chart)).tolist()}
        )
    return explained


def _of(explained: dict[str, Values], reg: str) -> Values:
    """The values of a method; one without reg has the same for all."""
    values: Values = explained.get(reg, explained[DEFAULT])
    return values


def _table(data: Dataset, explained: dict[int, dict[str, dict[str, Values]]], reg: str) -> Table:
    header = ("method", *(f"k = {k}: {name}" for k in explained for name in data.chart_names))
    rows = []
    for method in ALL_AND_CHART:
        cells = [method]
        for of_k in explained.values():
            values = _of(of_k[method], reg)
            cells += [f"{value:.2f}" for value in values["R2"]] if "R2" in values else ["-"] * len(data.chart_names)
        rows.append(tuple(cells))
    failures = {
        f"{method} at k = {k}: {_of(of_k[method], reg)['failure']}"
        for k, of_k in explained.items()
        for method in ALL_AND_CHART
        if "failure" in _of(of_k[method], reg)
    }
    return Table(
        f"R^2 of the angles from three coordinates: {REG_WORDS[reg]}", header, tuple(rows), " ".join(sorted(failures))
    )


def _claim(data: Dataset, explained: dict[int, dict[str, dict[str, Values]]], reg: str) -> Claim:
    outcomes, sentences = [], []
    for k, of_k in explained.items():
        means = {
            method: float(np.mean(_of(of_k[method], reg)["R2"]))
            for method in (*BASELINES, *VARIANTS)
            if "R2" in _of(of_k[method], reg)
        }
        ran = [baseline for baseline in BASELINES if baseline in means]
        # A version that failed explains nothing.
        outcomes += [means.get(variant, 0.0) > means[baseline] for variant in VARIANTS for baseline in ran]
        sentences.append(f"k = {k}: {', '.join(f'{method} {value:.2f}' for method, value in means.items())}.")
    return Claim(
        f"HNE arranges the faces by pose and light more clearly than LLE, LLC, LTSA and MLLE ({REG_WORDS[reg]}).",
        f"Mean R^2 of {len(data.chart_names)} angles from three coordinates. {' '.join(sentences)}",
        verdict_of(outcomes),
        f"{len(data)} images, {len(explained)} k",
        in_paper=reg == DEFAULT,
    )


def _caption(images: Images, k: int) -> str:
    return (
        f"{images.title}, k = {k}, reg = 1e-4 ({CHART} has its own): two coordinates, some images drawn at "
        "their points; color is the pan angle. Axes are stretched to their panels."
    )


def _picture(data: Dataset, found: dict[str, Values], k: int) -> Any:
    figure, grid = plots.pyplot().subplots(2, 4, figsize=(14, 7.2), layout="constrained")
    pan = data.chart[:, list(data.chart_names).index("pan")]
    colors = plots.value_colors(pan)
    pictures = pictures_of(data)
    zoom = 30 / pictures.shape[1]
    for axes, method in zip(grid.ravel(), found, strict=True):
        values = found[method]
        if "failure" in values:
            plots.empty_panel(axes, values["failure"], title=f"{method}, k = {k}: failed")
        else:
            image_panel(axes, np.array(values["Y"]), colors, pictures, title=f"{method}, k = {k}", zoom=zoom)
    return figure
