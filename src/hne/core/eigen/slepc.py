"""Alignment -> bottom eigenvectors of G by PETSc and SLEPc, in processes that share a folder with this one.

The folder is a temporary one, or with HNE_SLEPC_FOLDER a kept one below that, named after the problem: a run that was
killed takes up the result if there is one. What comes back goes through Rayleigh-Ritz and certificate as every answer
does, so that nothing needs to be believed.
"""

import hashlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil
from scipy.sparse.csgraph import reverse_cuthill_mckee

from hne._runtime.files import expanded
from hne._runtime.progress import one_line, step
from hne._runtime.random import random_generator
from hne.core.eigen.alignment import Alignment
from hne.core.eigen.exchange import Result, has_result, read_result, write_alignment
from hne.core.records import FloatArray, IndexArray
from hne.exceptions import EigenSolverError, FallbackWarning, InputError, MissingExtraError, caller_stacklevel, quoted
from hne.settings import Settings

logger = logging.getLogger("hne")

PROGRAM = Path(__file__).parents[2] / "scale" / "slepc_program.py"
DEBIAN_PYTHON = "/usr/bin/python3"
# Debian keeps builds side by side, none of them on the path; this program wants one with real numbers.
DEBIAN_FOLDERS = (
    ("/usr/lib/slepcdir", "*/*-real/lib/python3/dist-packages"),
    ("/usr/lib/petscdir", "*/*-real/lib/python3/dist-packages"),
)
REMEDY = "Run: apt install python3-slepc4py openmpi-bin, or pip install slepc4py"
# Options by which launchers are told the number of ranks.
RANK_OPTIONS = ("-n", "-np", "--np", "--ntasks")
# Seconds in which a Python finds out whether it has slepc4py.
PATIENCE = 60
# A rank has one thread: BLAS would start as many as there are cores in each. The folder of a script is no place to
# import from.
OF_A_RANK = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
# Open MPI wants root and more ranks than cores to be allowed, unless the user says otherwise; to other MPIs the names
# mean nothing. Ranks that wait give way: where others use the cores too, that took 40 and 46 s in place of 45 and 52.
OF_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
# Below, other solvers are done before the ranks have said hello (1 to 2 s). HNE_SLEPC_MIN_SAMPLES says otherwise.
MIN_SAMPLES = 2_000
# What the program's lines begin with, and its errors.
SAID, FAILED = "hne slepc: ", "hne slepc: error: "
# Seconds that ranks get to end before they are killed.
GRACE = 5.0
# What launchers say of a rank that a signal ended.
_SIGNAL = re.compile(r"signal \d+|Killed|Segmentation fault|[Oo]ut [Oo]f [Mm]emory")


