"""Alignment -> bottom eigenvectors of G by PETSc and SLEPc, in processes that share a folder with this one.

The folder is a temporary one, or with HNE_SLEPC_FOLDER a kept one below that, named after the problem: a run that was
killed takes up the result if there is one. What comes back goes through Rayleigh-Ritz and certificate as every answer
does, so that nothing needs to be believed.
"""

import hashlib
import logging
import os
import re
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil

from hne._callers import frames_up
from hne._eigen._direct import in_local_order
from hne._eigen._launch import Launch, found_launch, rank_count, whole_number_from
from hne._exchange import Result, has_result, read_result, write_alignment
from hne._files import expanded
from hne._progress import one_line, step
from hne._random import random_generator
from hne._types import Alignment, FloatArray, Settings
from hne.exceptions import EigenSolverError, FallbackWarning, InputError, MissingExtraError

logger = logging.getLogger("hne")

# Below, other solvers are done before the ranks have said hello (1 to 2 s). HNE_SLEPC_MIN_SAMPLES says otherwise.
MIN_SAMPLES = 2_000
# What the program's lines begin with, and its errors.
SAID, FAILED = "hne slepc: ", "hne slepc: error: "
# Seconds that ranks get to end before they are killed.
GRACE = 5.0
# What launchers say of a rank that a signal ended.
_SIGNAL = re.compile(r"signal \d+|Killed|Segmentation fault|[Oo]ut [Oo]f [Mm]emory")


def is_worth_ranks(n_samples: int) -> bool:
    """Whether SLEPc shall solve a problem of this size here; where not, the log says why."""
    if n_samples < whole_number_from("HNE_SLEPC_MIN_SAMPLES", MIN_SAMPLES):
        logger.info("eigenpairs: %d samples are too few for slepc, auto takes over", n_samples)
        return False
    try:
        found_launch()
    except MissingExtraError as error:
        message = f"{error} The solver that eigen_solver='auto' chooses takes over."
        warnings.warn(message, FallbackWarning, stacklevel=frames_up())
        return False
    return True


def slepc_eigenvectors(alignment: Alignment, settings: Settings, n_threads: int) -> FloatArray:
    """Orthonormal basis (n, count + 6) of the bottom eigenvectors of G, ascending, the constant one left out."""
    launch = found_launch()
    ranks = rank_count(launch, n_threads)
    order, local = in_local_order(alignment)
    with _folder(alignment, settings) as folder:
        if not has_result(folder):
            seed = int(random_generator(settings.random_state).randint(2**31))
            write_alignment(
                folder, local, count=settings.n_eigenvectors(alignment.n_samples), tol=settings.effective_tol, seed=seed
            )
        # The ranks need the memory.
        del local
        found = solve_folder(folder, ranks, launch).basis
    basis = np.empty_like(found)
    basis[order] = found
    return basis


def solve_folder(folder: Path, ranks: int | None = None, launch: Launch | None = None) -> Result:
    """Solve a folder that `hne._exchange` wrote, unless it has its result already.

    Without `ranks`, the launcher's own options say how many, or else there is one.
    """
    try:
        result = read_result(folder)
    except InputError:
        pass
    else:
        logger.info("slepc: '%s' is solved already", folder)
        return result
    launch = launch or found_launch()
    if ranks is None and not launch.counts_ranks:
        ranks = 1
    status, last, error = _run(launch.command(folder, ranks), launch.environment())
    if status == 0 and has_result(folder):
        return read_result(folder)
    raise EigenSolverError(_failure(status, last, error))


def _failure(status: int, last: str, error: str) -> str:
    """What the ranks said before they ended, and what to do about it."""
    if error.startswith(FAILED):
        return f"no result of the slepc solver: {error.removeprefix(FAILED)}"
    what = error or f"status {status}"
    return (
        f"no result of the slepc solver: its ranks ended ({what}) after they said '{last or 'nothing'}'. "
        "If memory ran out, spread them over more machines (HNE_MPIEXEC); or try eigen_solver='auto'."
    )


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


@contextmanager
def _folder(alignment: Alignment, settings: Settings) -> Iterator[Path]:
    """A folder for the problem: below the one that is to be kept, or one that is removed afterwards."""
    kept = os.environ.get("HNE_SLEPC_FOLDER", "")
    if kept:
        yield expanded(kept) / _name(alignment, settings)
        return
    with TemporaryDirectory(prefix="hne-slepc-") as temporary:
        yield Path(temporary)


def _name(alignment: Alignment, settings: Settings) -> str:
    """A name that the same problem gets again; whatever start it has."""
    digest = hashlib.blake2b(digest_size=8)
    digest.update(
        repr((alignment.gamma, settings.n_eigenvectors(alignment.n_samples), settings.effective_tol)).encode()
    )
    for matrix in (alignment.A, alignment.B):
        for array in (matrix.indptr, matrix.indices, matrix.data):
            digest.update(np.ascontiguousarray(array).data)
    return f"problem-{digest.hexdigest()}"
