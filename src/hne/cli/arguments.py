"""Arguments that several commands take: kinds of values, and groups of options."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hne._runtime.files import expanded
from hne.exceptions import InputError, quoted
from hne.settings import AUTO, DEFAULTS, SEARCHED, VARIANTS, known_settings

SCALINGS = ("none", "standard", "robust")
MISSING = ("refuse", "drop", "impute")


def at_least(lowest: int) -> Callable[[str], int]:
    """A whole number not below the lowest, or the reason why not."""

    def whole_number(text: str) -> int:
        number = int(text)
        if number < lowest:
            raise argparse.ArgumentTypeError(f"must be at least {lowest}, got {number}")  # noqa: TRY003, EM102
        return number

    # argparse names the function in its message about text that is no number.
    whole_number.__name__ = "whole number"
    return whole_number


def names(text: str) -> tuple[str, ...]:
    """Names between commas; a comma within a name is written twice."""
    parts = text.replace(",,", "\0").split(",")
    return tuple(part.replace("\0", ",").strip() for part in parts if part.strip())


def image_size(text: str) -> tuple[int, int]:
    """Width and height, as in 32x32."""
    width, _, height = text.lower().replace("×", "x").partition("x")  # noqa: RUF001, a sign that people copy
    if not (width.isdecimal() and height.isdecimal() and int(width) and int(height)):
        raise argparse.ArgumentTypeError(f"must be WIDTHxHEIGHT such as 32x32, got {quoted(text)}")  # noqa: TRY003, EM102
    return int(width), int(height)


def json_object(text: str) -> dict[str, Any]:
    """A JSON object as a dict."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"must be a JSON object such as '{{\"p\": 3}}', got {quoted(text)}")  # noqa: TRY003, EM102
    return value


def whole_or_auto(text: str) -> int | str:
    """A whole number, or the word auto."""
    return text if text == AUTO else int(text)


def number_or_auto(text: str) -> float | str:
    """A number, or the word auto."""
    return text if text == AUTO else float(text)


# How argparse names what it could not read.
whole_or_auto.__name__ = "whole number or auto"
number_or_auto.__name__ = "number or auto"


def values_of(read: Callable[[str], Any], example: str) -> Callable[[str], tuple[Any, ...] | None]:
    """Values between commas, each read alike; None for the word auto, which leaves them to the library."""

    def listed(text: str) -> tuple[Any, ...] | None:
        if text == AUTO:
            return None
        try:
            values = tuple(read(word.strip()) for word in text.split(",") if word.strip())
        except ValueError:
            values = ()
        if not values:
            raise argparse.ArgumentTypeError(f"must be values such as {example}, or auto, got {quoted(text)}")  # noqa: TRY003, EM102
        return values

    return listed


def variant(text: str) -> str:
    """A variant by its name."""
    if text not in VARIANTS:
        raise ValueError
    return text


def seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds such as 60, got {quoted(text)}")  # noqa: TRY003, EM102
    return number


