"""What every command does: say things in its own words, read its input, check and write its outputs."""

import argparse
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from hne._runtime.files import already_there, atomic_write, expanded, is_stream, keep_existing_files
from hne._runtime.json import plain
from hne._runtime.progress import Stopwatch, advised, listening, one_line, run_stage, show_progress
from hne.cli.arguments import PARAMETERS, flag_of
from hne.exceptions import MOST_SAID, HNEError, InputError, MissingExtraError, refuse, shortened
from hne.settings import PRECOMPUTED

if TYPE_CHECKING:
    from hne.io import PreparedTable, ReadOptions, Table

# Options about the input, by their names in `hne.io.ReadOptions`.
TEXT = ("separator", "decimal", "encoding", "header")
READING = ("columns", "drop", "id", "color", "array", "transpose", *TEXT, "image_size", "image_mode")
# Parameters of the library that are options.
OPTIONS = (*PARAMETERS, *READING, "missing", "scale", "budget", "checkpoint", "methods", "launcher", "overwrite")
# Their names in sentences of the library: in backquotes, with a value, or alone where they are no common word, but not
# in quotes, which are around what users wrote; and attributes of a model, of which a file has none.
_NAMES = re.compile(
    rf"`(?P<quoted>{'|'.join(OPTIONS)})`"
    rf"|\b(?P<name>{'|'.join(OPTIONS)})=(?:'(?P<text>[^']*)'|\((?P<size>\d+, \d+)\)|(?P<value>[\w.+-]*\w))"
    rf"|(?<!')\b(?P<alone>{'|'.join(name for name in OPTIONS if '_' in name)})\b(?!=)"
    r"| See \w+_\.| \(see \w+_\)"
)
# Endings that outputs may have, beside those of coordinates.
ENDINGS = {"plot": (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp"), "report": (".html", ".htm")}
# Different values of a label up to which they are groups.
MAX_GROUPS = 20


def with_cli_names(message: str) -> str:
    """A message of the library with its parameters as options of the command line.

    >>> with_cli_names("n_neighbors=900 needs more. Lower n_neighbors, pass pieces='join', or name `columns`.")
    '--n-neighbors 900 needs more. Lower --n-neighbors, pass --pieces join, or name --columns.'
    >>> with_cli_names("Try image_size=(8, 4), or header=False.")
    'Try --image-size 8x4, or --no-header.'
    """

    def option(match: re.Match[str]) -> str:
        flag = flag_of(match["name"] or match["quoted"] or match["alone"] or "")
        if match["value"] in {"True", "False"}:
            return flag if match["value"] == "True" else f"--no-{flag[2:]}"
        value = match["text"] or match["value"] or (match["size"] or "").replace(", ", "x")
        return " ".join(word for word in (flag, value) if word)

    return _NAMES.sub(option, message)


def error_text(error: HNEError) -> str:
    """What an error of the library says, with the option that it is about in place of the parameter."""
    text, name = str(error), error.parameter
    if name in OPTIONS and text.startswith(f"{name} "):
        text = flag_of(name) + text.removeprefix(name)
    return with_cli_names(text)


def echo(options: argparse.Namespace | None, *lines: str) -> None:
    """Lines to standard error, unless options ask for quiet."""
    for line in lines if options is None or not options.quiet else ():
        print(f"hne: {shortened(one_line(line), MOST_SAID)}", file=sys.stderr)


def print_json(value: Any) -> None:
    """One JSON object on standard output; NaN and infinities, which JSON does not know, as null."""
    print(json.dumps(plain(value), ensure_ascii=False, allow_nan=False), flush=True)


@contextmanager
def command_context(
    options: argparse.Namespace, outputs: dict[str, Path]
) -> Iterator[tuple[dict[str, float], list[str]]]:
    """Show stages, keep files unless --force, say warnings, advice and at the end what was written.

    Gives the seconds of stages and the warnings, both of which come to be.
    """
    watch, heard = Stopwatch(), []

    def hear(message: Warning | str, category: type[Warning] = UserWarning, *_: Any, **__: Any) -> None:
        heard.append(with_cli_names(str(message)))
        kind = "" if issubclass(category, UserWarning) else f"{category.__name__}: "
        echo(options, f"warning: {kind}{heard[-1]}")

    with (
        show_progress(0 if options.quiet else options.verbose),
        listening(watch),
        keep_existing_files(not options.force),
        warnings.catch_warnings(),
        advised(hear),
    ):
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = hear
        yield watch.seconds, heard
    echo(options, *(f"wrote {path}" for path in outputs.values()))


def prepared_input(
    options: argparse.Namespace, prepare: "Callable[[Table], PreparedTable] | None" = None, **reading: Any
) -> "PreparedTable":
    """The table of the input, read as the options say, or otherwise, and prepared so; notices in the words of options.

    What was decided about the file is said, but for a dry run, which is about other things.
    """
    from hne.io import prepare_table, read_table

    source: Any = "-" if options.input == "-" else expanded(options.input)
    table = run_stage("reading", read_table, source, replace(read_options(options), **reading))
    if prepare is None:
        are_distances = getattr(options, "metric", None) == PRECOMPUTED
        ready = prepare_table(table, options.missing, options.scale, are_distances=are_distances)
    else:
        ready = prepare(table)
    notices = tuple(with_cli_names(one) for one in ready.table.notices)
    echo(options, *(() if getattr(options, "dry_run", False) else notices))
    return replace(ready, table=replace(ready.table, notices=notices))


def read_options(options: argparse.Namespace) -> "ReadOptions":
    """What the options say about the file."""
    from hne.io import ReadOptions

    facts = {name: getattr(options, name) for name in READING}
    if options.separator is not None:
        facts["separator"] = options.separator.replace("\\t", "\t")
    return ReadOptions(**facts)


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
    groups = (name for name, values in table.labels.items() if 2 <= len(set(values.tolist())) <= MAX_GROUPS)
    name = table.color or next(groups, None)
    if name is None or name in table.labels:
        return None if name is None else Named(table.labels[name], name)
    column: Any = table.X[:, [table.feature_names.index(name)]]
    return Named((column.toarray() if hasattr(column, "toarray") else column)[:, 0], name)


def check_outputs(options: argparse.Namespace, *outputs: str, tables: tuple[str, ...] = ()) -> dict[str, Path]:
    """The files that will be written, by option; an error for one that could not or should not be, before any work.

    Where endings of tables are named, coordinates are none, and - is no name for standard output.
    """
    from hne.io import check_output_ending

    is_printed = str(options.output) == "-" and not tables
    if options.json and is_printed:
        refuse("--json and -o -", "must not both print to standard output", "both", "Choose one")
    paths = {name: path for name in outputs if (path := getattr(options, name)) is not None}
    if is_printed:
        del paths["output"]
    # `os.path.realpath` leaves loops of links as they are, about which `Path.resolve` raises.
    source = None if options.input == "-" else Path(os.path.realpath(expanded(options.input)))
    seen: dict[Path, str] = {}
    for name, path in paths.items():
        endings = tables if name == "output" else ENDINGS.get(name)
        if endings and path.suffix.lower() not in endings:
            rule = f"must end in {', '.join(endings[:-1])} or {endings[-1]}"
            refuse(f"--{name}", rule, f"'{path.name}'", "Rename it")
        if name == "output":
            check_output_ending(path)
        if name == "plot":
            need_library("--plot", "matplotlib", "matplotlib", "plot")
        _check_place(path)
        whole = Path(os.path.realpath(path))
        if whole in seen:
            refuse(f"--{name} and --{seen[whole]}", "must be different files", f"'{path}' twice", "Rename one")
        if whole == source:
            refuse(f"--{name}", "must not be the input", f"'{path}'", "Choose another name")
        if source is not None and whole.is_relative_to(source):
            refuse(f"--{name}", "must not lie in the folder that is read", f"'{path}'", "Choose another place")
        if os.path.lexists(path) and not options.force and not is_stream(path):
            raise already_there(path)
        seen[whole] = name
    return paths


def _check_place(path: Path) -> None:
    """Raise where no file of that name can be made."""
    reason, remedy = "", "Choose another name"
    try:
        if path.is_dir():
            reason, remedy = "it is a folder", "Add a file name"
        elif not path.parent.exists():
            reason, remedy = f"there is no folder '{path.parent}'", "Make it, or choose another place"
        elif not path.parent.is_dir():
            reason, remedy = f"'{path.parent}' is not a folder", "Choose another place"
        # Asking raises where the name is too long, or a loop of links.
        elif not is_stream(path):
            remedy = "Choose another place"
            # Permissions do not tell of full or frozen disks.
            with TemporaryFile(dir=path.parent):
                pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
    if reason:
        msg = f"cannot write '{path}': {reason}. {remedy}."
        raise InputError(msg)


def need_library(what: str, library: str, module: str, extra: str) -> None:
    """Raise where a library is not there, and say which extra brings it."""
    if find_spec(module) is None:
        remedy = f"Run: pip install 'hne[{extra}]'"
        refuse(what, f"needs {library}", "none installed", remedy, MissingExtraError)


def save_figure(path: Path, figure: Any, dpi: int) -> None:
    """Write a picture, whole or not at all."""
    from hne.viz import plots

    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=dpi)
    plots.pyplot().close(figure)
