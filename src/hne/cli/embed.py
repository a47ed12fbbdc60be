"""`hne embed`: a file -> coordinates, picture, report, model."""

import argparse
import shlex
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne import __version__
from hne.cli.arguments import add_force, add_input, add_method, add_preparation, add_talk, output_path
from hne.cli.inputs import are_distances, color_of, images_of, parameters_of, read_input, say_notices, title_of
from hne.cli.outputs import check_outputs, check_page, check_picture, check_printed, check_thumbnails
from hne.cli.scale import add_scale, check_scale, executor_of, is_read_by_workers, say_exported, unread
from hne.cli.talk import command_context, print_json, say, with_cli_names
from hne.cli.tune import SEARCHED, chosen_facts, sentences
from hne.settings import AUTO

if TYPE_CHECKING:
    from hne.core.records import Embedding
    from hne.core.trust.record import Assessment
    from hne.io import PreparedTable, Table
    from hne.tuning import Tuning

# Names of features that a summary lists.
LISTED_FEATURES = 100

DESCRIPTION = """\
Embed the rows of a file. Columns of numbers are the features; others are carried along as labels. Without any of
-o, --report, --plot and --save the coordinates are printed as CSV.
"""
EXAMPLES = """\
examples:
  hne embed cells.csv -o cells_2d.csv --report cells.html
  hne embed table.csv --id sample --color group --scale standard --missing drop --report table.html
  hne embed points.csv --auto --report points.html
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
    outputs.add_argument(
        "--save", type=output_path, metavar="MODEL", help="fitted model, for hne transform and HNE.load"
    )
    add_force(outputs)
    parser.add_argument(
        "--dry-run", action="store_true", help="only say what would be done, with memory and rough time"
    )
    add_method(parser)
    add_scale(parser)
    add_talk(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, embed, write what was asked for, and say what came of it."""
    _settle(options)
    check_scale(options)
    outputs = _checked_outputs(options)
    if options.dry_run:
        from hne.cli.dry_run import tell

        tell(options, outputs)
        return
    with command_context(options) as (seconds, heard):
        embedded = _embedded(options)
        if embedded is None:
            return
        ready, tuning, result = embedded
        summary = _summary(options, ready, tuning, result, heard)
        say(_sentence(summary), options)
        # A bad one has been warned of.
        if summary["trust"] != "bad":
            say(f"{summary['trust']}: {summary['verdict']}", options)
        _write(options, outputs, ready, result, seconds, heard)
    for path in outputs.values():
        say(f"wrote {path}", options)
    if options.json:
        written = {option[2:]: str(path) for option, path in outputs.items()}
        found = {} if outputs else {"ids": ready.table.ids, "rows": ready.table.rows, "coordinates": result.Y}
        print_json(summary | {"timings": seconds, "outputs": written} | found)


def _settle(options: argparse.Namespace) -> None:
    """Set what `--auto` and `--published` stand for, but for what was given."""
    wholesale: dict[str, Any] = dict.fromkeys(SEARCHED, AUTO) if options.auto else {}
    if options.published:
        from hne import PUBLISHED

        wholesale = dict(PUBLISHED)
    for name in wholesale.keys() - options.given:
        setattr(options, name, wholesale[name])


def _checked_outputs(options: argparse.Namespace) -> dict[str, Path]:
    """Outputs by option, all of them possible."""
    from hne.io import check_output_ending

    if options.output is not None and str(options.output) != "-":
        check_output_ending(options.output)
    check_printed(options)
    check_picture(options.plot)
    check_page(options.report)
    asked = {"--output": options.output, "--report": options.report, "--plot": options.plot, "--save": options.save}
    asked = {option: None if str(path) == "-" else path for option, path in asked.items()}
    return check_outputs(asked, options.input, force=options.force)


def _embedded(options: argparse.Namespace) -> tuple["PreparedTable", "Tuning | None", "Embedding"] | None:
    """The samples, what was chosen for them, and their embedding; None where MPI is to go on elsewhere.

    By the pipeline, because the estimator's scikit-learn takes a second to load.
    """
    from hne.core.pipeline import compute_embedding

    ready = _ready(options)
    executor = executor_of(options)
    with nullcontext() if executor is None else closing(executor):
        run = (ready.X, parameters_of(options), executor, options.checkpoint)
        if options.until_eigenproblem:
            from hne.scale.backends import export_problem

            say_exported(*export_problem(*run), options)
            return None
        result = compute_embedding(*run)
    for sentence in [] if result.tuning is None else sentences(result.tuning):
        say(sentence, options)
    return ready, result.tuning, result


def _ready(options: argparse.Namespace) -> "PreparedTable":
    """The samples, read and prepared, or left for workers to read."""
    from hne.io import prepare_table

    if is_read_by_workers(options):
        return unread(options)
    ready = prepare_table(read_input(options), options.missing, options.scale, are_distances=are_distances(options))
    say_notices(ready.table.notices, options)
    if options.report is not None:
        check_thumbnails(ready.table.image_shape)
    return ready


