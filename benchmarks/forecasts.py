"""Memory that `hne.forecast` foresees, beside what the process then takes."""

import hne
from problems import PROBLEMS
from runner import Results, Task
from tables import gigabytes, table

TITLE = "Forecast of memory"
HEADER = ("", "n", "D", "k", "fills", "solver foreseen", "ran", "measured", "foreseen", "foreseen / measured")
CASES = (
    ("swiss_roll", 100_000),
    ("swiss_roll", 500_000),
    ("bent_cube", 20_000),
    ("gaussian_5", 20_000),
    ("gaussian_10", 20_000),
    ("digits", 10_000),
)


def measure() -> str:
    """Measure and return the section as Markdown."""
    results, lines = Results("forecasts"), []
    for name, n in CASES:
        problem, row = PROBLEMS[name], results.row(Task(name, "bhne", n))
        n_features = problem.make(1)[0].shape[1]
        expected = hne.forecast(
            n,
            n_features,
            problem.n_neighbors,
            n_components=problem.n_components,
            intrinsic_dimension=problem.dimension,
        )
        foreseen = expected.peak_bytes
        times = "-" if "failure" in row else f"{foreseen / row['peak_bytes']:.2f}"
        shape = [problem.title, f"{n}", f"{n_features}", f"{problem.n_neighbors}", f"{problem.dimension}"]
        solvers = [expected.solver, row.get("solver", "-")]
        lines.append([*shape, *solvers, row.get("failure") or gigabytes(row), f"{foreseen / 1e9:.2f}", times])
    text = [
        f"## {TITLE}",
        "",
        "BHNE; peak memory of the whole process in GB. The forecast knows the shape of X, k, and how many dimensions",
        "the samples fill (for digits a guess).",
        "",
        table(HEADER, lines),
    ]
    results.finish()
    return "\n".join(text)
