"""Memory that `hne.forecast` foresees, beside what the process then takes."""

import hne
from problems import PROBLEMS
from runner import Results, Task
from tables import gigabytes, table

TITLE = "Forecast of memory"
CASES = (
    ("swiss_roll", 20_000),
    ("swiss_roll", 100_000),
    ("even_roll", 50_000),
    ("bent_cube", 10_000),
    ("gaussian_5", 10_000),
    ("digits", 5_000),
)


def measure() -> str:
    """Measure and return the section as Markdown."""
    results, lines = Results("forecasts"), []
    for name, n in CASES:
        problem, row = PROBLEMS[name], results.row(Task(name, "bhne", n))
        n_features = problem.make(1)[0].shape[1]
        foreseen = hne.forecast(n, n_features, problem.n_neighbors).peak_bytes
        times = "-" if "failure" in row else f"{foreseen / row['peak_bytes']:.2f}"
        shape = [problem.title, f"{n}", f"{n_features}", f"{problem.n_neighbors}"]
        lines.append([*shape, row.get("failure") or gigabytes(row), f"{foreseen / 1e9:.2f}", times])
    text = [
        f"## {TITLE}",
        "",
        "BHNE; peak memory of the whole process in GB.",
        "",
        table(["", "n", "D", "k", "measured", "foreseen", "foreseen / measured"], lines),
    ]
    results.finish()
    return "\n".join(text)