@dataclass(frozen=True)
class Launch:
    """How to start the program."""

    python: str
    folders: tuple[str, ...]  # where that Python must look for slepc4py besides; empty where it knows
    launcher: tuple[str, ...]  # such as mpiexec, or srun with options

    def command(self, folder: Path, ranks: int | None) -> list[str]:
        """Words that solve a folder; None leaves the number of ranks to the launcher."""
        program = [self.python, str(PROGRAM), str(folder)]
        if ranks is None:
            return [*self.launcher, *program]
        return [*self.launcher, "-n", str(ranks), *program, "--ranks", str(ranks)]

    @property
    def counts_ranks(self) -> bool:
        """Whether the launcher's own options say how many ranks to start."""
        return any(word.partition("=")[0] in RANK_OPTIONS for word in self.launcher)

    def environment(self) -> dict[str, str]:
        """Variables that the ranks see."""
        variables = OF_OPEN_MPI | os.environ | OF_A_RANK
        if self.folders:
            # Another Python would find this one's packages by these.
            variables = {name: value for name, value in variables.items() if name not in {"PYTHONHOME", "VIRTUAL_ENV"}}
            variables["PYTHONPATH"] = os.pathsep.join(self.folders)
        return variables

    def has_slepc(self) -> bool:
        """Whether its Python can import slepc4py; without loading PETSc, which would begin MPI."""
        command = [self.python, "-c", "import numpy, petsc4py, slepc4py"]
        try:
            run = subprocess.run(  # noqa: S603
                command, env=self.environment(), capture_output=True, timeout=PATIENCE, check=False
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return run.returncode == 0


def find_launch(python: str | None = None, launcher: str | None = None) -> Launch:
    """Find out how to start the program, or raise MissingExtraError with what to install. Asked once a process."""
    python = python or os.environ.get("HNE_SLEPC_PYTHON", "")
    return _find_launch(python, launcher or os.environ.get("HNE_MPIEXEC", "") or "mpiexec")


@lru_cache(maxsize=8)
def _find_launch(python: str, launcher: str) -> Launch:
    try:
        words = tuple(shlex.split(launcher))
    except ValueError:
        words = ()
    if not words or shutil.which(words[0]) is None:
        remedy = REMEDY if launcher == "mpiexec" else "Correct HNE_MPIEXEC or `launcher`, or leave them out for mpiexec"
        msg = f"the slepc solver needs MPI, got no program '{launcher}'. {remedy}."
        raise MissingExtraError(msg)
    if not python and find_spec("slepc4py") is not None and find_spec("petsc4py") is not None:
        return Launch(sys.executable, (), words)
    # Of Debian's slepc4py and petsc4py, the latest of each.
    builds = (sorted(Path(root).glob(pattern)) for root, pattern in DEBIAN_FOLDERS)
    debian = tuple(str(folders[-1]) for folders in builds if folders)
    options = [(python, ())] if python else [(DEBIAN_PYTHON, ()), (DEBIAN_PYTHON, debian)]
    for launch in (Launch(path, folders, words) for path, folders in options):
        if launch.has_slepc():
            return launch
    got = f"'{python}', which has none" if python else f"neither one for {sys.executable} nor Debian's"
    msg = f"the slepc solver needs slepc4py, got {got}. {REMEDY}."
    raise MissingExtraError(msg)


def rank_count(launch: Launch, n_threads: int) -> int | None:
    """Number of ranks that the environment asks for, or as many as threads; None where the launcher's options say."""
    return None if launch.counts_ranks else whole_number_from("HNE_MPI_RANKS", n_threads)


def whole_number_from(variable: str, default: int) -> int:
    """Positive whole number that a variable of the environment holds, or the default."""
    text = os.environ.get(variable, "") or str(default)
    if not text.isdecimal() or int(text) < 1:
        msg = f"{variable} must be a positive whole number, got {quoted(text)}. Try {variable}={default}."
        raise InputError(msg)
    return int(text)


def is_worth_ranks(n_samples: int) -> bool:
    """Whether SLEPc shall solve a problem of this size here; where not, the log says why."""
    if n_samples < whole_number_from("HNE_SLEPC_MIN_SAMPLES", MIN_SAMPLES):
        logger.info("eigenpairs: %d samples are too few for slepc, auto takes over", n_samples)
        return False
    try:
        find_launch()
    except MissingExtraError as error:
        message = f"{error} The solver that eigen_solver='auto' chooses takes over."
        warnings.warn(message, FallbackWarning, stacklevel=caller_stacklevel())
        return False
    return True


def in_local_order(alignment: Alignment) -> tuple[IndexArray, Alignment]:
    """An order of the samples in which neighbors are near each other, and the alignment of the samples in it."""
    order = reverse_cuthill_mckee(alignment.A)
    A, B = (matrix[order][:, order].tocsr() for matrix in (alignment.A, alignment.B))
    A.sort_indices()
    B.sort_indices()
    return order, Alignment(A, B, alignment.gamma)


def slepc_eigenvectors(alignment: Alignment, settings: Settings, n_threads: int) -> FloatArray:
    """Orthonormal basis (n, count + 6) of the bottom eigenvectors of G, ascending, the constant one left out."""
    launch = find_launch()
    ranks = rank_count(launch, n_threads)
    order, local = in_local_order(alignment)
    count, tol = settings.n_eigenvectors(alignment.n_samples), settings.effective_tol
    # The same problem gets its name again, whatever start it has.
    digest = hashlib.blake2b(repr((alignment.gamma, count, tol)).encode(), digest_size=8)
    for matrix in (alignment.A, alignment.B):
        for array in (matrix.indptr, matrix.indices, matrix.data):
            digest.update(np.ascontiguousarray(array).data)
    home = os.environ.get("HNE_SLEPC_FOLDER", "")
    with nullcontext(home) if home else TemporaryDirectory(prefix="hne-slepc-") as root:
        folder = expanded(root) / f"problem-{digest.hexdigest()}"
        if not has_result(folder):
            seed = int(random_generator(settings.random_state).randint(2**31))
            write_alignment(folder, local, count=count, tol=tol, seed=seed)
        # The ranks need the memory.
        del local
        basis = solve_folder(folder, ranks, launch).basis
    ordered = np.empty_like(basis)
    ordered[order] = basis
    return ordered


def solve_folder(folder: Path, ranks: int | None = None, launch: Launch | None = None) -> Result:
    """Solve a folder that `hne.core.eigen.exchange` wrote, unless it has its result already.

    Without `ranks`, the launcher's own options say how many, or else there is one.
    """
    with suppress(InputError):
        result = read_result(folder)
        logger.info("slepc: '%s' is solved already", folder)
        return result
    launch = launch or find_launch()
    if ranks is None and not launch.counts_ranks:
        ranks = 1
    status, last, error = _run(launch.command(folder, ranks), launch.environment())
    if status == 0 and has_result(folder):
        return read_result(folder)
    if error.startswith(FAILED):
        msg = f"no result of the slepc solver: {error.removeprefix(FAILED)}"
    else:
        msg = (
            f"no result of the slepc solver: its ranks ended ({error or f'status {status}'}) after they said "
            f"'{last or 'nothing'}'. If memory ran out, spread them over more machines (HNE_MPIEXEC); or try "
            "eigen_solver='auto'."
        )
    raise EigenSolverError(msg)


def _run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    """Run the ranks to their end: status, the last part they began, and the line that says what went wrong."""
    logger.info("slepc: %s", " ".join(command))
    last = error = ""
    # A session of its own: Ctrl-C comes to this process, which then ends the ranks.
    with subprocess.Popen(  # noqa: S603
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as launcher:
        try:
            for line in launcher.stdout or ():
                text = one_line(line.strip())
                if text.startswith(FAILED) or (not error and _SIGNAL.search(text) and not text.startswith(SAID)):
                    error = text
                elif text.startswith(SAID):
                    last = text.removeprefix(SAID)
                    step(f"slepc, {last.partition(':')[0]}", 0)
                logger.info("slepc: %s", text.removeprefix(SAID))
        except BaseException:
            _end(launcher)
            raise
        return launcher.wait(), last, error


def _end(launcher: "subprocess.Popen[str]") -> None:
    """End the launcher and its ranks, which may be in groups of their own."""
    try:
        ranks = psutil.Process(launcher.pid).children(recursive=True)
    except psutil.Error:
        ranks = []
    launcher.terminate()
    try:
        with suppress(subprocess.TimeoutExpired):
            launcher.wait(GRACE)
    finally:
        # Whoever presses Ctrl-C again does not want to wait.
        launcher.kill()
        for rank in ranks:
            with suppress(psutil.Error):
                rank.kill()
