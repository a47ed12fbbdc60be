"""Options of a command -> the table that it works on, and the estimator's parameters."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne._runtime.files import expanded
from hne.cli.talk import PARAMETERS, say

if TYPE_CHECKING:
    from hne.io import ReadOptions, Table

# Different values of a label up to which they are groups.
MAX_GROUPS = 20


def choices_of(options: argparse.Namespace) -> "ReadOptions":
    """What the options say about the file."""
    from hne.io import ReadOptions

    return ReadOptions(
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
        image_mode=options.image_mode,
    )


def source_of(options: argparse.Namespace) -> Any:
    """The path to read, or "-"."""
    return "-" if options.input == "-" else expanded(options.input)


def read_input(options: argparse.Namespace, choices: "ReadOptions | None" = None) -> "Table":
    """The table of the input, read as a stage."""
    from hne._runtime.progress import run_stage
    from hne.io import read_table

    return run_stage("reading", read_table, source_of(options), choices or choices_of(options))


def say_notices(notices: tuple[str, ...], options: argparse.Namespace) -> None:
    """Say what was decided about the file."""
    for notice in notices:
        say(notice, options)


def parameters_of(options: argparse.Namespace) -> dict[str, Any]:
    """Parameters of the estimator."""
    return {name: getattr(options, name) for name in PARAMETERS}


def are_distances(options: argparse.Namespace) -> bool:
    """Whether the input holds distances in place of features."""
    return bool(options.metric == "precomputed")


def title_of(options: argparse.Namespace) -> str:
    """The name of the input without its folder."""
    return "standard input" if options.input == "-" else Path(options.input).name


@dataclass(frozen=True)
class Named:
    """Values with a name, as plots take them."""

    values: Any
    name: str

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values

    def __len__(self) -> int:
        return len(self.values)


def color_of(table: "Table") -> Named | None:
    """Values of the column to color a picture by: the chosen one, else the first label that tells groups apart."""
    name = table.color or next((name for name, values in table.labels.items() if _has_groups(values)), None)
    if name is None:
        return None
    if name in table.labels:
        return Named(table.labels[name], name)
    column: Any = table.X[:, [table.feature_names.index(name)]]
    return Named((column.toarray() if hasattr(column, "toarray") else column)[:, 0], name)


def _has_groups(values: Any) -> bool:
    return bool(2 <= len(set(values.tolist())) <= MAX_GROUPS)


def images_of(table: "Table") -> Any:
    """The samples as images, None where they are none."""
    return None if table.image_shape is None else table.X.reshape(-1, *table.image_shape)
