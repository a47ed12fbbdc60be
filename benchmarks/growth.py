"""Time and memory over the number of samples: up to a million by `HNE()`, and the plot of all methods."""

from pathlib import Path

import numpy as np

from growth_plot import draw
from methods import METHODS, load_method
from problems import PROBLEMS
from runner import Results, Row, Task
from tables import errors, gigabytes, seconds, table

TITLE = "Growth"
PROBLEM = "swiss_roll"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
OURS, LARGE = "hne_alone", (100_000, 300_000)  # the growth exponent is taken from these on
LIMIT, LONG_LIMIT = 300.0, 1800.0  # seconds: for a point of the plot, and where the answer is wanted in any case
# How many times as long ten times as many samples take at the least: what would be over the limit is not tried.
LEAST_GROWTH = 8.0
PLOT = Path(__file__).with_name("growth.png")


def measure() -> str:
    """Measure, draw the plot and return the section as Markdown."""
    results, problem = Results("growth"), PROBLEMS[PROBLEM]
    large = {n: results.row(Task(PROBLEM, OURS, n), LONG_LIMIT) for n in (*LARGE, SIZES[-1])}
    published = results.row(Task(PROBLEM, "bhne", SIZES[-1]), LONG_LIMIT)
    curves = {load_method(method).NAME: _curve(results, method) for method in METHODS}
    draw(curves, PLOT)
    lines = [[f"{n}", seconds(row), gigabytes(row), errors(row)] for n, row in large.items()]
    text = [
        f"## {TITLE}",
        "",
        "Swiss roll, `HNE()`:",
        "",
        table(["n", "seconds", "peak GB", "error along, across"], lines),
        "",
        *_verdict(large),
        f"As published (BHNE, k = {problem.n_neighbors}), n = {SIZES[-1]}: {seconds(published)} s,",
        f"{gigabytes(published)} GB.",
        "",
        f"All methods on the same roll, each until a run fails or its process takes more than {LIMIT:g} s, the making",
        f"of the data and a warm-up included, or would if ten times the samples take {LEAST_GROWTH:g} times as long:",
        "",
        f"![Seconds and peak memory over the number of samples]({PLOT.name})",
        "",
        _endings(curves),
    ]
    results.finish()
    return "\n".join(text)


def _curve(results: Results, method: str) -> dict[int, Row]:
    """The rows of a method up to its first failure."""
    rows: dict[int, Row] = {}
    for n in SIZES:
        if rows and LEAST_GROWTH * rows[max(rows)]["seconds"] > LIMIT:
            rows[n] = {"failure": "not tried"}
            break
        # The largest ones of ours are the tables', measured once.
        limit = LONG_LIMIT if n == SIZES[-1] and method in {OURS, "bhne"} else LIMIT
        rows[n] = results.row(Task(PROBLEM, method, n), limit)
        if "failure" in rows[n]:
            break
    return rows


def growth_exponent(rows: dict[int, Row]) -> float | None:
    """Slope of log seconds over log n by least squares; None for fewer than two points."""
    points = [(n, row["seconds"]) for n, row in rows.items() if "failure" not in row]
    if len(points) < 2:
        return None
    sizes, times = np.log(np.array(points)).T
    return float(np.polyfit(sizes, times, 1)[0])


def _verdict(rows: dict[int, Row]) -> list[str]:
    exponent = growth_exponent(rows)
    if exponent is None:
        return []
    return [f"Time grows as n^{exponent:.2f} from n = {min(rows)} on (least squares over these rows).", ""]


def _endings(curves: dict[str, dict[int, Row]]) -> str:
    """Where each method ends, and why."""
    lines = []
    for name, rows in curves.items():
        done = [n for n, row in rows.items() if "failure" not in row]
        last = rows[max(rows)]
        took = seconds(rows[max(done)]) if done else "-"
        lines.append([name, f"{max(done, default=0)}", took, f"{last.get('failure', '')}" or "-"])
    return table(["", "largest n done", "seconds there", "at the next"], lines)
