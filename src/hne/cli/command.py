"""Options of a command, a choice -> the words of `hne embed` that embed the same input with it."""

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from hne.cli.arguments import add_input, add_method, add_preparation


def embed_words(options: argparse.Namespace, chosen: Mapping[str, Any]) -> list[str]:
    """Words to paste into a shell: the input, what differs from the defaults, and what was chosen."""
    parser = argparse.ArgumentParser(add_help=False)
    add_input(parser)
    add_preparation(parser)
    add_method(parser)
    words = ["hne", "embed"]
    for action in parser._actions:  # noqa: SLF001, argparse has no other door
        value = chosen.get(action.dest, getattr(options, action.dest, action.default))
        if not action.option_strings:
            # A name that begins like an option would be taken for one.
            words.append(f"./{value}" if value.startswith("-") and value != "-" else value)
        elif value != action.default or action.dest in ALWAYS:
            words += _option(action, value)
    return words


# What was chosen is said even where it is the default.
ALWAYS = ("n_neighbors", "reg", "variant")


def _option(action: argparse.Action, value: Any) -> Iterator[str]:
    """An option with its value."""
    if isinstance(value, bool):
        yield action.option_strings[0 if value else 1]
        return
    name, text = action.option_strings[0], _text(action.dest, value)
    if not text.startswith("-"):
        yield from (name, text)
    else:
        yield f"{name}={text}" if name.startswith("--") else f"{name}{text}"


def _text(name: str, value: Any) -> str:
    """What the option reads as this value."""
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, tuple):
        doubled = [str(part).replace(",", ",,") for part in value]
        return "x".join(doubled) if name == "image_size" else ",".join(doubled)
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)
