"""`hne embed`: a file -> coordinates, picture, report, model."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne.cli._arguments import add_force, add_input, add_method, add_preparation, add_talk, output_path
from hne.cli._inputs import choices_of, parameters_of, read_input, say_notices, source_of, title_of
from hne.cli._outputs import check_outputs, check_page, check_picture
from hne.cli._talk import heard_warnings, print_json, say

if TYPE_CHECKING:
    from hne import HNE
    from hne._tables import Table

DESCRIPTION = """\
Embed the rows of a file. Columns of numbers are the features; others are carried along as labels. Without any of
-o, --report, --plot and --save the coordinates are printed as CSV.
"""
EXAMPLES = """\
examples:
  hne embed cells.csv -o cells_2d.csv --report cells.html
  hne embed table.csv --id sample --color group --scale standard --missing drop --report table.html
  hne embed counts.h5ad --array obsm/X_pca -k 10 -o map.parquet
  hne embed photos/ --image-size 32x32 --report photos.html --save photos.hne
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "embed",
        help="embed the rows of a file: coordinates, picture, report, model",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_input(parser)
    add_preparation(parser)
    outputs = parser.add_argument_group("outputs")
    outputs.add_argument(
        "-o", "--output", type=output_path, metavar="OUT", help="coordinates: .csv, .tsv, .npy, .parquet, .arrow, .json"
    )
    outputs.add_argument("--report", type=output_path, metavar="HTML", help="interactive page to look at and judge by")
    outputs.add_argument("--plot", type=output_path, metavar="PNG", help="picture: .png, .svg, .pdf, .jpg")
    outputs.add_argument("--save", type=output_path, metavar="MODEL", help="fitted model, for hne transform and HNE.load")
    add_force(outputs)
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done, with memory and rough time")
    add_method(parser)
    add_talk(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, embed, write what was asked for, and say what came of it."""
    outputs = _checked_outputs(options)
    if options.dry_run:
        from hne.cli._dry_run import tell

        tell(options, outputs)
        return
    from hne._progress import Stopwatch, listening, shown

    watch = Stopwatch()
    with shown(0 if options.quiet else options.verbose), listening(watch), heard_warnings(options) as heard:
        raw, model = _fitted(options)
        _write(options, outputs, raw, model, watch.seconds, heard)
    for path in outputs.values():
        say(f"wrote {path}", options)


def _checked_outputs(options: argparse.Namespace) -> dict[str, Path]:
    """Outputs by option, all of them possible."""
    from hne._tables import check_output_ending

    output = None if str(options.output) == "-" else options.output
    if output is not None:
        check_output_ending(output)
    check_picture(options.plot)
    check_page(options.report)
    asked = {"--output": output, "--report": options.report, "--plot": options.plot, "--save": options.save}
    return check_outputs(asked, options.input, force=options.force)


def _fitted(options: argparse.Namespace) -> tuple["Table", "HNE"]:
    """The table as read, rows with missing values left out, and the model of it."""
    from hne import HNE
    from hne._tables import prepared, rows_of

    table = read_input(options)
    ready, preparation = prepared(table, options.missing, options.scale)
    say_notices(ready.notices, options)
    model = HNE(**parameters_of(options)).fit(ready.X)
    model.preparation_ = preparation
    return rows_of(table, ready), model
