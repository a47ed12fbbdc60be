"""A kind of data, many seeds, all methods -> errors: what the claims about synthetic data are measured on."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from hne._runtime.files import atomic_write, make_folder
from hne.core.records import FloatArray
from hne.datasets import Dataset, make_clusters, make_swiss_hole, make_swiss_roll, make_two_surfaces
from hne.metrics import affine_errors
from hne_paper.experiments._cells import Cell, Store, file_name
from hne_paper.experiments._methods import ALL_AND_CHART, AUTHORS, CHART, DEFAULT, OWN, REG, attempt, has_reg
from hne_paper.experiments._statistics import median
from hne_paper.metrics import group_affine_errors, label_overlap, label_spread

NEIGHBORS = (4, 5, 6, 7, 8)
PAPER_NEIGHBORS = 5
NUMBERS = "numbers"  # folder of the tables

Measures = dict[str, float]
Row = dict[str, Any]


def _roll_error(Y: FloatArray, data: Dataset) -> Measures:
    return {"error": float(affine_errors(Y, data.chart).mean())}


def _surface_errors(Y: FloatArray, data: Dataset) -> Measures:
    """Mean error within the surfaces, and their overlap; `error` is what is lost of both."""
    within, overlap = float(group_affine_errors(Y, data.chart, data.labels).mean()), label_overlap(Y, data.labels)
    return {"error": 1 - (1 - within) * (1 - overlap), "within": within, "overlap": overlap}


def _cluster_errors(Y: FloatArray, data: Dataset) -> Measures:
    """Overlap, and the spread of the most collapsed cluster as a share of its true one: either alone is easily had.

    `error` is what is lost of both, 0 for clusters apart and of their true size.
    """
    overlap = label_overlap(Y, data.labels)
    shares = label_spread(Y, data.labels) / label_spread(data.X, data.labels)
    least = float(shares.min())
    return {"error": 1 - (1 - overlap) * min(1.0, least), "overlap": overlap, "spread": least}


@dataclass(frozen=True)
class Problem:
    """Data by seed, and what an embedding of it is measured by; `error` is what methods compete in."""

    make: Callable[[int], Dataset]
    measure: Callable[[FloatArray, Dataset], Measures]
    right: float = 0.05  # an error below is an embedding that one would be glad of


PROBLEMS = {
    "roll, spread evenly": Problem(lambda seed: make_swiss_roll(300, even=True, random_state=seed), _roll_error),
    "roll, at random": Problem(lambda seed: make_swiss_roll(300, random_state=seed), _roll_error),
    "roll of 1000, at random": Problem(lambda seed: make_swiss_roll(1000, random_state=seed), _roll_error),
    "hole, spread evenly": Problem(lambda seed: make_swiss_hole(1000, even=True, random_state=seed), _roll_error),
    "hole, at random": Problem(lambda seed: make_swiss_hole(1000, random_state=seed), _roll_error),
    "noise 0.3": Problem(lambda seed: make_swiss_roll(600, noise=0.3, random_state=seed), _roll_error),
    "noise 0.6": Problem(lambda seed: make_swiss_roll(600, noise=0.6, random_state=seed), _roll_error),
    "surfaces": Problem(lambda seed: make_two_surfaces(150, random_state=seed), _surface_errors),
    "clusters": Problem(lambda seed: make_clusters(300, random_state=seed), _cluster_errors, right=0.5),
}


def measure_seed(problem: str, seed: int, methods: Sequence[str], neighbors: Sequence[int]) -> list[Row]:
    """Measure all methods at all k, with both choices of reg where a method has one, on the data of one seed.

    A chart is measured at its own k as well.
    """
    data = PROBLEMS[problem].make(seed)
    rows = []
    for method in methods:
        for reg in (DEFAULT, AUTHORS) if has_reg(method) else (DEFAULT,):
            for k in (*neighbors, OWN) if method == CHART else neighbors:
                tried = attempt(method, data.X, k, reg=reg)
                found = {"failure": tried.failure} if tried.Y is None else PROBLEMS[problem].measure(tried.Y, data)
                rows.append({"method": method, "reg": reg, "k": k, **found})
    return rows


def embed_seed(
    problem: str, seed: int, methods: Sequence[str], n_neighbors: int, reg: str
) -> dict[str, dict[str, Any]]:
    """Embed the data of one seed for a picture: the coordinates of each method, or why there are none.

    A chart has its own k.
    """
    data = PROBLEMS[problem].make(seed)
    k_of = {method: OWN if method == CHART else n_neighbors for method in methods}
    tried = {method: attempt(method, data.X, k, reg=reg) for method, k in k_of.items()}
    return {
        method: {"failure": one.failure} if one.Y is None else {"Y": one.Y.tolist()} for method, one in tried.items()
    }


@dataclass(frozen=True)
class Study:
    """The rows of all seeds."""

    problem: str
    n_seeds: int
    rows: tuple[tuple[Row, ...], ...]  # of each seed
    methods: tuple[str, ...] = field(default=ALL_AND_CHART)

    @property
    def neighbors(self) -> tuple[int, ...]:
        """The k that all methods were tried with."""
        return tuple(dict.fromkeys(row["k"] for row in self.rows[0] if row["k"] != OWN))

    def of(self, method: str, k: int | None, reg: str = DEFAULT, measure: str = "error") -> list[float]:
        """A measure of each seed; inf where the method failed. A method without reg has one result for all."""
        reg = reg if has_reg(method) else DEFAULT
        return [
            next(row.get(measure, inf) for row in seed if (row["method"], row["k"], row["reg"]) == (method, k, reg))
            for seed in self.rows
        ]

    def n_right(self, method: str, k: int | None, reg: str = DEFAULT) -> int:
        """On how many seeds the method is right."""
        return sum(error < PROBLEMS[self.problem].right for error in self.of(method, k, reg))

    def best_k(self, method: str, reg: str = DEFAULT) -> int | None:
        """The k of the lowest median error, known only to who knows the truth; the smaller of equals.

        A chart has its own instead, which needs no truth.
        """
        if method == CHART:
            return OWN
        return min(self.neighbors, key=lambda k: (median(self.of(method, k, reg)), k))


def run_study(
    store: Store,
    problem: str,
    n_seeds: int,
    methods: Sequence[str] = ALL_AND_CHART,
    neighbors: Sequence[int] = NEIGHBORS,
) -> Study:
    """Measure the seeds that no file has yet."""
    cells = [
        Cell(f"{problem} seed={seed}", measure_seed, (problem, seed, tuple(methods), tuple(neighbors)))
        for seed in range(n_seeds)
    ]
    rows = store.measured(problem, cells)
    study = Study(problem, n_seeds, tuple(map(tuple, rows)), tuple(methods))
    write_numbers(study, store.output)
    return study


def write_numbers(study: Study, output: Path) -> None:
    """Write all that was measured as a table, a row for each seed, method, k and reg; of charts, as another one."""
    make_folder(output / NUMBERS)
    name = file_name(study.problem)
    _write_rows(study, [method for method in study.methods if method != CHART], output / NUMBERS / f"{name}.csv")
    if CHART in study.methods:
        _write_rows(study, [CHART], output / NUMBERS / f"{name}-chart.csv")


def _write_rows(study: Study, methods: Sequence[str], file: Path) -> None:
    measures = list(dict.fromkeys(name for seed in study.rows for row in seed for name in row))
    measures = [name for name in measures if name not in {"method", "reg", "k", "failure"}]
    header = ["data", "samples", "seed", "method", "k", "reg", *measures, "failure"]
    samples = len(PROBLEMS[study.problem].make(0))
    with atomic_write(file) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(header)
        for seed, rows in enumerate(study.rows):
            for row in (one for one in rows if one["method"] in methods):
                reg = REG[row["reg"]] if has_reg(row["method"]) else ""
                values = [row.get(name, "") for name in (*measures, "failure")]
                table.writerow([study.problem, samples, seed, row["method"], row["k"] or "own", reg, *values])


def run_embeddings(
    store: Store,
    problem: str,
    methods: Sequence[str] = ALL_AND_CHART,
    n_neighbors: int = PAPER_NEIGHBORS,
    reg: str = DEFAULT,
    seed: int = 0,
) -> dict[str, FloatArray | str]:
    """Coordinates of each method for a picture, or the reason why it has none."""
    name = f"{problem} picture k={n_neighbors} {reg} seed={seed}"
    cell = Cell(name, embed_seed, (problem, seed, tuple(methods), n_neighbors, reg))
    (found,) = store.measured("picture", [cell])
    return {method: np.array(one["Y"]) if "Y" in one else one["failure"] for method, one in found.items()}
