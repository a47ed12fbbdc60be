"""Noisy Swiss rolls, which the paper does not show: how much noise the methods bear."""

from hne.viz import plots
from hne_paper.experiments._cells import Store
from hne_paper.experiments._pictures import CHART_CAPTION, error_title, methods_picture, save, strips_picture
from hne_paper.experiments._records import Options, Picture, Section
from hne_paper.experiments._studies import NEIGHBORS, PAPER_NEIGHBORS, PROBLEMS, run_embeddings, run_study
from hne_paper.experiments._summaries import better_claim, scores, study_tables, typical_seed

TITLE = "Noise: Swiss rolls off their surface"
TEXT = (
    "600 samples of a Swiss roll with Gaussian noise added to each coordinate, of standard deviation 0.3 and 0.6; "
    "the turns are 6.3 apart. The paper has no such experiment, but most data has noise."
)
LEVELS = {"noise 0.3": "Noise of 0.3", "noise 0.6": "Noise of 0.6"}
BASELINES = ("LLE", "MLLE", "HLLE", "LTSA", "CLLE", "LLC")


def run(options: Options, store: Store) -> Section:
    """Measure both levels, draw the smaller."""
    neighbors = (PAPER_NEIGHBORS, 8) if options.quick else NEIGHBORS
    studies = {problem: run_study(store, problem, options.n_seeds, neighbors=neighbors) for problem in LEVELS}
    claims = tuple(
        better_claim(
            studies[problem],
            f"HNE bears noise better than locally linear baselines. {words}.",
            BASELINES,
            in_paper=False,
        )
        for problem, words in LEVELS.items()
    )
    problem = "noise 0.3"
    seed = typical_seed(studies[problem])
    data = PROBLEMS[problem].make(seed)
    found = run_embeddings(store, problem, seed=seed)
    figure = methods_picture(data, found, plots.position_colors(data.chart), error_title(data), panel=(4.3, 1.25))
    strips = strips_picture({LEVELS[problem]: study for problem, study in studies.items()})
    pictures = (
        Picture(
            save(figure, options.output, "noisy"),
            f"Noise of 0.3 (seed {seed}, near the medians), k = {PAPER_NEIGHBORS}, reg = 1e-4. {CHART_CAPTION}",
        ),
        Picture(
            save(strips, options.output, "noisy-errors"), f"Errors of {options.n_seeds} seeds a level, a dot a seed."
        ),
    )
    tables = tuple(table for problem, words in LEVELS.items() for table in study_tables(studies[problem], words))
    won = (score for problem in LEVELS for score in scores(studies[problem], f"Swiss roll, {problem}"))
    return Section(
        name="noisy",
        title=TITLE,
        text=TEXT,
        claims=claims,
        pictures=pictures,
        tables=tables,
        scores=tuple(won),
        settings=f"{options.n_seeds} seeds of each level.",
    )
