"""The same bits for any n_jobs, any number of BLAS threads, and twice in a row, from every solver."""

import hashlib
import os
import subprocess
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from hne import embed
from hne._runtime import threads as _threads
from hne._runtime.threads import limit_blas_threads
from hne.core.eigen import costs as _costs
from hne.core.eigen import factor as _pardiso
from hne.datasets import make_swiss_roll

SOLVERS = ("dense", "superlu", "pardiso", "dissected", "multigrid", "diagonal")
EXTRAS = {"pardiso": "pypardiso", "dissected": "pypardiso", "multigrid": "pyamg"}
FAMILIES = {
    "superlu": "direct",
    "pardiso": "direct",
    "dissected": "direct",
    "multigrid": "iterative",
    "diagonal": "iterative",
}
# Sizes at which two threads of OpenBLAS, or of MKL, used to change bits: few columns are shared out late.
N_SAMPLES = {"dense": 300, "superlu": 10_000, "pardiso": 1_500, "dissected": 2_000, "multigrid": 700, "diagonal": 500}
SOURCE = Path(_threads.__file__).parents[2]


def embedded(solver, n_jobs):
    """The embedding of small samples by one solver, backend or preconditioner."""
    n = N_SAMPLES[solver]
    X = np.random.default_rng(0).normal(size=(n, 9)) if solver == "diagonal" else make_swiss_roll(n, random_state=1).X
    family = FAMILIES.get(solver, solver)
    with ExitStack() as forced:
        if family == "direct":
            forced.enter_context(patch.object(_costs, "PARDISO_MIN_ENTRIES", 10**9 if solver == "superlu" else 1))
        if solver == "dissected":
            forced.enter_context(patch.object(_pardiso, "DISSECTED_MIN_ENTRIES", 1))
        if solver == "diagonal":
            forced.enter_context(patch.object(_costs, "MULTIGRID_MAX_ROW", 0))
        # A chart takes longer than its eigenvectors: one of dense ones is enough.
        kind = "chart" if solver in {"dense", "multigrid"} else "eigenvectors"
        result = embed(X, n_neighbors=6, coordinates=kind, eigen_solver=family, n_jobs=n_jobs, assess=False)
    assert result.eigenpairs.solver == family
    return result


def bits(solver, n_jobs):
    """Fingerprint of an embedding with its eigenvalues."""
    result = embedded(solver, n_jobs)
    parts = (result.Y, result.eigenpairs.values, result.weights.J.data)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def skip_without(solver):
    if solver in EXTRAS:
        pytest.importorskip(EXTRAS[solver], reason="needs the extra 'fast'")


@pytest.mark.parametrize(
    "solver", [pytest.param(name, marks=pytest.mark.slow if name == "superlu" else ()) for name in SOLVERS]
)
def test_bits_are_the_same_for_any_n_jobs_and_any_number_of_blas_threads(solver):
    skip_without(solver)
    found = set()
    for n_jobs, n_blas in ((1, 1), (2, 2), (3, 1)):
        with threadpool_limits(n_blas):
            found.add(bits(solver, n_jobs))
    assert len(found) == 1


def test_bits_are_the_same_whatever_the_environment_asks_for():
    path = os.pathsep.join([str(SOURCE), str(Path(__file__).parents[2])])
    running = []
    for count in ("1", "2"):
        variables = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), count)
        environment = {**os.environ, **variables, "PYTHONPATH": path}
        run = [sys.executable, "-W", "error", "-m", "tests.core.test_bits"]
        running.append(subprocess.Popen(run, env=environment, stdout=subprocess.PIPE, text=True))
    found = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert len(found[0]) >= 2
    assert found[0] == found[1]


def test_one_thread_is_one_even_on_a_machine_with_one_core(monkeypatch):
    monkeypatch.setattr(_threads, "cpu_count", lambda: 1)
    with threadpool_limits(2), limit_blas_threads(1):
        assert {library["num_threads"] for library in threadpool_info()} == {1}


if __name__ == "__main__":
    # What MKL makes of its variables does not depend on the order; loading numba for the larger one would take seconds.
    for name in sorted(set(SOLVERS) - {"dissected", "superlu"}):
        if name not in EXTRAS or find_spec(EXTRAS[name]) is not None:
            print(name, bits(name, -1), sep=":")
