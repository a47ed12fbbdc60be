"""Every problem by every method: errors, seconds and memory."""

from collections.abc import Callable

from methods import METHODS, load_method
from problems import PROBLEMS
from runner import Results, Row, Task
from tables import megabytes, seconds, table, worst_error

TITLE = "All problems, all methods"
N_SAMPLES, LIMIT = 2_000, 30.0


def measure() -> str:
    """Measure and return the section as Markdown."""
    results = Results("compare")
    rows = {
        (problem, method): results.row(Task(problem, method, N_SAMPLES), LIMIT)
        for problem in PROBLEMS
        for method in METHODS
    }

    def by_cell(cell: Callable[[Row], str], names: list[str]) -> str:
        lines = [[load_method(method).NAME, *(cell(rows[name, method]) for name in names)] for method in METHODS]
        return table(["", *(PROBLEMS[name].title for name in names)], lines)

    with_truth = [name for name in PROBLEMS if any("errors" in rows[name, method] for method in METHODS)]
    parameters = [
        [problem.title, f"{problem.n_neighbors}", f"{problem.n_components}", f"{problem.reg:g}"]
        for problem in PROBLEMS.values()
    ]
    text = [
        f"## {TITLE}",
        "",
        f"n = {N_SAMPLES}, each run in a fresh process of at most {LIMIT:g} s, imports and compilation not counted.",
        "All methods get the same k, and those that have one the same reg. A sphere is not flat: nobody can bring its",
        "error to 0.",
        "",
        table(["", "k", "d", "reg"], parameters),
        "",
        "Affine error of the worst coordinate, where the truth is known:",
        "",
        by_cell(worst_error, with_truth),
        "",
        "Seconds:",
        "",
        by_cell(seconds, list(PROBLEMS)),
        "",
        "Peak memory of the process, MB:",
        "",
        by_cell(megabytes, list(PROBLEMS)),
    ]
    results.finish()
    return "\n".join(text)
