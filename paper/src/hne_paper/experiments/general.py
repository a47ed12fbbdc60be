"""Figure "general data": Swiss roll and Swiss hole of 1000 samples, by the three variants at k = 5."""

from hne.viz import plots
from hne_paper.experiments._cells import Store
from hne_paper.experiments._methods import AUTHORS, CHART, REG_WORDS, VARIANTS
from hne_paper.experiments._pictures import CHART_CAPTION, error_title, methods_picture, save, strips_picture
from hne_paper.experiments._records import Options, Picture, Section
from hne_paper.experiments._studies import NEIGHBORS, PAPER_NEIGHBORS, PROBLEMS, run_embeddings, run_study
from hne_paper.experiments._summaries import better_claim, recovered_claim, scores, study_tables, typical_seed

TITLE = "Enough samples: Swiss roll and Swiss hole"
TEXT = (
    "1000 samples of a Swiss roll, and of one with a hole cut out. The paper shows the three versions alone; the "
    "baselines are measured beside them."
)
BASELINES = ("LLE", "MLLE", "HLLE", "LTSA", "CLLE", "LLC")


ROLL, HOLES = "roll of 1000, at random", ("hole, spread evenly", "hole, at random")


def run(options: Options, store: Store) -> Section:
    """Measure the rolls with LLE beside the variants, the holes with all baselines."""
    neighbors = (PAPER_NEIGHBORS, 6) if options.quick else NEIGHBORS
    roll = run_study(store, ROLL, options.n_seeds, ("LLE", *VARIANTS, CHART), neighbors)
    holes = {problem: run_study(store, problem, options.n_seeds, neighbors=neighbors) for problem in HOLES}
    words = {"Roll, at random": roll, **{f"H{problem[1:]}": study for problem, study in holes.items()}}
    says = f"At k = {PAPER_NEIGHBORS} all three versions unroll most rolls and holes."
    claims = [
        recovered_claim(words, says),
        recovered_claim(words, f"{says} With {REG_WORDS[AUTHORS]}.", reg=AUTHORS, in_paper=False),
    ]
    for problem, study in holes.items():
        says = f"HNE does better than baselines on a surface with a hole ({problem})."
        claims.append(better_claim(study, says, BASELINES, in_paper=False))
    seeds = {study.problem: typical_seed(study) for study in (roll, *holes.values())}
    pictures = [
        Picture(
            save(_picture(store, problem, seeds[problem]), options.output, f"general-{name}"),
            f"Swiss {problem}, 1000 samples (seed {seeds[problem]}, near the medians), k = {PAPER_NEIGHBORS}, reg = "
            f"1e-4. {CHART_CAPTION} Color is the true place, hue along and lightness across the strip.",
        )
        for name, problem in (("roll", ROLL), ("hole-even", HOLES[0]), ("hole-random", HOLES[1]))
    ]
    strips = save(
        strips_picture({f"H{problem[1:]}": study for problem, study in holes.items()}), options.output, "general-errors"
    )
    caption = f"Errors on the holes of {options.n_seeds} seeds, a dot a seed; the mark is the median."
    pictures.append(Picture(strips, caption))
    tables = tuple(table for title, study in words.items() for table in study_tables(study, title))
    won = (score for problem, study in holes.items() for score in scores(study, f"Swiss {problem}"))
    return Section(
        name="general",
        title=TITLE,
        text=TEXT,
        claims=tuple(claims),
        pictures=tuple(pictures),
        tables=tables,
        scores=tuple(won),
        settings=f"{options.n_seeds} seeds of each.",
    )


def _picture(store: Store, problem: str, seed: int) -> object:
    data = PROBLEMS[problem].make(seed)
    found = run_embeddings(store, problem, (*VARIANTS, CHART), seed=seed)
    colors = plots.position_colors(data.chart)
    return methods_picture(data, found, colors, error_title(data), columns=1, panel=(6.4, 1.75))