def _write(
    options: argparse.Namespace,
    outputs: dict[str, Path],
    ready: "PreparedTable",
    result: "Embedding",
    seconds: dict[str, float],
    heard: list[str],
) -> None:
    """Write every output, each whole or not at all."""
    from hne._runtime.progress import run_stage
    from hne.io import Coordinates, write_coordinates

    if "--output" in outputs or (not outputs and not options.json) or str(options.output) == "-":
        run_stage(
            "writing", write_coordinates, outputs.get("--output"), Coordinates.of(_with_pieces(ready, result), result.Y)
        )
    if "--save" in outputs:
        run_stage("saving", _save, outputs["--save"], ready, result)
    if "--plot" in outputs:
        run_stage("drawing", _draw, outputs["--plot"], options, ready, result)
    if "--report" in outputs:
        run_stage("report", _report, outputs["--report"], options, ready, result, seconds, heard)


def _with_pieces(ready: "PreparedTable", result: "Embedding") -> "Table":
    """The table, with the piece of each sample beside its labels where there are several."""
    table = ready.table
    if result.pieces.count == 1 or "piece" in table.labels:
        return table
    return replace(table, labels={**table.labels, "piece": result.pieces.labels + 1})


def _save(path: Path, ready: "PreparedTable", result: "Embedding") -> None:
    """Write the model."""
    from hne import HNE

    model = HNE.from_embedding(result)
    model.preparation_ = ready.preprocessor
    model.save(path)


def _draw(path: Path, options: argparse.Namespace, ready: "PreparedTable", result: "Embedding") -> None:
    """Write the picture: points by color, or images where the samples are some."""
    from hne._runtime.files import atomic_write
    from hne.viz import plots

    color, title = color_of(ready.table), title_of(options)
    if ready.table.image_shape is not None and result.Y.shape[1] > 1:
        axes = plots.scatter_images(result, images_of(ready.table), color, title=title)
    else:
        axes = plots.scatter(result, color, title=title)
    with atomic_write(path) as temporary:
        axes.figure.savefig(temporary, dpi=150)
    plots.pyplot().close(axes.figure)


def _report(
    path: Path,
    options: argparse.Namespace,
    ready: "PreparedTable",
    result: "Embedding",
    seconds: dict[str, float],
    heard: list[str],
) -> None:
    """Write the report."""
    from hne.viz.report import gather_details, write_report

    table = ready.table
    is_here = not are_distances(options) and not is_read_by_workers(options)
    details = gather_details(
        X=ready.X if is_here else None,
        features=table.X if is_here else None,
        feature_names=table.feature_names,
        labels=table.labels,
        ids=table.ids,
        color=table.color,
        images=images_of(table),
        title=title_of(options),
        id_name=table.id_name,
        rows=table.rows,
        timings=seconds,
        embedding_warnings=heard,
        data_notes=table.notices,
        source=table.source,
        # Outputs will be there already when somebody makes it again.
        command=shlex.join(["hne", *options.words, *([] if options.force else ["--force"])]),
    )
    write_report(path, result, replace(details, trust=_trust_in_flags(result.trust)))


def _trust_in_flags(trust: "Assessment") -> "Assessment":
    """The same, with the options of the command line in its sentences."""
    findings = (
        replace(one, text=with_cli_names(one.text), remedy=with_cli_names(one.remedy)) for one in trust.findings
    )
    return replace(trust, verdict=with_cli_names(trust.verdict), findings=tuple(findings))


def _summary(
    options: argparse.Namespace, ready: "PreparedTable", found: "Tuning | None", result: "Embedding", heard: list[str]
) -> dict[str, Any]:
    """What was done and what came of it, for machines."""
    n_samples, n_features = ready.X.shape
    pairs, trust, chart = result.eigenpairs, result.trust, result.chart
    return {
        "hne": __version__,
        "input": options.input,
        "source": ready.table.source,
        "n_samples": n_samples,
        "n_features": n_features,
        "features": list(ready.table.feature_names[:LISTED_FEATURES]),
        "labels": list(ready.table.labels),
        "missing": options.missing,
        "scale": options.scale,
        "parameters": parameters_of(options)
        | {name: getattr(result.settings, name) for name in (*SEARCHED, "n_components")},
        "tuning": None if found is None else chosen_facts(found),
        "n_distinct": result.distinct.n_places,
        "piece_sizes": result.pieces.sizes,
        "neighbor_method": result.graph.method,
        "neighbor_recall": result.graph.recall,
        "eigen_solver": None if pairs is None else pairs.solver,
        "eigenvalues": [] if pairs is None else pairs.values[: result.settings.n_components],
        "short_circuits": len(result.short_circuits),
        "chart": None if chart is None else {"route": chart.route, "stress": chart.stress},
        "reconstruction_error": result.reconstruction_error,
        "trust": trust.level,
        "verdict": with_cli_names(trust.verdict),
        "score": None if trust.score is None else trust.score.score,
        "notices": list(ready.table.notices),
        "warnings": heard,
    }


def _sentence(summary: dict[str, Any]) -> str:
    """What came of it, for people."""
    sizes = summary["piece_sizes"]
    pieces = f", {len(sizes)} pieces" if len(sizes) > 1 else ""
    parameters, n_cut = summary["parameters"], summary["short_circuits"]
    is_cut = n_cut and parameters["short_circuits"] == "cut"
    cut = f", {n_cut} short circuit{'' if n_cut == 1 else 's'} cut" if is_cut else ""
    return (
        f"{summary['n_samples']} samples of {summary['n_features']} features in {parameters['n_components']} "
        f"dimensions by {parameters['variant']} with {parameters['n_neighbors']} neighbors{cut}{pieces}, mean "
        f"reconstruction error {summary['reconstruction_error']:.3g}"
    )
