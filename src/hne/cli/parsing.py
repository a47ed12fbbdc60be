"""An argument parser whose complaints are one line that says what to type instead."""

import argparse
import difflib
import re
import sys
from typing import NoReturn

from hne.exceptions import MOST_SAID, shortened

_UNKNOWN = re.compile(r"unrecognized arguments: (\S+)")
_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")


class Parser(argparse.ArgumentParser):
    """argparse without its block of usage: `hne: <what is wrong>. <what to do>.`, status 2."""

    def error(self, message: str) -> NoReturn:
        """Say it in one line."""
        print(f"hne: {shortened(message.rstrip('.'), MOST_SAID)}. {self._remedy(message)}", file=sys.stderr)
        sys.exit(2)

    def _remedy(self, message: str) -> str:
        if found := _UNKNOWN.search(message):
            option = found[1].partition("=")[0]
            owners = [f"{self.prog} {name}" for name, command in _commands(self).items() if option in _options(command)]
            if owners:
                return f"It is an option of {' and '.join(owners)}."
            near = difflib.get_close_matches(option, dict.fromkeys(_options(self)), n=2, cutoff=0.75)
        elif found := _CHOICE.search(message):
            near = difflib.get_close_matches(found[1], re.findall(r"[\w.,-]+", found[2]), n=1)
        else:
            near = []
        return f"Did you mean {' or '.join(near)}?" if near else f"See {self.prog} --help."


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Commands of a parser by name."""
    commands: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:  # noqa: SLF001, argparse has no other door
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            commands |= action.choices
    return commands


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """Options of a parser and of its commands."""
    own = [option for action in parser._actions for option in action.option_strings]  # noqa: SLF001
    return own + [option for command in _commands(parser).values() for option in _options(command)]
