"""`hne completion`: the script that makes a shell complete commands, options and choices."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hne.cli.arguments import output_path

SHELLS = ("bash", "zsh", "tcsh")
HELP = """\
how to use it:
  bash   hne completion bash > ~/.local/share/bash-completion/completions/hne
  zsh    hne completion zsh > ~/.zfunc/_hne        (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  tcsh   hne completion tcsh >> ~/.tcshrc
"""


def add_to(commands: Any, parser: argparse.ArgumentParser) -> None:
    """Add the command to the parser, which is what it completes."""
    completion: argparse.ArgumentParser = commands.add_parser(
        "completion",
        help="print a script that completes hne's commands and options in a shell",
        description="Print a script for a shell to complete hne's commands, options and choices.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(run=lambda options: _print(options.shell, parser))


def _print(shell: str, parser: argparse.ArgumentParser) -> None:
    import shtab

    for action in _actions(parser):
        if action.type in {Path, output_path} or action.dest == "input":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of the parser and of its commands."""
    for action in parser._actions:  # noqa: SLF001, argparse has no other door
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                yield from _actions(command)
