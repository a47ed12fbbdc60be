"""Figure "sparse and weak": two surfaces of 150 samples in all, joined by nine points."""

from dataclasses import replace
from typing import Any

from hne.core.records import FloatArray
from hne.datasets import Dataset
from hne_paper.experiments._cells import Store
from hne_paper.experiments._pictures import CHART_CAPTION, label_colors, methods_picture, save, strips_picture
from hne_paper.experiments._records import Options, Picture, Section
from hne_paper.experiments._statistics import number
from hne_paper.experiments._studies import PAPER_NEIGHBORS, PROBLEMS, run_embeddings, run_study
from hne_paper.experiments._summaries import better_claim, measure_tables, scores, study_tables, typical_seed

TITLE = "Sparse and weakly connected: 2-Surfaces"
TEXT = (
    "Two bent surfaces of 71 and 70 samples, hanging together by nine points on a line. A good picture shows two "
    "sheets, each true within itself and apart from the other: the error is 1 - (1 - affine error within a surface) "
    "x (1 - overlap)."
)
BASELINES = ("LLE", "HLLE", "CLLE", "LLC", "LTSA")
MEASURES = {
    "within": "Affine error within a surface, mean of the two.",
    "overlap": "Share of the five nearest in the embedding that are of the other surface: 0 says that they are apart.",
}


def run(options: Options, store: Store) -> Section:
    """Measure errors within the surfaces, and whether they overlap."""
    study = run_study(store, "surfaces", options.n_seeds)
    says = "HNE shows two sparse, weakly joined surfaces true and apart, where LLE, HLLE, CLLE, LLC and LTSA do not."
    seed = typical_seed(study)
    picture = Picture(
        save(_picture(store, seed), options.output, "surfaces"),
        f"2-Surfaces of 150 samples (seed {seed}, near the medians), k = {PAPER_NEIGHBORS}, reg = 1e-4: two surfaces "
        f"and, gray, the nine points that join them. {CHART_CAPTION} Axes of the others are stretched to their "
        "panels.",
    )
    strips = save(
        strips_picture({"2-Surfaces": study}, xlabel="error of the surfaces"), options.output, "surfaces-errors"
    )
    pictures = (picture, Picture(strips, f"Errors of {options.n_seeds} seeds, a dot a seed."))
    tables = (*study_tables(study, "Error of the surfaces"), *measure_tables(study, MEASURES))
    return Section(
        name="surfaces",
        title=TITLE,
        text=TEXT,
        claims=(better_claim(study, says, BASELINES),),
        pictures=pictures,
        tables=tables,
        scores=scores(study, "2-Surfaces"),
        settings=f"{options.n_seeds} seeds.",
    )


def _picture(store: Store, seed: int) -> Any:
    data = PROBLEMS["surfaces"].make(seed)
    found = run_embeddings(store, "surfaces", seed=seed)
    view = (14, -72)
    return methods_picture(
        _without_chart(data), found, label_colors(data.labels), _title(data), panel=(3.6, 1.9), view=view
    )


def _without_chart(data: Dataset) -> Dataset:
    """The data as if nothing were known about coordinates: one chart for both surfaces would tear at the thread."""
    return replace(data, chart=data.chart[:, :0], chart_names=())


def _title(data: Dataset) -> Any:
    def title(method: str, Y: FloatArray) -> str:
        found = PROBLEMS["surfaces"].measure(Y, data)
        return f"{method}: within {number(found['within'])}, overlap {number(found['overlap'])}"

    return title
