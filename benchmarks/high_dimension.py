"""Samples that fill many dimensions: `HNE()` beside UMAP; and a table of eight groups, from its file to the report."""

import tempfile
import time
from pathlib import Path

import numpy as np

from files import told
from problems import PROBLEMS
from runner import Results, Row, Task
from tables import gigabytes, seconds, table

TITLE = "High intrinsic dimension"
SIZES = {
    "gaussian_5": (20_000, 100_000),
    "gaussian_8": (20_000, 100_000),
    "gaussian_10": (20_000,),
    "digits": (10_000,),
    "groups": (100_000,),
}
METHODS = ("hne_alone", "umap_learn")
LIMIT = 1800.0
TABLE = 100_000


def measure() -> str:
    """Measure and return the section as Markdown."""
    results, lines = Results("high_dimension"), []
    for name, sizes in SIZES.items():
        for n in sizes:
            ours, umap = (results.row(Task(name, method, n), LIMIT) for method in METHODS)
            facts = [seconds(ours), gigabytes(ours), seconds(umap), gigabytes(umap), _ratio(ours, umap)]
            stages = ", ".join(f"{stage} {time:.2g}" for stage, time in ours.get("stages", {}).items())
            lines.append([PROBLEMS[name].title, f"{n}", *facts, ours.get("solver", "-"), stages])
    written = results.kept("file", f"hne embed, {TABLE} x 50", _from_file_to_report)
    results.finish()
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            "`HNE()`, told nothing, beside UMAP with k = 10, both warmed up. Digits are scikit-learn's, enlarged, each",
            "copy moved and turned a bit; groups are eight normal clouds in 50 columns.",
            "",
            table(["", "n", "HNE(), s", "GB", "UMAP, s", "GB", "UMAP / HNE", "solver", "stages of HNE(), s"], lines),
            "",
            f"`hne embed groups.csv -o map.csv --report map.html`, {TABLE} x 50 in eight groups: whole process",
            f"{written['seconds']:.1f} s, {written['peak_bytes'] / 1e9:.2f} GB.",
        ]
    )


def _ratio(ours: Row, umap: Row) -> str:
    return "-" if "failure" in ours or "failure" in umap else f"{umap['seconds'] / ours['seconds']:.2f}"


def _from_file_to_report() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "groups.csv"
        X, _ = PROBLEMS["groups"].make(TABLE)
        names = ",".join(f"c{column}" for column in range(X.shape[1]))
        np.savetxt(source, X, delimiter=",", fmt="%.6g", header=names, comments="")
        start = time.perf_counter()
        facts = told([str(source), "-o", f"{folder}/map.csv", "--report", f"{folder}/map.html"])
        return {"seconds": time.perf_counter() - start, "peak_bytes": facts["peak_bytes"]}
