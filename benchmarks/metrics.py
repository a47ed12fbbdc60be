"""Ranks of neighbors: against scikit-learn's trustworthiness, and all ranks of many samples within little memory."""

import json
import subprocess
import sys

from runner import BENCHMARKS, Row
from tables import megabytes, ratio, seconds, table

TITLE = "Quality of an embedding"
N_COMPARED, N_LARGEST, N_NEIGHBORS = 10_000, 20_000, 5
BASELINE = "from sklearn.manifold import trustworthiness"
OURS = "from hne.metrics import coranking, geodesic_quality, rank_quality, trustworthiness"
# A row: its name, features, what is imported, and what is measured.
COMPARED = tuple(
    (name, features, imports, call)
    for features in (10, 100, 784)
    for name, imports, call in (
        ("scikit-learn `trustworthiness`", BASELINE, "trustworthiness(X, Y, n_neighbors=5)"),
        ("`hne.metrics.trustworthiness`", OURS, "trustworthiness(X, Y, 5)"),
        ("the same, `n_jobs=-1`", OURS, "trustworthiness(X, Y, 5, n_jobs=-1)"),
    )
)
LARGEST = (
    ("`rank_quality`", "rank_quality(X, Y, 5, n_jobs=-1)"),
    ("`coranking`", "coranking(X, Y, n_jobs=-1)"),
    ("`geodesic_quality`, 200 landmarks", "geodesic_quality(X, Y, n_jobs=-1)"),
)
CHILD = """
import json, sys, time
from pathlib import Path
import numpy as np
{imports}
from runner import memory_use

rng = np.random.default_rng(0)
X = rng.normal(size=({n}, {features})) * np.linspace(3, 1, {features})
Y = X[:, :2] + 0.1 * rng.normal(size=({n}, 2))
times = []
Path("/proc/self/clear_refs").write_text("5")
for _ in range(2):
    start = time.perf_counter()
    result = {call}
    times.append(time.perf_counter() - start)
row = {{"first": times[0], "seconds": min(times), "peak_bytes": memory_use("VmHWM"), "result": str(result)}}
print(json.dumps(row))
"""


def measure() -> str:
    """Measure and return the section as Markdown."""
    baseline: Row = {}
    lines = []
    for name, features, imports, call in COMPARED:
        row = _row(N_COMPARED, features, imports, call)
        baseline = row if imports == BASELINE else baseline
        cells = [
            f"{row['first']:.3g}",
            seconds(row),
            ratio(row, baseline),
            megabytes(row),
            f"{float(row['result']):.12f}",
        ]
        lines.append([name, str(features), *cells])
    compared = table(["", "D", "seconds, first", "again", "times faster", "peak MB", "trustworthiness"], lines)
    rows = [(name, _row(N_LARGEST, 10, OURS, call)) for name, call in LARGEST]
    cells_of = [[name, f"{row['first']:.3g}", seconds(row), megabytes(row), row["result"]] for name, row in rows]
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            f"Gaussians embedded by two of their D columns with noise, {N_NEIGHBORS} neighbors; each row in a fresh",
            "process: the first call, and the faster of that and a second. Peak memory of the whole process.",
            "scikit-learn has the threads of BLAS, all cores;",
            f"hne has one thread, or all with `n_jobs=-1`. n = {N_COMPARED}:",
            "",
            compared,
            "",
            f"All ranks, exact, n = {N_LARGEST}, D = 10, all cores (an n x n matrix of distances has 3200 MB):",
            "",
            table(["", "seconds, first", "again", "peak MB", "result"], cells_of),
        ]
    )


def _row(n: int, features: int, imports: str, call: str) -> Row:
    """Measure a call in a fresh process."""
    print(f"  {call}, n = {n}, {features} features ...", end=" ", file=sys.stderr, flush=True)
    script = CHILD.format(imports=imports, n=n, features=features, call=call)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=BENCHMARKS)  # noqa: S603
    row: Row = json.loads(done.stdout.splitlines()[-1])
    print(f"{row['first']:.2f} s, again {row['seconds']:.2f} s", file=sys.stderr)
    return row
