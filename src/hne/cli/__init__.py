"""The command line. Data goes to files and standard output, talk to standard error.

Nothing heavy is imported before a command runs, so that `hne --help` answers at once. Exit status: 0 done, 1 for work
that failed, 2 for input and usage that a message explains, 130 for Ctrl-C.
"""

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from hne import __version__
from hne.cli import _compare, _completion, _demo, _embed, _info, _reproduce, _transform
from hne.cli._talk import in_flags, say
from hne.exceptions import EigenSolverError, HNEError, RivalError

__all__ = ["main"]

FAILED, REFUSED, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(words)
    options.words = words
    try:
        with _stopped_by_signals():
            options.run(options)
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("HNE_DEBUG"):
            raise
        return _status_of(error)
    return 0


def _status_of(error: BaseException) -> int:
    """Say in one line what went wrong, and return the exit status."""
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # Whoever read standard output has left: nothing more to say, not even when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    if isinstance(error, HNEError):
        say(in_flags(str(error)))
        return FAILED if isinstance(error, EigenSolverError | RivalError) else REFUSED
    if isinstance(error, MemoryError):
        say("out of memory. Look at --dry-run, pass fewer rows or columns, or lower --n-neighbors.")
        return FAILED
    say(f"unexpected {type(error).__name__}: {error}. This is a bug: set HNE_DEBUG=1 to see where, and report it.")
    return FAILED


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let a termination end the work as Ctrl-C does, so that no half-written file stays behind."""

    def stop(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hne",
        description="Hierarchic Neighbors Embedding: manifold learning for sparse and weakly connected data.",
    )
    parser.add_argument("--version", action="version", version=f"hne {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (_embed, _transform, _compare, _demo, _reproduce, _info):
        command.add_to(commands)
    _completion.add_to(commands, parser)
    return parser
