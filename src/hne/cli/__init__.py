"""The command line: `hne demo`, `hne reproduce` and what will join them. Data goes to files, talk to standard error.

Nothing heavy is imported before a command runs, so that `hne --help` answers at once. Exit status: 0 done,
2 for an error that a message explains, 130 for Ctrl-C.
"""

import argparse
import sys
from collections.abc import Sequence

from hne import __version__
from hne.cli import _demo, _reproduce
from hne.exceptions import HNEError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except HNEError as error:
        print(f"hne: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("hne: interrupted", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hne",
        description="Hierarchic Neighbors Embedding: manifold learning for sparse and weakly connected data.",
    )
    parser.add_argument("--version", action="version", version=f"hne {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _demo.add_to(commands)
    _reproduce.add_to(commands)
    return parser