class Given(argparse.Action):
    """Keep the value, and that it was given: `--auto` and `--published` leave what was given alone."""

    def __call__(self, _: Any, namespace: argparse.Namespace, values: Any, __: Any = None) -> None:
        """Called by argparse where the option is used."""
        setattr(namespace, self.dest, values)
        namespace.given = {*getattr(namespace, "given", ()), self.dest}


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add what says how a file is to be read."""
    parser.add_argument(
        "input",
        metavar="INPUT",
        help="CSV, TSV, NPY, NPZ, Parquet, Arrow, MAT, HDF5 or .h5ad file, a folder of images, or - for standard input",
    )
    columns = parser.add_argument_group(
        "columns", "COLUMNS are names, patterns (gene_*) or positions (2-5), with commas in between."
    )
    columns.add_argument("--columns", type=names, default=(), metavar="COLUMNS", help="features [all that are numeric]")
    columns.add_argument("--drop", type=names, default=(), metavar="COLUMNS", help="columns to leave out altogether")
    columns.add_argument("--id", metavar="COLUMN", help="column that names the samples")
    columns.add_argument(
        "--color", metavar="COLUMN", help="column to color by; not a feature, unless --columns has it too"
    )
    _add_file(parser.add_argument_group("files", "What is found out by itself, where these do not say otherwise."))


def _add_file(file: Any) -> None:
    file.add_argument("--array", metavar="NAME", help="which array of an NPZ, MAT or HDF5 file, such as obsm/X_pca")
    file.add_argument("--transpose", action="store_true", help="samples are columns, as in many MATLAB files")
    file.add_argument("--separator", metavar="CHAR", help="between the fields of a text file; \\t is a tab")
    file.add_argument("--decimal", choices=(".", ","), help="decimal sign of a text file")
    file.add_argument("--encoding", metavar="NAME", help="of a text file, such as utf-8 or cp1252")
    file.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first row of text holds names",
    )
    file.add_argument(
        "--image-size", type=image_size, metavar="WxH", help="size that images are made, or that rows of numbers have"
    )
    file.add_argument("--image-mode", choices=("grey", "rgb"), help="read images as grey or in color")


def add_missing(parser: argparse.ArgumentParser) -> None:
    """Add what becomes of rows with missing values."""
    parser.add_argument(
        "--missing",
        choices=MISSING,
        default="refuse",
        help="rows with missing values: refuse the file, drop the rows, or impute medians of columns [refuse]",
    )


def add_preparation(parser: argparse.ArgumentParser) -> None:
    """Add what is done to columns before a fit."""
    add_missing(parser)
    parser.add_argument(
        "--scale",
        choices=SCALINGS,
        default="none",
        help="columns as they are, by mean and standard deviation, or by median and quartiles [none]",
    )


def add_method(parser: argparse.ArgumentParser) -> None:
    """Add the parameters of the estimator, under its names and with its defaults."""
    method = parser.add_argument_group("method", "Parameters of hne.HNE, under the same names.")
    whole = method.add_mutually_exclusive_group()
    whole.add_argument(
        "--auto",
        action="store_true",
        help="choose what is best of -k, --variant and --reg, but for those given: see hne tune",
    )
    whole.add_argument("--published", action="store_true", help="all as in the published method, but for what is given")
    for name, known in known_settings().items():
        if known.help:
            _add_setting(method, name)
    parser.set_defaults(given=frozenset())


def add_grid(parser: argparse.ArgumentParser) -> None:
    """Add the values to search among, and the parameters that are not searched for."""
    told = "Values to try, with commas in between; one alone is kept. In brackets, the usual ones near a surface."
    grid = parser.add_argument_group("grid", told)
    grid.add_argument(
        "-k",
        "--n-neighbors",
        type=values_of(int, "6,8,10"),
        metavar="K,...",
        help="neighbors of a sample [8,10,12,16]",
    )
    grid.add_argument(
        "--variant",
        type=values_of(variant, ",".join(VARIANTS)),
        metavar="NAME,...",
        help=f"how the outer layer is weighed [{','.join(VARIANTS)}]",
    )
    grid.add_argument(
        "--reg",
        type=values_of(float, "1e-3,1e-4"),
        metavar="REG,...",
        help="ridge of the small problems [1e-3,1e-4]",
    )
    method = parser.add_argument_group("method", "Further parameters of hne.HNE, under the same names.")
    for name, known in known_settings().items():
        if known.help and name not in SEARCHED:
            _add_setting(method, name)


def _add_setting(group: Any, name: str) -> None:
    """Add a parameter of the estimator as an option, by what is known of it."""
    known, default = known_settings()[name], DEFAULTS[name]
    flags = [f"--{name.replace('_', '-')}", *known.flags]
    facts: dict[str, Any] = {"default": default, "help": known.help}
    if isinstance(default, bool):
        facts["action"] = argparse.BooleanOptionalAction
    else:
        facts |= {"action": Given, "metavar": known.metavar}
        if known.choices:
            facts["choices"] = (*known.choices, *([AUTO] if known.may_be_auto else []))
        elif name in READ_BY:
            facts["type"] = READ_BY[name]
        elif isinstance(known.low, int):
            facts["type"] = whole_or_auto if known.may_be_auto else int
        else:
            facts["type"] = number_or_auto if known.may_be_auto else float
    group.add_argument(*sorted(flags, key=lambda flag: flag.startswith("--")), **facts)


# Parameters that no rule of numbers tells how to read.
READ_BY: dict[str, Callable[[str], Any]] = {
    "metric": str,
    "metric_params": json_object,
    "n_jobs": int,
    "random_state": int,
}


def add_talk(parser: argparse.ArgumentParser) -> None:
    """Add how much is said, and to whom."""
    talk = parser.add_argument_group("talk")
    talk.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    talk.add_argument("-v", "--verbose", action="count", default=1, help="say more: the tasks of each stage")
    talk.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def add_force(parser: Any) -> None:
    """Add leave to write over files."""
    parser.add_argument("-f", "--force", action="store_true", help="overwrite output files that exist")


def output_path(text: str) -> Path:
    """A path to write to; ~ is the home folder."""
    try:
        return expanded(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
