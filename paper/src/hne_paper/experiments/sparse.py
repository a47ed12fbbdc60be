"""Figure "sparse data": Swiss rolls of 300 samples by all methods at k = 5, spread evenly and at random."""

from typing import Any

from hne.viz import plots
from hne_paper.experiments._cells import Store
from hne_paper.experiments._methods import AUTHORS, REG_WORDS
from hne_paper.experiments._pictures import CHART_CAPTION, error_title, methods_picture, save, strips_picture
from hne_paper.experiments._records import Options, Picture, Section
from hne_paper.experiments._studies import PAPER_NEIGHBORS, PROBLEMS, run_embeddings, run_study
from hne_paper.experiments._summaries import better_claim, scores, study_tables, typical_seed

TITLE = "Sparse data: Swiss roll of 300 samples"
TEXT = (
    "So few samples that neighbors along the strip are hardly nearer than the next turn. The paper spreads them "
    "evenly and shows one roll; here are many, and rolls sampled at random as well, which are harder."
)
BASELINES = ("LLE", "HLLE", "LLC", "LTSA", "MLLE")
KINDS = {"even": "roll, spread evenly", "random": "roll, at random"}
SAYS = {
    "even": "On a sparse roll, spread evenly, HNE unrolls what LLE, HLLE, LLC, LTSA and MLLE fold or tear.",
    "random": "The same on sparse rolls sampled at random.",
}


def run(options: Options, store: Store) -> Section:
    """Measure both kinds of rolls, draw one of each."""
    studies = {kind: run_study(store, problem, options.n_seeds) for kind, problem in KINDS.items()}
    claims = [better_claim(studies[kind], SAYS[kind], BASELINES, in_paper=kind == "even") for kind in KINDS]
    says = f"The same, spread evenly, with {REG_WORDS[AUTHORS]}."
    claims.append(better_claim(studies["even"], says, BASELINES, reg=AUTHORS, in_paper=False))
    seeds = {kind: typical_seed(study) for kind, study in studies.items()}
    pictures = [
        Picture(
            save(_picture(store, problem, seeds[kind]), options.output, f"sparse-{kind}"),
            f"{problem[0].upper()}{problem[1:]}, 300 samples (seed {seeds[kind]}, near the medians), k = "
            f"{PAPER_NEIGHBORS}, reg = 1e-4. {CHART_CAPTION} Color is the true place, hue along and lightness across "
            "the strip; each embedding is turned and scaled to the true strip.",
        )
        for kind, problem in KINDS.items()
    ]
    titles = {"Spread evenly": studies["even"], "At random": studies["random"]}
    strips = save(strips_picture(titles), options.output, "sparse-errors")
    pictures.append(
        Picture(strips, f"Errors on {options.n_seeds} rolls of each kind, a dot a roll; the mark is the median.")
    )
    tables = tuple(table for title, study in titles.items() for table in study_tables(study, title))
    won = (score for kind, problem in KINDS.items() for score in scores(studies[kind], f"Swiss {problem}"))
    return Section(
        name="sparse",
        title=TITLE,
        text=TEXT,
        claims=tuple(claims),
        pictures=tuple(pictures),
        tables=tables,
        scores=tuple(won),
        settings=f"{options.n_seeds} seeds of each.",
    )


def _picture(store: Store, problem: str, seed: int) -> Any:
    data = PROBLEMS[problem].make(seed)
    found = run_embeddings(store, problem, seed=seed)
    return methods_picture(data, found, plots.position_colors(data.chart), error_title(data), panel=(4.3, 1.25))
