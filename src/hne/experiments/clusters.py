"""Figure "weak links": five clusters of 300 samples in all, nine points between adjacent ones."""

from typing import Any

from hne._types import FloatArray
from hne.datasets import Dataset
from hne.experiments._cells import Store
from hne.experiments._methods import AUTHORS, DEFAULT, REG_WORDS, VARIANTS
from hne.experiments._pictures import label_colors, methods_picture, save, strips_picture
from hne.experiments._records import Claim, Options, Picture, Section, Table
from hne.experiments._statistics import is_failed, median, number, spread
from hne.experiments._studies import PAPER_NEIGHBORS, PROBLEMS, Study, run_embeddings, run_study
from hne.experiments._summaries import better_claim, study_tables, verdict_of

TITLE = "Weak links: 3D-Cluster"
TEXT = (
    "Five clusters that hang together by nine points between adjacent ones. Locally linear methods draw such "
    "clusters as points; a good picture shows five patches apart from each other. Two numbers tell: the overlap, and "
    "the spread of the most collapsed cluster as a share of its true one."
)
RIVALS = ("LLE", "CLLE", "LLC", "LTSA")


def run(options: Options, store: Store) -> Section:
    """Measure overlap and spread of the clusters."""
    study = run_study(store, "clusters", options.n_seeds)
    claims = (
        better_claim(study, "HNE keeps weakly linked clusters apart better than LLE, CLLE, LLC and LTSA.", RIVALS),
        _spread_claim(study, RIVALS),
    )
    picture = Picture(
        save(_picture(store), options.output, "clusters"),
        f"3D-Cluster of 300 samples (seed 0), k = {PAPER_NEIGHBORS}, reg = 1e-4: five clusters and, gray, the points "
        "between them. Axes of the embeddings are stretched to their panels.",
    )
    strips = strips_picture({"3D-Cluster": study}, xlabel="overlap of the clusters")
    file = save(strips, options.output, "clusters-errors")
    pictures = (picture, Picture(file, f"Overlap of the clusters, {options.n_seeds} seeds, a dot a seed."))
    tables = (*study_tables(study, "Overlap of the clusters"), *(_spreads(study, reg) for reg in (DEFAULT, AUTHORS)))
    return Section("clusters", TITLE, TEXT, claims, pictures, tables, f"{options.n_seeds} seeds.")


def _spread_of(study: Study, method: str, reg: str = DEFAULT) -> list[float]:
    return study.of(method, PAPER_NEIGHBORS, reg, "spread")


def _spread_claim(study: Study, rivals: tuple[str, ...]) -> Claim:
    ran = [rival for rival in rivals if not is_failed(_spread_of(study, rival))]
    medians = {method: median(_spread_of(study, method)) for method in (*ran, *VARIANTS)}
    told = ", ".join(f"{method} {number(value)}" for method, value in medians.items())
    return Claim(
        "HNE does not collapse weakly linked clusters, as LLE, CLLE, LLC and LTSA do.",
        f"Spread of the most collapsed cluster as a share of its true spread at k = {PAPER_NEIGHBORS}, median: {told}.",
        verdict_of([medians[variant] > medians[rival] for variant in VARIANTS for rival in ran]),
        f"{study.n_seeds} seeds",
    )


def _spreads(study: Study, reg: str) -> Table:
    rows = tuple(
        (
            method,
            spread(_spread_of(study, method, reg)),
            spread(study.of(method, study.best_k(method, reg), reg, "spread")),
        )
        for method in study.methods
    )
    note = (
        "Radius of the most collapsed cluster relative to the whole embedding, as a share of the same in space: near "
        "1 is true, near 0 is a point."
    )
    header = ("method", f"k = {PAPER_NEIGHBORS}", "at the k of least overlap")
    return Table(f"Spread of the most collapsed cluster: {REG_WORDS[reg]}", header, rows, note)


def _picture(store: Store) -> Any:
    data = PROBLEMS["clusters"].make(0)
    found = run_embeddings(store, "clusters")
    colors = label_colors(data.labels)
    return methods_picture(data, found, colors, _title(data), columns=3, panel=(2.6, 2.1), view=(18, -60))


def _title(data: Dataset) -> Any:
    def title(method: str, Y: FloatArray) -> str:
        found = PROBLEMS["clusters"].measure(Y, data)
        return f"{method}: overlap {number(found['error'])}, spread {number(found['spread'])}"

    return title
