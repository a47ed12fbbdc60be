"""Figure "weak links": five clusters of 300 samples in all, nine points between adjacent ones."""

from typing import Any

from hne.core.records import FloatArray
from hne.datasets import Dataset
from hne_paper.experiments._cells import Store
from hne_paper.experiments._methods import AUTHORS, DEFAULT, REG_WORDS
from hne_paper.experiments._pictures import CHART_CAPTION, label_colors, methods_picture, save, strips_picture
from hne_paper.experiments._records import Options, Picture, Section
from hne_paper.experiments._statistics import number
from hne_paper.experiments._studies import PAPER_NEIGHBORS, PROBLEMS, run_embeddings, run_study
from hne_paper.experiments._summaries import better_claim, measure_tables, scores, study_tables, typical_seed

TITLE = "Weak links: 3D-Cluster"
TEXT = (
    "Five clusters that hang together by nine points between adjacent ones. Locally linear methods draw such clusters "
    "as points; a good picture shows five patches apart from each other. Points never overlap and a heap keeps its "
    "spread, so the error counts both: 1 - (1 - overlap) x (spread of the most collapsed cluster, as a share of its "
    "true one)."
)
BASELINES = ("LLE", "CLLE", "LLC", "LTSA")
MEASURES = {
    "overlap": "Share of the five nearest in the embedding that are of other clusters: 0 says that they are apart.",
    "spread": "Radius of the most collapsed cluster relative to the whole embedding, as a share of the same in space: "
    "1 is true, near 0 is a point.",
}


def run(options: Options, store: Store) -> Section:
    """Measure overlap and spread of the clusters."""
    study = run_study(store, "clusters", options.n_seeds)
    says = "HNE shows weakly linked clusters as clusters, apart from each other, where LLE, CLLE, LLC and LTSA do not"
    claims = tuple(
        better_claim(study, f"{says} ({REG_WORDS[reg]}).", BASELINES, reg=reg, in_paper=reg == DEFAULT)
        for reg in (DEFAULT, AUTHORS)
    )
    seed = typical_seed(study)
    pictures = [
        Picture(
            save(_picture(store, reg, seed), options.output, f"clusters-{reg}"),
            f"3D-Cluster of 300 samples (seed {seed}, near the medians), k = {PAPER_NEIGHBORS}, {REG_WORDS[reg]}: "
            f"five clusters and, gray, the points between them. {CHART_CAPTION} Axes of the others are stretched to "
            "their panels.",
        )
        for reg in (DEFAULT, AUTHORS)
    ]
    strips = strips_picture({"3D-Cluster": study}, xlabel="error of the clusters")
    file = save(strips, options.output, "clusters-errors")
    pictures.append(Picture(file, f"Errors of {options.n_seeds} seeds, a dot a seed; the mark is the median."))
    tables = (*study_tables(study, "Error of the clusters"), *measure_tables(study, MEASURES))
    return Section(
        name="clusters",
        title=TITLE,
        text=TEXT,
        claims=claims,
        pictures=tuple(pictures),
        tables=tables,
        scores=scores(study, "3D-Cluster"),
        settings=f"{options.n_seeds} seeds.",
    )


def _picture(store: Store, reg: str, seed: int) -> Any:
    data = PROBLEMS["clusters"].make(seed)
    found = run_embeddings(store, "clusters", reg=reg, seed=seed)
    colors = label_colors(data.labels)
    return methods_picture(data, found, colors, _title(data), panel=(3.6, 1.9), view=(18, -60))


def _title(data: Dataset) -> Any:
    def title(method: str, Y: FloatArray) -> str:
        found = PROBLEMS["clusters"].measure(Y, data)
        return f"{method}: overlap {number(found['overlap'])}, spread {number(found['spread'])}"

    return title
