"""Large rolls without the extra `fast`: SciPy's SuperLU factors, or the forecast refuses."""

from problems import PROBLEMS
from runner import Results, Task
from tables import errors, gigabytes, seconds, table

TITLE = "Without the extra `fast`"
PROBLEM, SIZES, LIMIT = "swiss_roll", (100_000, 1_000_000), 1800.0


def measure() -> str:
    """Measure and return the section as Markdown."""
    results, problem = Results("without_fast"), PROBLEMS[PROBLEM]
    rows = {n: results.row(Task(PROBLEM, "bhne", n, hidden=("pypardiso", "pyamg")), LIMIT) for n in SIZES}
    lines = [[f"{n}", seconds(row), gigabytes(row), errors(row), row.get("message", "-")] for n, row in rows.items()]
    text = [
        f"## {TITLE}",
        "",
        f"Swiss roll, k = {problem.n_neighbors}, reg = {problem.reg:g}, BHNE, with SuperLU in place of PARDISO.",
        "",
        table(["n", "seconds", "peak GB", "error along, across", "message"], lines),
    ]
    results.finish()
    return "\n".join(text)
