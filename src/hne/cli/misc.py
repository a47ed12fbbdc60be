"""`hne demo`: a roll unrolled; `hne eigen`: eigenproblems in folders solved by MPI; `hne completion`: for shells."""

import argparse
import os
import sys
import warnings
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from hne._runtime.files import atomic_write, make_folder
from hne._runtime.progress import duration, one_line, run_stage, show_progress
from hne.cli.arguments import add_command, add_talk, at_least, output_path
from hne.cli.talk import need_library, print_json, save_figure
from hne.exceptions import InputError, UntrustworthyWarning, refuse
from hne.settings import PUBLISHED, VARIANTS

if TYPE_CHECKING:
    from hne.core.records import FloatArray
    from hne.datasets import Dataset

# The paper's sparse-data experiment; reg from the study of this roll.
N_SAMPLES, N_NEIGHBORS, REG = 300, 5, 1e-4
# One roll of 300 samples proves little: luck decides how near its turns come. The table has a median too.
N_ROLLS = 10
# How many they are is told to ranks of Open MPI, of MPICH, and to tasks of srun; a batch script is told other things.
OF_RANKS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
# What result.json has that is worth printing.
RESULT_FACTS = ("n_samples", "eigenvalues", "next_value", "residuals", "n_ranks", "seconds", "peak_bytes", "versions")
ON_A_CLUSTER = """\
on a cluster, within a job:
  hne eigen FOLDER --launcher "srun -n 64" --python /path/to/python
  srun -n 64 python -m hne.scale.slepc_program FOLDER    the same, of one problem, without hne's dependencies
"""
SHELLS = """\
how to use it:
  bash   hne completion bash > ~/.local/share/bash-completion/completions/hne
  zsh    hne completion zsh > ~/.zfunc/_hne        (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  tcsh   hne completion tcsh >> ~/.tcshrc
"""


def add_demo_to(commands: Any) -> None:
    """Add `hne demo` to the parser."""
    described = (
        "Unroll a Swiss roll of 300 samples with LLE, the three variants of HNE as published, and HNE by default. "
        "Prints the affine errors to the true strip (0 perfect, 1 lost) and writes demo.png, demo.csv and demo.html, "
        "the report of HNE."
    )
    parser = add_command(commands, "demo", run_demo, "unroll a sparse Swiss roll and compare with LLE", described)
    told = "folder to write to, made if missing [.]"
    parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIR", help=told)
    parser.add_argument("--seed", type=at_least(0), default=0, help="another roll of the same kind [0]")


def run_demo(options: argparse.Namespace) -> None:
    """Embed, print the table, write the coordinates, the report and the picture."""
    import numpy as np

    from hne import HNE
    from hne.datasets import make_swiss_roll
    from hne.metrics import affine_errors

    make_folder(options.output)
    rolls = [make_swiss_roll(N_SAMPLES, even=True, random_state=options.seed + more) for more in range(N_ROLLS)]
    print(f"{rolls[0].name}, k = {N_NEIGHBORS}, reg = {REG:g}; HNE by its defaults", file=sys.stderr)
    of_rolls = [_embeddings(roll) for roll in rolls]
    print("affine error to the true strip: 0 unrolled, 1 lost")
    print(f"method  arc length  height    mean   median of {N_ROLLS} rolls")
    for method in of_rolls[0]:
        errors = [affine_errors(Y[method], roll.chart) for Y, roll in zip(of_rolls, rolls, strict=True)]
        (length, height), middle = errors[0], median(float(one.mean()) for one in errors)
        print(f"{method:<7}{length:>11.3f}{height:>8.3f}{(length + height) / 2:>8.3f}{middle:>11.3f}")
    roll, embeddings = rolls[0], of_rolls[0]
    names = ["x", "y", "z", "arc_length", "height"]
    names += [f"{method.lower()}_{axis}" for method in embeddings for axis in (1, 2)]
    table, page, picture = (options.output / f"demo.{ending}" for ending in ("csv", "html", "png"))
    with atomic_write(table) as temporary:
        values = np.column_stack([roll.X, roll.chart, *embeddings.values()])
        np.savetxt(temporary, values, delimiter=",", header=",".join(names), comments="", fmt="%.10g")
    print(f"wrote {table}", file=sys.stderr)
    columns = dict(zip(("arc length", "height", *"xyz"), np.column_stack([roll.chart, roll.X]).T, strict=True))
    HNE().fit(roll.X).report(page, color="arc length", columns=columns, title=f"{roll.name}, unrolled by HNE")
    print(f"wrote {page}", file=sys.stderr)
    _write_picture(picture, embeddings, roll)
    print(f"wrote {picture}", file=sys.stderr)


def _embeddings(roll: "Dataset") -> dict[str, "FloatArray"]:
    from sklearn.manifold import LocallyLinearEmbedding

    from hne import embed

    lle = LocallyLinearEmbedding(n_neighbors=N_NEIGHBORS, reg=REG, eigen_solver="dense")
    embeddings = {"LLE": lle.fit(roll.X).embedding_}
    with warnings.catch_warnings():
        # The table tells the truth about each; the page has the verdict.
        warnings.simplefilter("ignore", UntrustworthyWarning)
        for variant in VARIANTS:
            settings = {**PUBLISHED, "n_neighbors": N_NEIGHBORS, "reg": REG, "variant": variant}
            embeddings[variant.upper()] = embed(roll.X, **settings).Y
        embeddings["HNE"] = embed(roll.X).Y
    return embeddings


