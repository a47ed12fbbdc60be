"""`hne eigen`: solve the eigenproblems in folders by MPI, on this machine or a cluster."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne._runtime.progress import duration, one_line, run_stage, show_progress
from hne.cli.arguments import add_talk, at_least, output_path
from hne.cli.talk import print_json
from hne.exceptions import InputError

if TYPE_CHECKING:
    from hne.core.eigen.slepc import Launch

# How many they are is told to ranks of Open MPI, of MPICH, and to tasks of srun; a batch script is told other things.
OF_RANKS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
# What result.json has that is worth printing.
TOLD = ("n_samples", "eigenvalues", "next_value", "residuals", "n_ranks", "seconds", "peak_bytes", "versions")
HELP = """\
on a cluster, within a job:
  hne eigen FOLDER --launcher "srun -n 64" --python /path/to/python
  srun -n 64 python -m hne.scale.slepc_program FOLDER    the same, of one problem, without hne's dependencies
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "eigen",
        help="solve the eigenproblems in folders by MPI, with PETSc and SLEPc",
        description="Solve the eigenproblem in a folder, or all in folders below it that have a problem.json, on "
        "several processes by MPI. What has its result already is not solved again.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=output_path, metavar="FOLDER", help="folder with a problem.json, or above some")
    parser.add_argument(
        "-n", "--ranks", type=at_least(1), metavar="P", help="processes [the launcher's, or one a core]"
    )
    parser.add_argument("--launcher", metavar="WORDS", help="what starts them, such as 'srun -n 64' [mpiexec]")
    parser.add_argument("--python", metavar="PATH", help="a Python that has slepc4py [this one, or Debian's]")
    add_talk(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Solve what is to be solved, and tell of all."""
    ranks = max(os.environ.get(name, "1") for name in OF_RANKS)
    if ranks != "1":
        msg = (
            f"hne eigen starts ranks itself, got started as one of {ranks}. Run it once, with --launcher; or start "
            "'python -m hne.scale.slepc_program FOLDER' by mpiexec or srun."
        )
        raise InputError(msg)
    folders = _folders(options.folder)
    from hne.core.eigen.exchange import has_result
    from hne.core.eigen.slepc import find_launch

    launch = find_launch(options.python, options.launcher)
    records = []
    for folder in folders:
        record = {"folder": str(folder), "was_solved": has_result(folder), **_solved(folder, launch, options)}
        records.append(record)
        if not options.json:
            print("\n".join(one_line(line) for line in _lines(record)), flush=True)
    if options.json:
        print_json({"problems": records})


def _folders(folder: Path) -> list[Path]:
    """The folder, or those below it, that have a problem."""
    from hne.core.eigen.exchange import PROBLEM_FILE, has_problem

    found = [folder] if has_problem(folder) else sorted(path.parent for path in folder.rglob(PROBLEM_FILE))
    if not found:
        msg = f"'{folder}' has no {PROBLEM_FILE}, nor has a folder below it. Name a folder that hne wrote."
        raise InputError(msg)
    return found


def _solved(folder: Path, launch: "Launch", options: argparse.Namespace) -> dict[str, Any]:
    """What result.json says in the end."""
    from hne._runtime.threads import thread_count
    from hne.core.eigen.slepc import rank_count, solve_folder

    ranks = options.ranks or rank_count(launch, thread_count(-1))
    with show_progress(0 if options.quiet else options.verbose):
        facts = run_stage("eigenpairs", solve_folder, folder, ranks, launch).facts
    wanted = {name: facts.get(name) for name in TOLD}
    return wanted | {name: facts[name][: facts["count"]] for name in ("eigenvalues", "residuals")}


def _lines(record: dict[str, Any]) -> list[str]:
    """A solved problem for people."""
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in record["seconds"].items())
    state = "solved already" if record["was_solved"] else "solved"
    following = record["next_value"]
    return [
        f"{record['folder']}: {state}, {record['n_samples']} samples, {record['n_ranks']} ranks",
        "  eigenvalues  "
        + ", ".join(f"{value:.6g}" for value in record["eigenvalues"])
        + ("" if following is None else f"; the next {following:.6g}"),
        "  residuals    " + ", ".join(f"{value:.1e}" for value in record["residuals"]),
        f"  time         {duration(sum(record['seconds'].values()))}: {parts}",
        "  memory       " + ", ".join(f"{peak / 1e9:.2f}" for peak in record["peak_bytes"]) + " GB of each rank",
    ]
