"""The command line. Data goes to files and standard output, talk to standard error.

Nothing heavy is imported before a command runs, so that `hne --help` answers at once. Exit status: 0 done, 1 for work
that failed, 2 for input and usage that a message explains, 130 for Ctrl-C, 128 and its number for another signal.
"""

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from hne import __version__
from hne.cli import compare as _compare
from hne.cli import completion as _completion
from hne.cli import demo as _demo
from hne.cli import eigen as _eigen
from hne.cli import embed as _embed
from hne.cli import info as _info
from hne.cli import transform as _transform
from hne.cli import tune as _tune
from hne.cli.parsing import Parser
from hne.cli.talk import say, with_cli_names
from hne.exceptions import BaselineError, EigenSolverError, ExecutorError, HNEError

__all__ = ["main"]

FAILED, REFUSED = 1, 2
# A shell's status for a program that a signal ended is this and the signal's number.
BY_SIGNAL = 128


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    return run_command(_parser(), arguments)


def run_command(parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, by its parser's `run`, and return its exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = parser.parse_args(words)
    options.words = words
    try:
        with _stopped_by_signals():
            options.run(options)
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("HNE_DEBUG"):
            raise
        return _status_of(error, getattr(options, "checkpoint", None))
    return 0


def _status_of(error: BaseException, checkpoint: object = None) -> int:
    """Say in one line what went wrong, and return the exit status."""
    if isinstance(error, OSError) and not isinstance(error, HNEError):
        # Standard output may be what failed: nothing more goes there, not even when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return BY_SIGNAL + signal.SIGPIPE
    if isinstance(error, KeyboardInterrupt):
        say("interrupted" if checkpoint is None else f"interrupted. The same command goes on from '{checkpoint}'")
        return BY_SIGNAL + (error.args[0] if error.args else signal.SIGINT)
    say(_sentence(error))
    is_refused = isinstance(error, HNEError | UnicodeEncodeError) and not isinstance(
        error, EigenSolverError | ExecutorError | BaselineError
    )
    return REFUSED if is_refused else FAILED


def _sentence(error: BaseException) -> str:
    """What went wrong, and what to do about it."""
    if isinstance(error, HNEError):
        return with_cli_names(str(error))
    if isinstance(error, UnicodeEncodeError):
        return f"standard output takes {error.encoding} alone, got {error.object[error.start]!r}. Choose -o FILE."
    if isinstance(error, OSError):
        name = f" '{error.filename}'" if error.filename else ""
        return f"the system refuses{name}: {error.strerror or error}. Check space and permissions."
    if isinstance(error, MemoryError):
        return "out of memory. Look at --dry-run, pass fewer rows or columns, or lower --n-neighbors."
    return f"unexpected {type(error).__name__}: {error}. This is a bug: set HNE_DEBUG=1 to see where, and report it."


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let other ends of the work be as Ctrl-C is, so that no half-written file stays behind."""

    def stop(number: int, _: Any) -> NoReturn:
        raise KeyboardInterrupt(number)

    names = ("SIGTERM", "SIGHUP")
    try:
        before = {name: signal.signal(getattr(signal, name), stop) for name in names if hasattr(signal, name)}
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="hne",
        description="Hierarchic Neighbors Embedding: manifold learning for sparse and weakly connected data.",
    )
    parser.add_argument("--version", action="version", version=f"hne {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (_embed, _tune, _transform, _compare, _eigen, _demo, _info):
        command.add_to(commands)
    _completion.add_to(commands, parser)
    return parser
