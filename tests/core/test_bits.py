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
from hne.datasets import make_swiss_roll

EXTRAS = {"multigrid": "pyamg"}
FAMILIES = {
    "multigrid": "iterative",
    "filter": "iterative",
}
# Sizes at which two threads of OpenBLAS used to change bits: few columns are shared out late.
N_SAMPLES = {"dense": 300, "direct": 10_000, "multigrid": 700, "filter": 500}
SOURCE = Path(_threads.__file__).parents[2]


def embedded(solver, n_jobs):
    """The embedding of small samples by one solver, backend or preconditioner."""
    n = N_SAMPLES[solver]
    X = np.random.default_rng(0).normal(size=(n, 9)) if solver == "filter" else make_swiss_roll(n, random_state=1).X
    family = FAMILIES.get(solver, solver)
    with ExitStack() as forced:
        if solver == "filter":
            forced.enter_context(patch.object(_costs, "FILTER_MIN_DIMENSIONS", 0))
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


def installed(solver):
    return solver not in EXTRAS or find_spec(EXTRAS[solver]) is not None


@pytest.mark.parametrize("solver", ["dense", "filter", "multigrid", "direct"])
def test_bits_are_the_same_for_any_n_jobs_and_any_number_of_blas_threads(solver):
    if not installed(solver):
        pytest.skip("needs the extra 'fast'")
    found = set()
    for n_jobs, n_blas in ((1, 1), (2, 2), (3, 1)):
        with threadpool_limits(n_blas):
            found.add(bits(solver, n_jobs))
    assert len(found) == 1


# What libraries make of their variables does not depend on the order, nor on what iterates.
@pytest.mark.slow
@pytest.mark.parametrize("solvers", ["dense direct", "filter multigrid"])
def test_bits_are_the_same_whatever_the_environment_asks_for(solvers):
    path = os.pathsep.join([str(SOURCE), str(Path(__file__).parents[2])])
    count = "2" if os.environ.get("OMP_NUM_THREADS") == "1" else "1"
    variables = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), count)
    run = [sys.executable, "-W", "error", "-m", "tests.core.test_bits", *solvers.split()]
    done = subprocess.run(run, env={**os.environ, **variables, "PYTHONPATH": path}, stdout=subprocess.PIPE, check=True)
    here = [f"{name}:{bits(name, -1)}" for name in solvers.split() if installed(name)]
    assert done.stdout.decode().split() == here != []


def test_one_thread_is_one_even_on_a_machine_with_one_core(monkeypatch):
    monkeypatch.setattr(_threads, "cpu_count", lambda: 1)
    with threadpool_limits(2), limit_blas_threads(1):
        assert {library["num_threads"] for library in threadpool_info()} == {1}


if __name__ == "__main__":
    for name in filter(installed, sys.argv[1:]):
        print(name, bits(name, -1), sep=":")
