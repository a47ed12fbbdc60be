"""Options of a command -> the table that it works on, and the estimator's parameters."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne.cli._talk import PARAMETERS, say

if TYPE_CHECKING:
    from hne._tables import Choices, Table


def choices_of(options: argparse.Namespace) -> "Choices":
    """What the options say about the file."""
    from hne._tables import Choices

    return Choices(
        columns=options.columns,
        drop=options.drop,
        id=options.id,
        color=options.color,
        array=options.array,
        transpose=options.transpose,
        separator=None if options.separator is None else options.separator.replace("\\t", "\t"),
        decimal=options.decimal,
        encoding=options.encoding,
        header=options.header,
        image_size=options.image_size,
        image_mode=options.images,
    )


def source_of(options: argparse.Namespace) -> Any:
    """The path to read, or "-"."""
    return "-" if options.input == "-" else Path(options.input).expanduser()


def read_input(options: argparse.Namespace, choices: "Choices | None" = None) -> "Table":
    """The table of the input, read as a stage."""
    from hne._progress import stage
    from hne._tables import read_table

    return stage("reading", read_table, source_of(options), choices or choices_of(options))


def say_notices(notices: tuple[str, ...], options: argparse.Namespace) -> None:
    """Say what was decided about the file."""
    for notice in notices:
        say(notice, options)


def parameters_of(options: argparse.Namespace) -> dict[str, Any]:
    """Parameters of the estimator."""
    return {name: getattr(options, name) for name in PARAMETERS}


def title_of(options: argparse.Namespace) -> str:
    """The name of the input without its folder."""
    return "standard input" if options.input == "-" else Path(options.input).name
