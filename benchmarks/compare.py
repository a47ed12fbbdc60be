"""Every problem with a known chart by every method: errors, seconds and memory."""

from collections.abc import Callable

from methods import METHODS, load_method
from problems import PROBLEMS
from runner import Results, Row, Task
from tables import megabytes, seconds, table, worst_error

TITLE = "Problems by methods"
N_SAMPLES, LIMIT = 2_000, 30.0
CHARTED = ("swiss_roll", "even_roll", "swiss_hole", "severed_sphere", "s_curve", "bent_cube")


def measure() -> str:
    """Measure and return the section as Markdown."""
    results = Results("compare")
    rows = {
        (problem, method): results.row(Task(problem, method, N_SAMPLES), LIMIT)
        for problem in CHARTED
        for method in METHODS
    }

    def by_cell(cell: Callable[[Row], str]) -> str:
        lines = [[load_method(method).NAME, *(cell(rows[name, method]) for name in CHARTED)] for method in METHODS]
        return table(["", *(PROBLEMS[name].title for name in CHARTED)], lines)

    parameters = [
        [problem.title, f"{problem.n_neighbors}", f"{problem.n_components}", f"{problem.reg:g}"]
        for problem in map(PROBLEMS.__getitem__, CHARTED)
    ]
    text = [
        f"## {TITLE}",
        "",
        f"n = {N_SAMPLES}, each run in a fresh process of at most {LIMIT:g} s; imports and compilation not counted.",
        "All methods get the same k, and those that have one the same reg. A sphere is not flat: nobody can bring its",
        "error to 0.",
        "",
        table(["", "k", "d", "reg"], parameters),
        "",
        "Affine error of the worst coordinate:",
        "",
        by_cell(worst_error),
        "",
        "Seconds:",
        "",
        by_cell(seconds),
        "",
        "Peak memory of the process, MB:",
        "",
        by_cell(megabytes),
    ]
    results.finish()
    return "\n".join(text)
