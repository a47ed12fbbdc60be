"""`hne transform`: a saved model and a file of new samples -> their coordinates."""

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne.cli.arguments import add_force, add_input, add_missing, add_talk, output_path
from hne.cli.inputs import choices_of, read_input, say_notices
from hne.cli.outputs import check_outputs, check_printed
from hne.cli.talk import command_context, print_json, say
from hne.exceptions import InputError, PreparedModelWarning

if TYPE_CHECKING:
    from hne import HNE
    from hne.io import ColumnPreprocessor, ReadOptions, Table


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "transform",
        help="place the rows of a file among those of a saved model",
        description="Place new samples in the embedding of a model that hne embed --save (or model.save) wrote. "
        "Columns are found by the names of the fit, filled and scaled as they were. Without -o the coordinates are "
        "printed as CSV.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="file of hne embed --save")
    add_input(parser)
    add_missing(parser)
    parser.add_argument(
        "-o", "--output", type=output_path, metavar="OUT", help="coordinates: .csv, .tsv, .npy, .parquet, .arrow, .json"
    )
    add_force(parser)
    add_talk(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Load, read, place, write."""
    from hne._runtime.progress import run_stage
    from hne.io import Coordinates, check_output_ending, prepare_new, write_coordinates

    check_printed(options)
    output = None if str(options.output) == "-" else options.output
    if output is not None:
        check_output_ending(output)
    outputs = check_outputs({"--output": output}, options.input, force=options.force)
    with command_context(options) as (seconds, heard):
        model, preparation = loaded(options.model)
        ready = prepare_new(_read(options, preparation), preparation, options.missing)
        say_notices(ready.table.notices, options)
        Y = model.transform(ready.X)
        if output is not None or not options.json:
            run_stage("writing", write_coordinates, output, Coordinates.of(ready.table, Y))
    for path in outputs.values():
        say(f"wrote {path}", options)
    if options.json:
        found = {} if outputs else {"ids": ready.table.ids, "rows": ready.table.rows, "coordinates": Y}
        told = {"n_samples": len(Y), "notices": ready.table.notices, "warnings": heard, "timings": seconds}
        print_json(told | {"output": output} | found)


def _read(options: argparse.Namespace, preparation: "ColumnPreprocessor") -> "Table":
    """The table of new samples; a model of images asks for images."""
    try:
        return read_input(options, _choices(options, preparation))
    except InputError as error:
        if preparation.image_shape is None or "--image-size" not in str(error):
            raise
        height, width = preparation.image_shape[:2]
        msg = f"'{options.input}' must hold images, as those of {width} x {height} in '{options.model}', got none. "
        raise InputError(msg + "Pass images, or another model.") from error


def loaded(path: Path) -> tuple["HNE", "ColumnPreprocessor"]:
    """The model, and what was done to its columns."""
    from hne import HNE
    from hne.io import ColumnPreprocessor
    from hne.io.roles import numbered

    with warnings.catch_warnings():
        # Filling and scaling is what this command does by itself.
        warnings.simplefilter("ignore", PreparedModelWarning)
        model = HNE.load(path)
    names = getattr(model, "feature_names_in_", numbered(model.n_features_in_))
    return model, model.preparation_ or ColumnPreprocessor(tuple(str(name) for name in names))


def _choices(options: argparse.Namespace, preparation: "ColumnPreprocessor") -> "ReadOptions":
    """What the options say of the file, and the model of its columns and images."""
    from dataclasses import replace

    choices = choices_of(options)
    if options.columns:
        return choices
    if (shape := preparation.image_shape) is None:
        return replace(choices, features=preparation.feature_names)
    size, mode = (shape[1], shape[0]), "rgb" if len(shape) == 3 else "grey"
    return replace(choices, image_size=size, image_mode=mode, pixel_scale=preparation.pixel_scale)
