"""The command line. Data goes to files and standard output, talk to standard error.

Nothing heavy is imported before a command runs, so that `hne --help` answers at once. Exit status: 0 done, 1 for work
that failed, 2 for input and usage that a message explains, 130 for Ctrl-C, 128 and its number for another signal.
"""

import argparse
import difflib
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NoReturn

from hne import __version__
from hne.cli import embed, explore, misc, transform, tune
from hne.cli.talk import echo, error_text
from hne.exceptions import BaselineError, EigenSolverError, ExecutorError, HNEError

__all__ = ["main"]

FAILED, REFUSED = 1, 2
# A shell's status for a program that a signal ended is this and the signal's number.
BY_SIGNAL = 128
# What argparse says of a word that it does not know; its errors have no fields for it.
_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")


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


def _status_of(error: BaseException, checkpoint: object) -> int:
    """Say in one line what went wrong, and return the exit status."""
    if isinstance(error, OSError) and not isinstance(error, HNEError):
        # Standard output may be what failed: nothing more goes there, not even when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return BY_SIGNAL + signal.SIGPIPE
    if isinstance(error, KeyboardInterrupt):
        going_on = "" if checkpoint is None else f". The same command goes on from '{checkpoint}'"
        echo(None, f"interrupted{going_on}")
        return BY_SIGNAL + (error.args[0] if error.args else signal.SIGINT)
    status = FAILED
    if isinstance(error, HNEError):
        text = error_text(error)
        status = FAILED if isinstance(error, EigenSolverError | ExecutorError | BaselineError) else REFUSED
    elif isinstance(error, UnicodeEncodeError):
        text = f"standard output takes {error.encoding} alone, got {error.object[error.start]!r}. Choose -o FILE."
        status = REFUSED
    elif isinstance(error, OSError):
        name = f" '{error.filename}'" if error.filename else ""
        text = f"the system refuses{name}: {error.strerror or error}. Check space and permissions."
    elif isinstance(error, MemoryError):
        text = "out of memory. Look at --dry-run, pass fewer rows or columns, or lower --n-neighbors."
    else:
        kind = type(error).__name__
        text = f"unexpected {kind}: {error}. This is a bug: set HNE_DEBUG=1 to see where, and report it."
    echo(None, text)
    return status


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let other ends of the work be as Ctrl-C is, so that no half-written file stays behind."""

    def stop(number: int, _: Any) -> NoReturn:
        raise KeyboardInterrupt(number)

    with ExitStack() as afterwards:
        for name in ("SIGTERM", "SIGHUP"):
            with suppress(AttributeError, ValueError):  # not on Windows; not in the main thread
                number = getattr(signal, name)
                afterwards.callback(signal.signal, number, signal.signal(number, stop))
        yield


class Parser(argparse.ArgumentParser):
    """argparse without its block of usage: `hne: <what is wrong>. <what to do>.`, status 2."""

    def error(self, message: str) -> NoReturn:
        """Say it in one line."""
        match = _CHOICE.search(message)
        near = difflib.get_close_matches(match[1], re.findall(r"[\w.,-]+", match[2]), n=1) if match else []
        self._refuse(message, f"Did you mean {near[0]}?" if near else f"See {self.prog} --help.")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The options; of one that is not known, which commands have it, or what is near."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            option, commands = unknown[0].partition("=")[0], _commands(self)
            owners = [f"{self.prog} {name}" for name, flags in commands.items() if option in flags]
            known = dict.fromkeys(flag for flags in commands.values() for flag in flags)
            near = difflib.get_close_matches(option, known, n=2, cutoff=0.75)
            remedy = f"Did you mean {' or '.join(near)}?" if near else f"See {self.prog} --help."
            remedy = f"It is an option of {' and '.join(owners)}." if owners else remedy
            self._refuse(f"unrecognized arguments: {' '.join(unknown)}", remedy)
        return options

    def _refuse(self, message: str, remedy: str) -> NoReturn:
        echo(None, f"{message.rstrip('.')}. {remedy}")
        sys.exit(REFUSED)


def _commands(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Options of each command."""
    (commands,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001
    return {
        name: [option for action in command._actions for option in action.option_strings]  # noqa: SLF001
        for name, command in commands.choices.items()
    }


def _parser() -> argparse.ArgumentParser:
    description = "Hierarchic Neighbors Embedding: manifold learning for sparse and weakly connected data."
    parser = Parser(prog="hne", description=description)
    parser.add_argument("--version", action="version", version=f"hne {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    adders = (embed.add_to, explore.add_to, tune.add_to, transform.add_to, tune.add_compare_to)
    for add in (*adders, misc.add_eigen_to, misc.add_demo_to, transform.add_info_to):
        add(commands)
    misc.add_completion_to(commands, parser)
    return parser
