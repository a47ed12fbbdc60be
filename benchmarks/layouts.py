"""Tables and images: the first `HNE()` of a process beside UMAP, openTSNE and scikit-learn's t-SNE; file to report."""

import tempfile
import time
from pathlib import Path

import numpy as np

from files import told
from problems import PROBLEMS
from runner import Results, Row, Task
from tables import gigabytes, ratio, seconds, table

TITLE = "Layouts"
RUNS = (("digits_8x8", 1_797), ("mnist", 5_000), ("groups", 20_000), ("groups", 100_000), ("groups_10", 1_000_000))
METHODS = ("hne_alone", "umap_learn", "opentsne_learn", "tsne_learn")
# Most samples that t-SNE embeds in less than some twenty minutes.
MAX_SAMPLES = {"tsne_learn": 20_000, "opentsne_learn": 100_000}
LIMIT = 3600.0
# Default number of neighbors of UMAP; the others take no notice.
OPTIONS = {"n_neighbors": 15}
TABLE = 100_000


def measure() -> str:
    """Measure and return the section as Markdown."""
    results, lines = Results("layouts"), []
    for name, n in RUNS:
        rows = {
            method: results.row(Task(name, method, n, OPTIONS, is_warm=False), LIMIT)
            for method in METHODS
            if n <= MAX_SAMPLES.get(method, n)
        }
        ours, umap = rows["hne_alone"], rows["umap_learn"]
        facts = [cell(rows[method]) if method in rows else "-" for method in METHODS for cell in (seconds, gigabytes)]
        stages = ", ".join(f"{stage} {time:.2g}" for stage, time in ours.get("stages", {}).items() if time >= 0.01)
        lines.append([PROBLEMS[name].title, f"{n}", *facts, ratio(ours, umap), stages])
    written = results.kept("file", f"hne embed, {TABLE} x 50", _from_file_to_report)
    results.finish()
    header = ["HNE(), s", "GB", "UMAP, s", "GB", "openTSNE, s", "GB", "scikit-learn's t-SNE, s", "GB", "UMAP / HNE"]
    return "\n".join(
        [
            f"## {TITLE}",
            "",
            "The first fit of a process with the defaults of each library, on all cores, imports not counted. Groups",
            "are eight normal distributions.",
            "",
            table(["", "n", *header, "stages of HNE(), s"], lines),
            "",
            f"`hne embed groups.csv -o map.csv --report map.html`, {TABLE} x 50 in eight groups: whole process",
            f"{written['seconds']:.1f} s, {written['peak_bytes'] / 1e9:.2f} GB.",
        ]
    )


def _from_file_to_report() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "groups.csv"
        X, _ = PROBLEMS["groups"].make(TABLE)
        names = ",".join(f"c{column}" for column in range(X.shape[1]))
        np.savetxt(source, X, delimiter=",", fmt="%.6g", header=names, comments="")
        start = time.perf_counter()
        facts = told([str(source), "-o", f"{folder}/map.csv", "--report", f"{folder}/map.html"])
        return {"seconds": time.perf_counter() - start, "peak_bytes": facts["peak_bytes"]}
