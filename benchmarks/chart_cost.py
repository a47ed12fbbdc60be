"""What cutting and charts cost: `HNE()` beside the published method with the same k, each in a fresh process."""

import os
from functools import partial

from runner import Results, Row, Task, run
from tables import table

TITLE = "Cost of cuts and charts"
SIZES = tuple(int(n) for n in os.environ.get("HNE_BENCH_SIZES", "2000,20000,100000,1000000").split(","))
# The k that `HNE()` takes near a surface, and reg to go with it.
FEW, FEW_SETTINGS, SETTINGS = 5000, {"n_neighbors": 12, "reg": 9.8e-4}, {"n_neighbors": 8, "reg": 2.6e-4}
REPEATS = {2000: 5, 20000: 3}


def measure() -> str:
    """Measure and return the section as Markdown."""
    results, lines = Results("chart_cost"), []
    for n in SIZES:
        with_k = FEW_SETTINGS if n <= FEW else SETTINGS
        published = _best(results, "bhne", n, with_k)
        ours = _best(results, "hne_alone", n, {})
        times = [f"{row['seconds']:.2f}" for row in (published, ours)]
        memory = [f"{row['peak_bytes'] / 1e9:.2f}" for row in (published, ours)]
        stages = ", ".join(f"{name} {seconds:.2g}" for name, seconds in ours["stages"].items())
        lines.append(
            [
                f"{n}",
                f"{with_k['n_neighbors']}",
                *times,
                f"{ours['seconds'] / published['seconds']:.2f}",
                *memory,
                f"{ours['peak_bytes'] / published['peak_bytes']:.2f}",
                stages,
            ]
        )
    results.finish()
    header = [
        "n",
        "k",
        "published, s",
        "HNE(), s",
        "ratio",
        "published, GB",
        "HNE(), GB",
        "ratio",
        "stages of HNE(), s",
    ]
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            "Swiss roll, all stages, imports and compilation not counted; the fastest of five runs at n = 2 000, of",
            "three at 20 000.",
            "",
            table(header, lines),
        ]
    )


def _best(results: Results, method: str, n: int, options: dict[str, float]) -> Row:
    """The fastest of some runs."""
    rows = []
    for repeat in range(REPEATS.get(n, 1)):
        task = Task("swiss_roll", method, n, dict(options))
        rows.append(results.kept(f"{task}, run {repeat}", f"{task}, run {repeat}", partial(run, task, 1500.0)))
    return min(rows, key=lambda row: float(row["seconds"]))
