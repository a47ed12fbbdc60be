"""Data of high intrinsic dimension: what the automatic choice of the solver does, beside direct factorization."""

from problems import PROBLEMS
from runner import Results, Task
from tables import gigabytes, residual, seconds, table

TITLE = "High intrinsic dimension"
SIZES = {"gaussian_10": (5_000, 10_000, 20_000), "digits": (5_000, 10_000)}
SOLVERS = ("auto", "direct")


def measure() -> str:
    """Measure and return the section as Markdown."""
    results, lines = Results("high_dimension"), []
    for name, sizes in SIZES.items():
        for n in sizes:
            for solver in SOLVERS:
                row = results.row(Task(name, "bhne", n, {"eigen_solver": solver}))
                ran = row.get("solver", "-")
                lines.append([PROBLEMS[name].title, f"{n}", solver, ran, seconds(row), gigabytes(row), residual(row)])
    neighbors = {PROBLEMS[name].n_neighbors for name in SIZES}
    text = [
        f"## {TITLE}",
        "",
        f"BHNE with k = {', '.join(map(str, neighbors))}. Digits are scikit-learn's, enlarged, each copy moved and",
        "turned a bit. Neighborhoods that overlap in all directions make G dense, and its factor denser.",
        "",
        table(["", "n", "asked for", "ran", "seconds", "peak GB", "largest residual"], lines),
    ]
    results.finish()
    return "\n".join(text)
