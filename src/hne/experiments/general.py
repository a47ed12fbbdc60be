"""Figure "general data": Swiss roll and Swiss hole of 1000 samples, by the three variants at k = 5."""

from hne import plots
from hne.experiments._cells import Store
from hne.experiments._methods import AUTHORS, REG_WORDS, VARIANTS
from hne.experiments._pictures import error_title, methods_picture, save, strips_picture
from hne.experiments._records import Options, Picture, Section
from hne.experiments._studies import NEIGHBORS, PAPER_NEIGHBORS, PROBLEMS, run_embeddings, run_study
from hne.experiments._summaries import better_claim, recovered_claim, study_tables

TITLE = "Enough samples: Swiss roll and Swiss hole"
TEXT = (
    "1000 samples of a Swiss roll, and of one with a hole cut out. The paper shows the three versions alone; the "
    "rivals are measured beside them."
)
RIVALS = ("LLE", "MLLE", "HLLE", "LTSA", "CLLE", "LLC")


def run(options: Options, store: Store) -> Section:
    """Measure the rolls with LLE beside the variants, the holes with all rivals."""
    neighbors = (PAPER_NEIGHBORS, 6) if options.quick else NEIGHBORS
    roll = run_study(store, "roll of 1000", options.n_seeds, ("LLE", *VARIANTS), neighbors)
    hole = run_study(store, "hole", options.n_seeds, neighbors=neighbors)
    claims = (
        recovered_claim({"Roll": roll, "Hole": hole}, f"At k = {PAPER_NEIGHBORS} all three versions unroll both."),
        recovered_claim({"Roll": roll, "Hole": hole}, f"The same with {REG_WORDS[AUTHORS]}.", reg=AUTHORS),
        better_claim(hole, "On a surface with a hole HNE does better than locally linear rivals.", RIVALS),
    )
    pictures = [
        Picture(save(_picture(store, problem), options.output, f"general-{name}"), _caption(words))
        for name, problem, words in (("roll", "roll of 1000", "roll"), ("hole", "hole", "hole"))
    ]
    strips = save(strips_picture({"Swiss hole, 1000 samples": hole}), options.output, "general-errors")
    pictures.append(
        Picture(strips, f"Errors on the holes of {options.n_seeds} seeds, a dot a seed; the mark is the median.")
    )
    tables = (*study_tables(roll, "Swiss roll, 1000 samples"), *study_tables(hole, "Swiss hole, 1000 samples"))
    return Section("general", TITLE, TEXT, claims, tuple(pictures), tables, f"{options.n_seeds} seeds of each.")


def _caption(words: str) -> str:
    return f"Swiss {words} of 1000 samples (seed 0) by the three versions, k = {PAPER_NEIGHBORS}, reg = 1e-4."


def _picture(store: Store, problem: str) -> object:
    data = PROBLEMS[problem].make(0)
    found = run_embeddings(store, problem, VARIANTS)
    colors = plots.position_colors(data.chart)
    return methods_picture(data, found, colors, error_title(data), columns=1, panel=(6.4, 1.75))
