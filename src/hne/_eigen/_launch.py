"""Can SLEPc run here, and how: a Python that has it, and what starts that on several ranks.

The program `hne/scale/slepc.py` is a process of its own, because PETSc may live in another Python than this one:
Debian's python3-slepc4py is built for /usr/bin/python3, with a NumPy that is too old for this package.

    HNE_SLEPC_PYTHON   a Python that can import slepc4py   [this one, or Debian's]
    HNE_MPIEXEC        what starts ranks, such as "srun"   [mpiexec]
    HNE_MPI_RANKS      how many                            [as many as threads]
"""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from hne._quoted import quoted
from hne.exceptions import InputError, MissingExtraError

PROGRAM = Path(__file__).parents[1] / "scale" / "slepc.py"
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
        return OF_OPEN_MPI | _environment(self.folders) | OF_A_RANK


def found_launch(python: str | None = None, launcher: str | None = None) -> Launch:
    """Find out how to start the program, or raise MissingExtraError with what to install. Asked once a process."""
    python = python or os.environ.get("HNE_SLEPC_PYTHON", "")
    return _found(python, launcher or os.environ.get("HNE_MPIEXEC", "") or "mpiexec")


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


@lru_cache(maxsize=8)
def _found(python: str, launcher: str) -> Launch:
    try:
        words = tuple(shlex.split(launcher))
    except ValueError:
        words = ()
    if not words or shutil.which(words[0]) is None:
        remedy = REMEDY if launcher == "mpiexec" else "Correct HNE_MPIEXEC or --launcher, or leave them out for mpiexec"
        msg = f"the slepc solver needs MPI, got no program '{launcher}'. {remedy}."
        raise MissingExtraError(msg)
    if python:
        if not _has_slepc(python, ()):
            msg = f"the slepc solver needs slepc4py, got '{python}', which has none. {REMEDY}."
            raise MissingExtraError(msg)
        return Launch(python, (), words)
    if find_spec("slepc4py") is not None and find_spec("petsc4py") is not None:
        return Launch(sys.executable, (), words)
    for folders in ((), _debian_folders()):
        if _has_slepc(DEBIAN_PYTHON, folders):
            return Launch(DEBIAN_PYTHON, folders, words)
    msg = f"the slepc solver needs slepc4py, got neither one for {sys.executable} nor Debian's. {REMEDY}."
    raise MissingExtraError(msg)


def _debian_folders() -> tuple[str, ...]:
    """Folders of Debian's slepc4py and petsc4py, the latest of each."""
    found = (sorted(Path(root).glob(pattern)) for root, pattern in DEBIAN_FOLDERS)
    return tuple(str(folders[-1]) for folders in found if folders)


def _environment(folders: tuple[str, ...]) -> dict[str, str]:
    """Variables of this process; without those by which another Python would find this one's packages."""
    variables = dict(os.environ)
    if folders:
        variables = {name: value for name, value in variables.items() if name not in {"PYTHONHOME", "VIRTUAL_ENV"}}
        variables["PYTHONPATH"] = os.pathsep.join(folders)
    return variables


def _has_slepc(python: str, folders: tuple[str, ...]) -> bool:
    """Whether a Python can import slepc4py; without loading PETSc, which would begin MPI."""
    command = [python, "-c", "import numpy, petsc4py, slepc4py"]
    try:
        asked = subprocess.run(  # noqa: S603
            command, env=_environment(folders), capture_output=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return asked.returncode == 0