def _write_picture(path: Path, embeddings: dict[str, "FloatArray"], roll: "Dataset") -> None:
    from hne.core.neighbors.graph import knn_graph
    from hne.metrics import affine_errors
    from hne.viz import plots

    colors, edges = plots.position_colors(roll.chart), knn_graph(roll.X, N_NEIGHBORS).indices
    figure = plots.pyplot().figure(figsize=(11.5, 6.4), layout="constrained")
    grid = figure.add_gridspec(len(embeddings), 2)
    space = figure.add_subplot(grid[:, 0], projection="3d")
    plots.space_panel(space, roll.X, colors, title=f"{N_SAMPLES} samples of a Swiss roll")
    for position, (method, Y) in enumerate(embeddings.items()):
        title = f"{method}, affine error {affine_errors(Y, roll.chart).mean():.3f}"
        axes = figure.add_subplot(grid[position, 1])
        plots.embedding_panel(axes, plots.oriented(Y, roll.chart), colors, edges, title)
    save_figure(path, figure, dpi=110)


def add_eigen_to(commands: Any) -> None:
    """Add `hne eigen` to the parser."""
    told = "solve the eigenproblems in folders by MPI, with PETSc and SLEPc"
    described = (
        "Solve the eigenproblem in a folder, or all in folders below it that have a problem.json, on several processes "
        "by MPI. What has its result already is not solved again."
    )
    parser = add_command(commands, "eigen", run_eigen, told, described, ON_A_CLUSTER)
    add = parser.add_argument
    add("folder", type=output_path, metavar="FOLDER", help="folder with a problem.json, or above some")
    add("-n", "--ranks", type=at_least(1), metavar="P", help="processes [the launcher's, or one a core]")
    add("--launcher", metavar="WORDS", help="what starts them, such as 'srun -n 64' [mpiexec]")
    add("--python", metavar="PATH", help="a Python that has slepc4py [this one, or Debian's]")
    add_talk(parser)


def run_eigen(options: argparse.Namespace) -> None:
    """Solve what is to be solved, and tell of all."""
    from hne._runtime.threads import thread_count
    from hne.core.eigen.exchange import PROBLEM_FILE, has_result
    from hne.core.eigen.slepc import find_launch, rank_count, solve_folder

    ranks = max(os.environ.get(name, "1") for name in OF_RANKS)
    if ranks != "1":
        program = "start 'python -m hne.scale.slepc_program FOLDER' by mpiexec or srun"
        remedy = f"Run it once, with --launcher; or {program}"
        refuse("hne eigen", "starts ranks itself", f"started as one of {ranks}", remedy)
    below = sorted(path.parent for path in options.folder.rglob(PROBLEM_FILE))
    folders = [options.folder] if (options.folder / PROBLEM_FILE).is_file() else below
    if not folders:
        msg = f"'{options.folder}' has no {PROBLEM_FILE}, nor has a folder below it. Name a folder that hne wrote."
        raise InputError(msg)
    launch = find_launch(options.python, options.launcher)
    count = options.ranks or rank_count(launch, thread_count(-1))
    records = []
    for folder in folders:
        record: dict[str, Any] = {"folder": str(folder), "was_solved": has_result(folder)}
        with show_progress(0 if options.quiet else options.verbose):
            facts = run_stage("eigenpairs", solve_folder, folder, count, launch).facts
        record |= {name: facts.get(name) for name in RESULT_FACTS}
        record |= {name: facts[name][: facts["count"]] for name in ("eigenvalues", "residuals")}
        records.append(record)
        if not options.json:
            parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in record["seconds"].items())
            state = "solved already" if record["was_solved"] else "solved"
            following = "" if record["next_value"] is None else f"; the next {record['next_value']:.6g}"
            lines = [
                f"{folder}: {state}, {record['n_samples']} samples, {record['n_ranks']} ranks",
                "  eigenvalues  " + ", ".join(f"{value:.6g}" for value in record["eigenvalues"]) + following,
                "  residuals    " + ", ".join(f"{value:.1e}" for value in record["residuals"]),
                f"  time         {duration(sum(record['seconds'].values()))}: {parts}",
                "  memory       " + ", ".join(f"{n / 1e9:.2f}" for n in record["peak_bytes"]) + " GB of each rank",
            ]
            print("\n".join(one_line(line) for line in lines), flush=True)
    if options.json:
        print_json({"problems": records})


def add_completion_to(commands: Any, parser: argparse.ArgumentParser) -> None:
    """Add `hne completion` to the parser, which is what it completes."""

    def run(options: argparse.Namespace) -> None:
        need_library("hne completion", "shtab", "shtab", "completion")
        import shtab

        (commands,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001
        for action in (action for command in commands.choices.values() for action in command._actions):  # noqa: SLF001
            if action.type in {Path, output_path} or action.dest == "input":
                action.complete = shtab.FILE
        print(shtab.complete(parser, options.shell))

    told = "print a script that completes hne's commands and options in a shell"
    described = "Print a script for a shell to complete hne's commands, options and choices."
    command = add_command(commands, "completion", run, told, described, SHELLS)
    command.add_argument("shell", choices=("bash", "zsh", "tcsh"))
