"""Arguments of the commands: kinds of values, groups of options, and the words of `hne embed` that repeat a choice."""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from hne._runtime.files import expanded
from hne.exceptions import InputError, quoted, refuse
from hne.settings import AUTO, DEFAULTS, EDGES, PUBLISHED, SEARCHED, VARIANTS, SamplePairs, known_settings

SCALINGS = ("none", "standard", "robust")
MISSING = ("refuse", "drop", "impute")
# Parameters of the estimator that are options, under the same names.
PARAMETERS = tuple(name for name, known in known_settings().items() if known.help)


def kind(read: Callable[[str], Any], rule: str) -> Callable[[str], Any]:
    """A kind of value: what `read` makes of the text, or the rule that it breaks where that is a ValueError."""

    def value(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            msg = f"must be {rule}, got {quoted(text)}"
            raise argparse.ArgumentTypeError(msg) from None

    return value


def _allowed(value: Any, is_allowed: bool) -> Any:
    if not is_allowed:
        raise ValueError
    return value


def _read_size(text: str) -> tuple[int, int]:
    width, height = map(int, text.lower().replace("×", "x").split("x"))  # noqa: RUF001, a sign that people copy
    return _allowed((width, height), width > 0 and height > 0)


def _read_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    return _allowed(value, isinstance(value, dict))


def _read_pairs(text: str) -> SamplePairs:
    words = (word.split("-") for word in text.split(",") if word.strip())
    pairs = {(min(int(one), int(other)), max(int(one), int(other))) for one, other in words}
    return _allowed(tuple(sorted(pairs)), bool(pairs) and all(0 < one < other for one, other in pairs))


def at_least(lowest: int) -> Callable[[str], int]:
    """A whole number not below the lowest."""
    return kind(lambda text: _allowed(int(text), int(text) >= lowest), f"a whole number, at least {lowest}")


def values_of(read: Callable[[str], Any], example: str) -> Callable[[str], tuple[Any, ...] | None]:
    """Values between commas, each read alike; None for the word auto, which leaves them to the library."""

    def listed(text: str) -> tuple[Any, ...] | None:
        values = tuple(read(word.strip()) for word in text.split(",") if word.strip() and text != AUTO)
        return None if text == AUTO else _allowed(values, bool(values))

    return kind(listed, f"values such as {example}, or auto")


def names(text: str) -> tuple[str, ...]:
    """Names between commas; a comma within a name is written twice."""
    parts = text.replace(",,", "\0").split(",")
    return tuple(part.replace("\0", ",").strip() for part in parts if part.strip())


def output_path(text: str) -> Path:
    """A path to write to; ~ is the home folder."""
    try:
        return expanded(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


whole, number = kind(int, "a whole number"), kind(float, "a number")
whole_or_auto = kind(lambda text: text if text == AUTO else int(text), "a whole number or auto")
number_or_auto = kind(lambda text: text if text == AUTO else float(text), "a number or auto")
image_size = kind(_read_size, "WIDTHxHEIGHT such as 32x32")
json_object = kind(_read_object, "a JSON object such as '{\"p\": 3}'")
seconds = kind(lambda text: _allowed(float(text), float(text) > 0), "a positive number of seconds such as 60")
row_pairs = kind(_read_pairs, "pairs of different rows, counted from 1, such as 13-58,81-92")
# Parameters that no rule of numbers tells how to read.
READ_BY = {"metric": str, "metric_params": json_object, "n_jobs": whole, "random_state": whole}
READ_BY |= dict.fromkeys(EDGES, row_pairs)


def add_command(
    commands: Any, name: str, run: Callable[..., None], text: str, description: str, epilog: str = ""
) -> Any:
    """Add a command, whose help is laid out as it is written where it has an epilog, and return its parser."""
    layout = {"epilog": epilog, "formatter_class": argparse.RawDescriptionHelpFormatter} if epilog else {}
    parser = commands.add_parser(name, help=text, description=description, **layout)
    parser.set_defaults(run=run)
    return parser


def add_input(parser: argparse.ArgumentParser, *, is_fit: bool = True) -> None:
    """Add what says how a file is to be read, what becomes of missing values, and before a fit of columns."""
    formats = "CSV, TSV, NPY, NPZ, Parquet, Arrow, MAT, HDF5 or .h5ad file"
    parser.add_argument("input", metavar="INPUT", help=f"{formats}, a folder of images, or - for standard input")
    told = "COLUMNS are names, patterns (gene_*) or positions (2-5), with commas in between."
    add = parser.add_argument_group("columns", told).add_argument
    add("--columns", type=names, default=(), metavar="COLUMNS", help="features [all that are numeric]")
    add("--drop", type=names, default=(), metavar="COLUMNS", help="columns to leave out altogether")
    add("--id", metavar="COLUMN", help="column that names the samples")
    add("--color", metavar="COLUMN", help="column to color by; not a feature, unless --columns has it too")
    told = "What is found out by itself, where these do not say otherwise."
    add = parser.add_argument_group("files", told).add_argument
    add("--array", metavar="NAME", help="which array of an NPZ, MAT or HDF5 file, such as obsm/X_pca")
    add("--transpose", action="store_true", help="samples are columns, as in many MATLAB files")
    add("--separator", metavar="CHAR", help="between the fields of a text file; \\t is a tab")
    add("--decimal", choices=(".", ","), help="decimal sign of a text file")
    add("--encoding", metavar="NAME", help="of a text file, such as utf-8 or cp1252")
    told = "whether the first row of text holds names"
    add("--header", action=argparse.BooleanOptionalAction, default=None, help=told)
    told = "size that images are made, or that rows of numbers have"
    add("--image-size", type=image_size, metavar="WxH", help=told)
    add("--image-mode", choices=("grey", "rgb"), help="read images as grey or in color")
    told = "rows with missing values: refuse the file, drop the rows, or impute medians of columns [refuse]"
    parser.add_argument("--missing", choices=MISSING, default="refuse", help=told)
    if is_fit:
        told = "columns as they are, by mean and standard deviation, or by median and quartiles [none]"
        parser.add_argument("--scale", choices=SCALINGS, default="none", help=told)


def add_method(parser: argparse.ArgumentParser) -> None:
    """Add the parameters of the estimator, under its names; those that are not used are not in the options."""
    group = parser.add_argument_group("method", "Parameters of hne.HNE, under the same names.")
    wholesale = group.add_mutually_exclusive_group()
    told = "choose what is best of -k, --variant and --reg, but for those given: see hne tune"
    wholesale.add_argument("--auto", action="store_true", help=told)
    told = "all as in the published method, but for what is given"
    wholesale.add_argument("--published", action="store_true", help=told)
    _add_settings(group, PARAMETERS)


def add_grid(parser: argparse.ArgumentParser) -> None:
    """Add the values to search among, and the parameters that are not searched for."""
    told = "Values to try, with commas in between; one alone is kept. In brackets, the usual ones near a surface."
    add = parser.add_argument_group("grid", told).add_argument
    whole_numbers, numbers = values_of(int, "6,8,10"), values_of(float, "1e-3,1e-4")
    variants = values_of(lambda word: _allowed(word, word in VARIANTS), ",".join(VARIANTS))
    add("-k", "--n-neighbors", type=whole_numbers, metavar="K,...", help="neighbors of a sample [8,10,12,16]")
    told = f"how the outer layer is weighed [{','.join(VARIANTS)}]"
    add("--variant", type=variants, metavar="NAME,...", help=told)
    add("--reg", type=numbers, metavar="REG,...", help="ridge of the small problems [1e-3,1e-4]")
    group = parser.add_argument_group("method", "Further parameters of hne.HNE, under the same names.")
    _add_settings(group, [name for name in PARAMETERS if name not in SEARCHED])


def _add_settings(group: Any, parameters: Iterable[str]) -> None:
    """Add parameters of the estimator as options, by what is known of them."""
    for name in parameters:
        known = known_settings()[name]
        flags = sorted([flag_of(name), *known.flags], key=lambda flag: flag.startswith("--"))
        facts: dict[str, Any] = {"default": argparse.SUPPRESS, "help": known.help}
        if isinstance(DEFAULTS[name], bool):
            facts["action"] = argparse.BooleanOptionalAction
        elif known.choices:
            facts |= {"metavar": known.metavar, "choices": (*known.choices, *([AUTO] if known.may_be_auto else []))}
        else:
            readers = (whole, whole_or_auto) if isinstance(known.low, int) else (number, number_or_auto)
            facts |= {"metavar": known.metavar, "type": READ_BY.get(name, readers[known.may_be_auto])}
        group.add_argument(*flags, **facts)


def parameters_of(options: argparse.Namespace) -> dict[str, Any]:
    """Parameters of the estimator: those that were used, then what --auto and --published stand for, then defaults."""
    auto = dict.fromkeys(SEARCHED, AUTO) if getattr(options, "auto", False) else {}
    wholesale: Mapping[str, Any] = PUBLISHED if getattr(options, "published", False) else auto
    return {name: getattr(options, name, wholesale.get(name, DEFAULTS[name])) for name in PARAMETERS}


def with_sample_pairs(parameters: Mapping[str, Any], rows: Any, n_samples: int) -> dict[str, Any]:
    """Parameters whose edges, pairs of rows in what was read, are pairs of samples; `rows` are theirs, None for all."""
    named = {name: parameters[name] for name in EDGES if parameters.get(name)}
    for pair in sorted(set.intersection(*map(set, named.values())) if len(named) == len(EDGES) else ())[:1]:
        got, remedy = "-".join(map(str, pair)), "Leave it out of one of them"
        refuse("--keep-edges", "must have no pair of --cut-edges", got, remedy)
    numbers = range(1, n_samples + 1) if rows is None else rows.tolist()
    samples = {row: sample for sample, row in enumerate(numbers)} if named else {}
    for name, pairs in named.items():
        unknown = next((row for pair in pairs for row in pair if row not in samples), None)
        if unknown is not None:
            remedy = "Rows are counted from 1 in what is read, and some may be left out"
            refuse(flag_of(name), "must be rows that are embedded", f"row {unknown}", remedy)
        named[name] = tuple((samples[one], samples[other]) for one, other in pairs)
    return dict(parameters) | named


def add_scale(parser: argparse.ArgumentParser) -> None:
    """Add where it is computed and kept."""
    add = parser.add_argument_group("scale", "Runs beyond this process, see the guide on large data.").add_argument
    told = (
        "compute on the workers of this Dask scheduler: its address, or the .json file that it wrote; workers "
        "read .zarr and .npy files, and the --columns of .parquet, without ids and labels"
    )
    add("--dask", metavar="SCHEDULER", help=told)
    told = "keep every finished block and stage in this folder: the same command goes on from there"
    add("--checkpoint", type=output_path, metavar="DIR", help=told)
    told = "with --checkpoint and --eigen-solver slepc: stop where MPI takes over on a cluster, see hne eigen"
    add("--until-eigenproblem", action="store_true", help=told)


def add_outputs(parser: argparse.ArgumentParser, **texts: str) -> None:
    """Add files to write, by their names and what they are for, and leave to write over them."""
    add = parser.add_argument_group("outputs").add_argument
    metavars = {"output": "OUT", "report": "HTML", "plot": "PNG", "save": "MODEL"}
    for name, told in texts.items():
        flags = ["-o", "--output"] if name == "output" else [f"--{name}"]
        add(*flags, type=output_path, metavar=metavars[name], help=told)
    add("-f", "--force", action="store_true", help="overwrite output files that exist")


def add_talk(parser: argparse.ArgumentParser) -> None:
    """Add how much is said, and to whom."""
    add = parser.add_argument_group("talk").add_argument
    add("-q", "--quiet", action="store_true", help="say nothing but errors")
    add("-v", "--verbose", action="count", default=1, help="say more: the tasks of each stage")
    add("--json", action="store_true", help="print one JSON object on standard output")


def flag_of(name: str) -> str:
    """The option of a parameter of the library; nothing for none."""
    return "--force" if name == "overwrite" else name and f"--{name.replace('_', '-')}"


def embed_words(options: argparse.Namespace, chosen: Mapping[str, Any], rows: Any = None) -> list[str]:
    """Words of `hne embed` to paste into a shell: the input, what differs from the defaults, and what was chosen.

    Edges in `options` are pairs of rows, and in `chosen` pairs of samples, whose numbers in what was read are `rows`,
    None for all. What --auto and --published stand for is said in full.
    """
    parser = argparse.ArgumentParser(add_help=False)
    add_input(parser)
    add_method(parser)
    values = vars(options) | parameters_of(options) | dict(chosen)
    for name in chosen.keys() & {*EDGES}:
        pairs = () if chosen[name] is None else chosen[name]
        values[name] = tuple(tuple(end + 1 if rows is None else rows[end] for end in pair) for pair in pairs)
    words = ["hne", "embed"]
    for action in parser._actions:  # noqa: SLF001, argparse has no other door
        default = DEFAULTS.get(action.dest, action.default)
        value = values.get(action.dest, default)
        if not action.option_strings:
            # A name that begins like an option would be taken for one.
            words.append(f"./{value}" if value.startswith("-") and value != "-" else value)
        elif action.dest in {"auto", "published"} or (action.dest in EDGES and not value):
            continue
        # What was searched for is said even where it is the default.
        elif value != default or (action.dest in SEARCHED and value is not None):
            words += _option_words(action, value)
    return words


def _option_words(action: argparse.Action, value: Any) -> list[str]:
    name = action.option_strings[0]
    if isinstance(value, bool):
        return [name if value else action.option_strings[1]]
    if action.dest in EDGES:
        text = ",".join(f"{one}-{other}" for one, other in value)
    elif isinstance(value, tuple):
        between = "x" if action.dest == "image_size" else ","
        text = between.join(str(part).replace(",", ",,") for part in value)
    elif isinstance(value, float):
        text = f"{value:g}" if float(f"{value:g}") == value else repr(value)
    else:
        text = json.dumps(value) if isinstance(value, dict) else str(value)
    if not text.startswith("-"):
        return [name, text]
    return [f"{name}={text}" if name.startswith("--") else f"{name}{text}"]
