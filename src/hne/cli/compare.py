"""`hne compare`: HNE and what people use beside it on the same file, side by side."""

import argparse
import csv
import json
from pathlib import Path
from typing import Any

from hne._runtime.files import atomic_write
from hne.cli import arguments, talk
from hne.cli.arguments import number, whole
from hne.cli.talk import echo
from hne.exceptions import refuse

DESCRIPTION = """\
Embed the rows of a file by LLE, MLLE, HLLE, LTSA, PCA, Isomap, spectral embedding, t-SNE, UMAP and PHATE
where they are installed, the three variants of HNE, and HNE with its defaults. Prints how well each keeps neighbors and
distances, and its seconds. Measures show what went wrong; they do not decide who is right.
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    told = "HNE, PCA, Isomap, t-SNE, UMAP and others on the same file: table and picture"
    parser = arguments.add_command(commands, "compare", run, told, DESCRIPTION)
    arguments.add_input(parser)
    arguments.add_preparation(parser)
    add = parser.add_argument
    told = "neighbors of a sample [6 for LLE, its relatives and the variants; for others their own default]"
    add("-k", "--n-neighbors", type=whole, metavar="K", help=told)
    add("-d", "--n-components", type=whole, default=2, metavar="D", help="coordinates to find [2]")
    add("--reg", type=number, help="ridge, for methods that have one [1e-4; for hne its default]")
    told = (
        "of lle, mlle, hlle, ltsa, pca, isomap, spectral, tsne, umap, phate, ihne, rhne, bhne, hne "
        "[all that are installed and do not take long]"
    )
    add("--methods", type=arguments.names, metavar="NAMES", help=told)
    add("--n-jobs", type=whole, default=-1, metavar="N", help="threads, -1 for all cores [-1]")
    add("--random-state", type=whole, default=0, metavar="SEED", help="seed of what is drawn [0]")
    arguments.add_outputs(parser, output="the table: .csv, .json", plot="all embeddings side by side: .png, .svg, .pdf")
    arguments.add_talk(parser)


def run(options: argparse.Namespace) -> None:
    """Read, embed by all methods, print the table, write what was asked for."""
    outputs = talk.check_outputs(options, "output", "plot", tables=(".csv", ".json"))
    from hne.baselines import BASELINES
    from hne.baselines.comparison import comparison, comparison_picture, comparison_records, comparison_table

    with talk.command_context(options):
        ready = talk.prepared_input(options)
        echo(options, *ready.table.notices)
        if hasattr(ready.X, "toarray"):
            remedy = "Choose another --array, such as obsm/X_pca"
            refuse("hne compare", "needs dense samples", "a sparse matrix", remedy)
        settings = (options.n_neighbors, options.n_components, options.reg, options.random_state, options.n_jobs)
        results = comparison(ready.X, options.methods, *settings)
        records = comparison_records(results)
        if "output" in outputs:
            _write_table(outputs["output"], records)
        if "plot" in outputs:
            axes = comparison_picture(results, talk.color_of(ready.table), talk.title_of(options))
            talk.save_figure(outputs["plot"], axes.flat[0].figure, dpi=110)
    if options.json:
        talk.print_json({"input": options.input, "methods": records})
    else:
        header, lines = comparison_table(results)
        print("\n".join([header, *(talk.with_cli_names(line) for line in lines)]))
    echo(options, *(f"wrote {path}" for path in outputs.values()))
    missing = (
        []
        if options.methods is not None
        else [baseline for baseline in BASELINES.values() if not baseline.is_installed]
    )
    if missing:
        labels, libraries = " and ".join(one.label for one in missing), " ".join(one.library for one in missing)
        echo(options, f"without {labels}, not installed. Run: pip install {libraries}")
    echo(
        options,
        "measures take 10 neighbors, and coordinates as they come, whitened by LLE, its relatives and the variants: "
        "they show what went wrong, not who is right",
    )
    if "plot" not in outputs:
        echo(options, "add --plot compare.png to see them side by side")


def _write_table(path: Path, records: list[dict[str, Any]]) -> None:
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        if path.suffix.lower() == ".json":
            json.dump(talk.plain(records), stream, indent=1, ensure_ascii=False)
            return
        writer = csv.DictWriter(stream, records[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
