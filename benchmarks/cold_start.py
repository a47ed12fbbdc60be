"""The first answer: a small fit in a fresh process with an empty numba cache, and `hne --help`."""

import os
import subprocess
import sys
import tempfile
import time

TITLE = "Cold start"
REPEATS = 5
RUN = """
import time
import numpy as np
{imports}
X = np.random.default_rng(0).random((300, 3))
start = time.perf_counter()
{model}.fit(X)
print(time.perf_counter() - start)
"""
MODELS = {
    "`HNE().fit`": ("from hne import HNE", "HNE()"),
    "scikit-learn `LocallyLinearEmbedding(n_neighbors=6).fit`": (
        "from sklearn.manifold import LocallyLinearEmbedding",
        "LocallyLinearEmbedding(n_neighbors=6)",
    ),
}


def measure() -> str:
    """Measure and return the section as Markdown."""
    lines = [
        f"## {TITLE}",
        "",
        f"300 samples, D = 3; each of {REPEATS} runs in a fresh process with an empty numba cache, the slowest shown.",
        "",
        "| | seconds |",
        "|---|---|",
    ]
    for name, (imports, model) in MODELS.items():
        seconds = max(_fit_seconds(RUN.format(imports=imports, model=model)) for _ in range(REPEATS))
        lines.append(f"| {name}, after import | {seconds:.3f} |")
    lines.append(f"| `hne --help`, whole process | {max(_help_seconds() for _ in range(REPEATS)):.3f} |")
    return "\n".join(lines)


def _fit_seconds(script: str) -> float:
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "NUMBA_CACHE_DIR": empty}
        command = [sys.executable, "-c", script]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)  # noqa: S603
    return float(run.stdout)


def _help_seconds() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "hne", "--help"], capture_output=True, check=True)
    return time.perf_counter() - start
