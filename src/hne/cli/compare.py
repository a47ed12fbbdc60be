"""`hne compare`: HNE and what people use beside it on the same file, side by side."""

import argparse
import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne.cli.arguments import add_force, add_input, add_preparation, add_talk, names, output_path
from hne.cli.inputs import color_of, read_input, say_notices, title_of
from hne.cli.outputs import check_ending, check_outputs, check_picture
from hne.cli.talk import command_context, plain, print_json, say, with_cli_names
from hne.exceptions import InputError

if TYPE_CHECKING:
    from hne.baselines.comparison import MethodResult
    from hne.io import PreparedTable

TABLES = (".csv", ".json")


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="HNE, PCA, Isomap, t-SNE, UMAP and others on the same file: table and picture",
        description="Embed the rows of a file by LLE, MLLE, HLLE, LTSA, PCA, Isomap, spectral embedding, "
        "t-SNE, UMAP and PHATE where they are installed, the three variants of HNE, and HNE with its defaults. Prints "
        "how well each keeps neighbors and distances, and its seconds. Measures show what went wrong; they do not "
        "decide who is right.",
    )
    add_input(parser)
    add_preparation(parser)
    parser.add_argument(
        "-k",
        "--n-neighbors",
        type=int,
        metavar="K",
        help="neighbors of a sample [6 for LLE, its relatives and the variants; for others their own default]",
    )
    parser.add_argument("-d", "--n-components", type=int, default=2, metavar="D", help="coordinates to find [2]")
    parser.add_argument("--reg", type=float, help="ridge, for methods that have one [1e-4; for hne its default]")
    parser.add_argument(
        "--methods",
        type=names,
        metavar="NAMES",
        help="of lle, mlle, hlle, ltsa, pca, isomap, spectral, tsne, umap, phate, ihne, rhne, bhne, hne "
        "[all that are installed and do not take long]",
    )
    parser.add_argument("--n-jobs", type=int, default=-1, metavar="N", help="threads, -1 for all cores [-1]")
    parser.add_argument("--random-state", type=int, default=0, metavar="SEED", help="seed of what is drawn [0]")
    outputs = parser.add_argument_group("outputs")
    outputs.add_argument("-o", "--output", type=output_path, metavar="OUT", help="the table: .csv, .json")
    outputs.add_argument(
        "--plot", type=output_path, metavar="PNG", help="all embeddings side by side: .png, .svg, .pdf"
    )
    add_force(outputs)
    add_talk(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, embed by all methods, print the table, write what was asked for."""
    if options.output is not None:
        check_ending("--output", options.output, TABLES)
    check_picture(options.plot)
    outputs = check_outputs({"--output": options.output, "--plot": options.plot}, options.input, force=options.force)
    from hne.baselines.comparison import comparison, comparison_records, comparison_table
    from hne.io import prepare_table

    with command_context(options):
        ready = prepare_table(read_input(options), options.missing, options.scale)
        say_notices(ready.table.notices, options)
        compared = comparison(_dense(ready), options.methods, *_settings(options))
        records = comparison_records(compared)
        if "--output" in outputs:
            _write_table(outputs["--output"], records)
        if "--plot" in outputs:
            _draw(outputs["--plot"], options, ready, compared)
    if options.json:
        print_json({"input": options.input, "methods": records})
    else:
        header, lines = comparison_table(compared)
        print("\n".join([header, *(with_cli_names(line) for line in lines)]))
    for path in outputs.values():
        say(f"wrote {path}", options)
    if options.methods is None:
        _say_missing(options)
    say(
        "measures take 10 neighbors, and coordinates as they come, whitened by LLE, its relatives and the variants: "
        "they show what went wrong, not who is right",
        options,
    )
    if "--plot" not in outputs:
        say("add --plot compare.png to see them side by side", options)


def _say_missing(options: argparse.Namespace) -> None:
    """Name the methods whose libraries are not there, and how to have them."""
    from hne.baselines import BASELINES

    missing = [baseline for baseline in BASELINES.values() if not baseline.is_installed]
    if missing:
        labels, libraries = (" and ".join(one.label for one in missing), " ".join(one.library for one in missing))
        say(f"without {labels}, not installed. Run: pip install {libraries}", options)


def _settings(options: argparse.Namespace) -> tuple[Any, ...]:
    return options.n_neighbors, options.n_components, options.reg, options.random_state, options.n_jobs


def _dense(ready: "PreparedTable") -> Any:
    """The samples, which not all of the methods take sparse."""
    if hasattr(ready.X, "toarray"):
        msg = "hne compare needs dense samples, got a sparse matrix. Choose another --array, such as obsm/X_pca."
        raise InputError(msg)
    return ready.X


def _write_table(path: Path, records: list[dict[str, Any]]) -> None:
    from hne._runtime.files import atomic_write

    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        if path.suffix.lower() == ".json":
            json.dump(plain(records), stream, indent=1, ensure_ascii=False)
            return
        writer = csv.DictWriter(stream, records[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def _draw(
    path: Path, options: argparse.Namespace, ready: "PreparedTable", compared: "tuple[MethodResult, ...]"
) -> None:
    from hne._runtime.files import atomic_write
    from hne.baselines.comparison import comparison_picture
    from hne.viz import plots

    axes = comparison_picture(compared, color_of(ready.table), title_of(options))
    figure = axes.flat[0].figure
    with atomic_write(path) as temporary:
        figure.savefig(temporary, dpi=110)
    plots.pyplot().close(figure)
