"""The eigenproblem on MPI: SLEPc on 1 and 2 ranks beside the local direct solver.

HNE_BENCH_SIZES=100000,1000000 measures a million samples as well.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from joblib import cpu_count
from scipy.linalg import subspace_angles

from hne.core.eigen.alignment import alignment
from hne.core.eigen.exchange import RESULT_FILE, write_alignment
from hne.core.eigen.slepc import in_local_order, solve_folder
from hne.core.eigen.solve import bottom_eigenpairs
from hne.core.neighbors.graph import knn_graph
from hne.core.weights.layers import layer_weights
from hne.settings import Settings
from problems import PROBLEMS
from runner import memory_use
from tables import table

TITLE = "The eigenproblem on MPI"
PROBLEM, REG, RANKS = "swiss_roll", 1e-4, (1, 2)
SIZES = tuple(int(word) for word in os.environ.get("HNE_BENCH_SIZES", "100000").split(","))
PARTS = ("read", "assemble", "factor", "iterate", "correct", "write")


def measure() -> str:
    """Measure and return the section as Markdown."""
    problem = PROBLEMS[PROBLEM]
    lines = [line for n in SIZES for line in _lines(n)]
    header = ["n", "solver", "seconds", f"of which {', '.join(PARTS)}", "peak GB", "largest residual"]
    header += ["eigenvalues differ by", "angle of the planes"]
    text = [
        f"## {TITLE}",
        "",
        f"Swiss roll, BHNE, k = {problem.n_neighbors}, reg = {REG:g}: the eigenpairs alone, by `direct` in the process",
        f"that has A and B ({cpu_count()} threads), by `slepc` from a folder, the start of its ranks included. Memory",
        "is that of the whole process, which has samples, A and B too, or of each rank. The last columns compare with",
        "`direct`.",
        "",
        table(header, lines),
    ]
    return "\n".join(text)


def _lines(n: int) -> list[list[str]]:
    """The direct solver's line, and one for each number of ranks."""
    with TemporaryDirectory(prefix="hne-bench-") as temporary:
        folder = Path(temporary)
        print(f"  n = {n}, direct ...", file=sys.stderr)
        command = [sys.executable, __file__, str(n), str(folder)]
        local = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)  # noqa: S603
        values, vectors = np.array(local["eigenvalues"]), np.load(folder / "direct.npy")
        first = [f"{n}", "direct", f"{local['seconds']:.1f}", "-", f"{local['peak_bytes'] / 1e9:.2f}"]
        lines = [[*first, f"{max(local['residuals']):.1e}", "-", "-"]]
        for ranks in RANKS:
            print(f"  n = {n}, {ranks} ranks ...", file=sys.stderr)
            lines.append(_slepc_line(folder, ranks, values, vectors))
    return lines


def _slepc_line(folder: Path, ranks: int, values: Any, vectors: Any) -> list[str]:
    (folder / RESULT_FILE).unlink(missing_ok=True)
    start = time.perf_counter()
    result = solve_folder(folder, ranks)
    seconds, facts, count = time.perf_counter() - start, result.facts, len(values)
    return [
        f"{len(vectors)}",
        f"slepc, {ranks} rank{'s' if ranks > 1 else ''}",
        f"{seconds:.1f}",
        ", ".join(f"{facts['seconds'][part]:.1f}" for part in PARTS),
        ", ".join(f"{peak / 1e9:.2f}" for peak in facts["peak_bytes"]),
        f"{max(facts['residuals'][:count]):.1e}",
        f"{np.abs(np.array(facts['eigenvalues'][:count]) / values - 1).max():.0e}",
        f"{subspace_angles(result.basis[:, :count], vectors).max():.0e}",
    ]


def _solve_locally(n: int, folder: Path) -> None:
    """Write the problem, and what the direct solver makes of it; print its row."""
    problem = PROBLEMS[PROBLEM]
    settings = Settings(n_neighbors=problem.n_neighbors, reg=REG, eigen_solver="direct")
    X, _ = problem.make(n)
    graph = knn_graph(X, problem.n_neighbors)
    _, record = in_local_order(alignment(layer_weights(X, graph, settings), settings.gamma))
    write_alignment(folder, record, count=settings.n_components, tol=settings.tol)
    # Libraries are loaded and compilers run before anything is measured.
    _, few = in_local_order(alignment(layer_weights(X[:2_000], knn_graph(X[:2_000], 8), settings), settings.gamma))
    bottom_eigenpairs(few, settings, cpu_count())
    start = time.perf_counter()
    pairs = bottom_eigenpairs(record, settings, cpu_count())
    row = {"seconds": time.perf_counter() - start, "peak_bytes": memory_use("VmHWM")}
    np.save(folder / "direct.npy", pairs.vectors)
    print(json.dumps({**row, "eigenvalues": pairs.values.tolist(), "residuals": pairs.residuals.tolist()}))


if __name__ == "__main__":
    _solve_locally(int(sys.argv[1]), Path(sys.argv[2]))
