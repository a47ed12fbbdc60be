"""`hne-paper reproduce`: run the paper's experiments again and show what of its claims holds."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from hne.cli import Parser, run_command
from hne.cli.arguments import at_least
from hne_paper import __version__

SEEDS, QUICK_SEEDS = 30, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    return run_command(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    top = Parser(prog="hne-paper", description="The experiments of the paper on Hierarchic Neighbors Embedding.")
    top.add_argument("--version", action="version", version=f"hne-paper {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    parser = commands.add_parser(
        "reproduce",
        help="run the paper's experiments again: figures, tables, claims, one page",
        description="Run the paper's experiments again. Writes index.html with each claim and what was measured of it, "
        "the pictures in figures/, and all numbers in results/. A run that was stopped goes on where it stopped.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="experiments to run: neighbors, general, sparse, noisy, clusters, surfaces, faces, teapots, rebuilt, "
        "tables [all]",
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with the original images; without, rendered ones stand in"
    )
    parser.add_argument("--seeds", type=at_least(1), metavar="N", help=f"data sets of each kind [{SEEDS}]")
    parser.add_argument("--quick", action="store_true", help=f"in minutes: {QUICK_SEEDS} seeds, fewer settings")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("reproduced"),
        metavar="DIR",
        help="folder to write to, made if missing [reproduced]",
    )
    parser.add_argument("--jobs", type=at_least(1), metavar="N", help="processes side by side [one a core]")
    parser.set_defaults(run=_run)
    return top


def _run(options: argparse.Namespace) -> None:
    """Run the experiments with progress on standard error, and say where the page is."""
    from hne._runtime.progress import show_progress
    from hne_paper.experiments import Options, reproduce

    settings = Options(
        output=options.output,
        data=options.data,
        n_seeds=options.seeds or (QUICK_SEEDS if options.quick else SEEDS),
        quick=options.quick,
        n_jobs=options.jobs or -1,
    )
    with show_progress(1):
        page = reproduce(options.names, settings, _command(options))
    print(f"wrote {page}", file=sys.stderr)


def _command(options: argparse.Namespace) -> str:
    """The command that makes the same page, without this machine's folders."""
    words = ["hne-paper", "reproduce", *options.names]
    words += ["--data", "DIR"] if options.data else []
    words += ["--seeds", str(options.seeds)] if options.seeds else []
    words += ["--quick"] if options.quick else []
    return shlex.join(words)
