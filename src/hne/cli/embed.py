"""`hne embed`: a file -> coordinates, picture, report, model; or, by --dry-run, what that would take."""

import argparse
import math
import shlex
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne import __version__
from hne._runtime.progress import duration, one_line, run_stage
from hne.cli import arguments, talk
from hne.cli.arguments import flag_of, parameters_of, with_sample_pairs
from hne.cli.talk import color_of, echo, print_json, title_of, with_cli_names
from hne.cli.tune import chosen_facts, sentences
from hne.exceptions import refuse
from hne.settings import AUTO, COORDINATES_IN_WORDS, PRECOMPUTED, SEARCHED, fill_defaults

if TYPE_CHECKING:
    from hne.core.records import Embedding
    from hne.io import PreparedTable, Table

# Files that workers read themselves, as in `hne.scale.sources`, which loads NumPy; a test compares.
WORKERS_READ, TABLES = (".zarr", ".parquet", ".pq", ".npy"), (".parquet", ".pq")
# Options about a table that has to be here to be prepared; they are not in use where they are empty.
NEED_TABLE = ("id", "color", "drop", "array", "transpose", "missing", "scale", "image_size", "image_mode", "auto")
EMPTY = (None, (), False, "refuse", "none")
# Names of features that a summary and a plan list.
LISTED_FEATURES, LISTED = 100, 20
# What a report and a table call the same.
REPORTED = ("feature_names", "labels", "ids", "color", "id_name", "rows", "source")
# Bytes of samples that a dry run looks at for the parameters that suit them, a second or so.
MAX_LOOKED_AT = 50_000_000
# Dimensions that a forecast takes where they are to be found out.
DIMENSION = 2

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
    told = "embed the rows of a file: coordinates, picture, report, model"
    parser = arguments.add_command(commands, "embed", run, told, DESCRIPTION, EXAMPLES)
    arguments.add_input(parser)
    arguments.add_outputs(
        parser,
        output="coordinates: .csv, .tsv, .npy, .parquet, .arrow, .json",
        report="interactive page to look at and judge by",
        plot="picture: .png, .svg, .pdf, .jpg",
        save="fitted model, for hne transform and HNE.load",
    )
    told = "only say what would be done, with memory and rough time"
    parser.add_argument("--dry-run", action="store_true", help=told)
    arguments.add_method(parser)
    arguments.add_scale(parser)
    arguments.add_talk(parser)


def run(options: argparse.Namespace) -> None:
    """Read, embed, write what was asked for, and say what came of it."""
    options.parameters = parameters_of(options)
    if options.dry_run and options.dask is not None:
        refuse("--dry-run", "foresees what this process would take", "--dask", "Leave one of them out")
    is_for_mpi = options.checkpoint is not None and options.parameters["eigen_solver"] == "slepc"
    if options.until_eigenproblem and not is_for_mpi:
        got, remedy = "no --checkpoint, or another --eigen-solver", "Add --checkpoint DIR --eigen-solver slepc"
        refuse("--until-eigenproblem", "leaves work in a folder for MPI", got, remedy)
    outputs = talk.check_outputs(options, "output", "report", "plot", "save")
    if options.dry_run:
        _dry_run(options, outputs)
        return
    with talk.command_context(options, {} if options.until_eigenproblem else outputs) as (seconds, heard):
        ready = _prepared(options)
        options.parameters = with_sample_pairs(options.parameters, ready.table.rows, ready.X.shape[0])
        table, result = ready.table, _embedded(options, ready)
        if result is None:
            return
        summary = _summary(options, ready, result, heard)
        echo(options, _sentence(summary))
        # A bad one has been warned of.
        if summary["trust"] not in {"bad", None}:
            echo(options, f"{summary['trust']}: {summary['verdict']}")
        if "output" in outputs or (not outputs and not options.json) or str(options.output) == "-":
            run_stage("writing", _write_coordinates, outputs.get("output"), table, result)
        if "save" in outputs:
            run_stage("saving", _save, outputs["save"], ready, result)
        if "plot" in outputs:
            run_stage("drawing", _draw, outputs["plot"], title_of(options), table, result)
        if "report" in outputs:
            told = {"timings": seconds, "embedding_warnings": heard}
            run_stage("report", _report, outputs["report"], options, ready, result, told)
    if options.json:
        coordinates = {} if outputs else {"ids": table.ids, "rows": table.rows, "coordinates": result.Y}
        print_json(summary | {"timings": seconds, "outputs": outputs} | coordinates)


def _is_read_by_workers(options: argparse.Namespace) -> bool:
    """Whether the input is read by workers; options that need it here are then refused.

    Which columns of a Parquet file are features, ids and labels is found out by reading it, unless --columns says so.
    """
    suffix = Path(options.input).suffix
    if options.dask is None or suffix not in WORKERS_READ or (suffix in TABLES and not options.columns):
        return False
    for name in NEED_TABLE if suffix in TABLES else (*NEED_TABLE, "columns"):
        if getattr(options, name) not in EMPTY:
            got = f"--dask and a {suffix} file, which workers read"
            remedy = "Prepare the file first, or leave --dask out"
            refuse(flag_of(name), "needs the table in this process", got, remedy)
    return True


def _prepared(options: argparse.Namespace) -> "PreparedTable":
    """The samples, read and prepared, or left for workers to read."""
    if not _is_read_by_workers(options):
        ready = talk.prepared_input(options)
        if options.report is not None and ready.table.image_shape is not None:
            talk.need_library("--report of images", "pillow", "PIL", "io")
        return ready
    from hne.io import ColumnPreprocessor, PreparedTable, Table
    from hne.io.table import numbered
    from hne.scale.sources import lazy_samples

    samples: Any = lazy_samples(options.input, options.columns or None)
    names = options.columns or numbered(samples.shape[1])
    source = f"{Path(options.input).suffix[1:]} file read by workers"
    return PreparedTable(Table(X=samples, feature_names=names, source=source), samples, ColumnPreprocessor(names))


def _embedded(options: argparse.Namespace, ready: "PreparedTable") -> "Embedding | None":
    """The embedding; None where MPI is to go on elsewhere.

    By the pipeline, because the estimator's scikit-learn takes a second to load.
    """
    from hne.core.pipeline import compute_embedding

    with ExitStack() as afterwards:
        executor: Any = None
        if options.dask is not None:
            from hne.scale import DaskExecutor

            executor = afterwards.enter_context(closing(DaskExecutor(options.dask)))
        task = (ready.X, options.parameters, executor, options.checkpoint)
        if options.until_eigenproblem:
            from hne.scale.backends import export_problem

            folder, is_solved = export_problem(*task)
            command = f"hne eigen '{folder}' --launcher 'srun -n 64'"
            state = f"in '{folder}' is solved" if is_solved else f"is in '{folder}'. Solve it: {command}"
            echo(options, f"the eigenproblem {state}", "then run the same command without --until-eigenproblem")
            return None
        result = compute_embedding(*task)
    echo(options, *([] if result.tuning is None else sentences(result.tuning)))
    return result


def _write_coordinates(path: Path | None, table: "Table", result: "Embedding") -> None:
    from hne.io import Coordinates, write_coordinates

    write_coordinates(path, Coordinates.of_embedding(table, result))


def _save(path: Path, ready: "PreparedTable", result: "Embedding") -> None:
    from hne import HNE

    HNE.from_embedding(result, ready.preprocessor).save(path)


def _images(table: "Table") -> Any:
    return None if table.image_shape is None else table.X.reshape(-1, *table.image_shape)


def _draw(path: Path, title: str, table: "Table", result: "Embedding") -> None:
    """Write the picture: points by color, or images where the samples are some."""
    from hne.viz import plots

    color, images = color_of(table), _images(table)
    if images is not None and result.Y.shape[1] > 1:
        axes = plots.scatter_images(result, images, color, title=title)
    else:
        axes = plots.scatter(result, color, title=title)
    talk.save_figure(path, axes.figure, dpi=150)


def _report(
    path: Path, options: argparse.Namespace, ready: "PreparedTable", result: "Embedding", told: dict[str, Any]
) -> None:
    from hne.viz.report import gather_details, write_report

    table, trust = ready.table, result.trust
    told |= {name: getattr(table, name) for name in REPORTED}
    if options.parameters["metric"] != PRECOMPUTED and not _is_read_by_workers(options):
        told |= {"X": ready.X, "features": table.X}
    # Outputs will be there already when somebody makes it again.
    command = shlex.join(["hne", *options.words, *([] if options.force else ["--force"])])
    told |= {"title": title_of(options), "data_notes": table.notices, "command": command}
    if trust is not None:
        words = [(one, with_cli_names(one.text), with_cli_names(one.remedy)) for one in trust.findings]
        findings = tuple(replace(one, text=text, remedy=remedy) for one, text, remedy in words)
        trust = replace(trust, verdict=with_cli_names(trust.verdict), findings=findings)
    write_report(path, result, gather_details(images=_images(table), trust=trust, **told))


def _summary(
    options: argparse.Namespace, ready: "PreparedTable", result: "Embedding", heard: list[str]
) -> dict[str, Any]:
    """What was done and what came of it, for machines."""
    table, graph, pairs, trust, chart = ready.table, result.graph, result.eigenpairs, result.trust, result.chart
    (n, n_features), d = ready.X.shape, result.settings.n_components
    chosen = {name: getattr(result.settings, name) for name in (*SEARCHED, "n_components", "coordinates")}
    facts = {"hne": __version__, "input": options.input, "source": table.source, "n_samples": n}
    facts |= {"n_features": n_features, "features": table.feature_names[:LISTED_FEATURES], "labels": [*table.labels]}
    facts |= {"missing": options.missing, "scale": options.scale, "parameters": options.parameters | chosen}
    facts |= {"tuning": result.tuning and chosen_facts(result.tuning), "n_distinct": result.distinct.n_places}
    facts |= {"piece_sizes": result.pieces.sizes, "neighbor_method": graph.method, "neighbor_recall": graph.recall}
    facts |= {"eigen_solver": pairs and pairs.solver, "eigenvalues": [] if pairs is None else pairs.values[:d]}
    facts |= {"short_circuits": len(result.short_circuits)}
    facts |= {"chart": chart and {"route": chart.route, "stress": chart.stress}}
    is_layout = result.settings.coordinates == "layout"
    facts |= {"layout": {"kl_divergence": result.core.kl_divergence} if is_layout else None}
    facts |= {"reconstruction_error": result.reconstruction_error, "trust": trust and trust.level}
    facts |= {"verdict": trust and with_cli_names(trust.verdict), "score": trust and trust.score and trust.score.score}
    return facts | {"notices": table.notices, "warnings": heard}


def _sentence(summary: dict[str, Any]) -> str:
    """What came of it, for people."""
    sizes, parameters, n_cut = summary["piece_sizes"], summary["parameters"], summary["short_circuits"]
    pieces = f", {len(sizes)} pieces" if len(sizes) > 1 else ""
    is_cut = n_cut and parameters["short_circuits"] == "cut"
    cut = f", {n_cut} short circuit{'' if n_cut == 1 else 's'} cut" if is_cut else ""
    made = COORDINATES_IN_WORDS[parameters["coordinates"]]
    return (
        f"{summary['n_samples']} samples of {summary['n_features']} features in {parameters['n_components']} "
        f"dimensions, {made} by {parameters['variant']} with {parameters['n_neighbors']} neighbors{cut}{pieces}, mean "
        f"reconstruction error {summary['reconstruction_error']:.3g}"
    )


def _dry_run(options: argparse.Namespace, outputs: dict[str, Path]) -> None:
    """Print the plan; nothing is written."""
    from hne import forecast
    from hne.core.parameters import check_parameters
    from hne.tuning import GRID

    check_parameters(options.parameters)
    ready = talk.prepared_input(options)
    options.parameters = with_sample_pairs(options.parameters, ready.table.rows, ready.X.shape[0])
    (n, n_features), table = ready.X.shape, ready.table
    if n < 2:
        refuse(f"'{options.input}'", "must have at least 2 samples", str(n), "Pass more rows")
    X: Any = table.X
    n_bytes = sum(part.nbytes for part in ((X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)))
    is_looked_at = n_bytes <= MAX_LOOKED_AT
    parameters, most = _parameters_used(options.parameters, ready.X if is_looked_at else None, n)
    k, d = parameters["n_neighbors"], parameters["n_components"]
    k = min(max(GRID["n_neighbors"]), n - 1) if k == AUTO else most if k is None else k
    d = min(DIMENSION, n_features) if d == AUTO else d
    solving = {name: parameters[name] for name in ("coordinates", "eigen_solver", "n_landmarks")}
    filled = _filled(parameters, ready.X) if is_looked_at else None
    expected = forecast(n, n_features, k, n_components=d, intrinsic_dimension=filled, **solving)
    seconds = expected.seconds
    if AUTO in {parameters[name] for name in SEARCHED}:
        seconds = seconds | {"tuning": _tuning_seconds(parameters, (n, n_features), d, k, filled)}
    plan = {"input": options.input, "source": table.source, "n_samples": n, "n_features": n_features}
    plan |= {"parameters": parameters, "n_neighbors": expected.n_neighbors, "solver": expected.solver}
    plan |= {"peak_bytes": max(expected.peak_bytes, n_bytes), "stage_bytes": {"reading": n_bytes, **expected.stages}}
    plan |= {"available_bytes": expected.available_bytes, "fits": expected.fits}
    plan |= {"advice": with_cli_names(expected.advice), "seconds": seconds, "outputs": outputs}
    plan |= {"seconds_range": expected.seconds_range, "dimension": filled}
    plan |= {"features": table.feature_names[:LISTED], "labels": [*table.labels][:LISTED]}
    plan |= {"ids": None if table.ids is None else table.id_name}
    if options.json:
        print_json(plan)
    else:
        print("\n".join(one_line(line) for line in _plan_lines(plan, title_of(options), d)))


def _parameters_used(parameters: dict[str, Any], X: Any, n_samples: int) -> tuple[dict[str, Any], int]:
    """Parameters with what a run would find for those left open, None where that is not known; and the most neighbors.

    That is not known of samples that were not read, and of a dimension that is to be found out first.
    """
    from hne._runtime.threads import thread_count
    from hne.core.parameters import check_parameters
    from hne.core.pipeline import known_distances
    from hne.core.samples.canonical import canonicalize
    from hne.core.samples.check import check_samples
    from hne.core.tangent.frames import flat_share

    settings, automatic, unset = check_parameters(parameters)
    if (unset or settings.coordinates == AUTO) and X is not None and "n_components" not in automatic:
        _, _, places, settings = canonicalize(check_samples(X, settings), settings)
        search = (settings.metric, settings.metric_params, thread_count(settings.n_jobs))
        share = flat_share(places, settings.n_components, *search)
        best = fill_defaults(settings, unset, share, places.shape[0], known_distances(places))
        # The ridge goes with the neighbors.
        known = unset - {"reg"} if "n_neighbors" in automatic else unset
        parameters = parameters | {name: getattr(best, name) for name in (*known, "coordinates")}
    # Nobody has looked how near the samples are to a surface, where neighbors are the most.
    return parameters, fill_defaults(settings, unset, math.nan, n_samples).n_neighbors


def _filled(parameters: dict[str, Any], X: Any) -> int | None:
    """How many dimensions the samples fill, None where that is not known."""
    from hne._runtime.threads import thread_count
    from hne.core.forecast import measured_dimension
    from hne.core.parameters import check_parameters
    from hne.core.samples.check import check_samples

    settings, _, _ = check_parameters(parameters)
    search = (settings.metric, settings.metric_params, thread_count(settings.n_jobs))
    return measured_dimension(check_samples(X, settings), *search)


def _tuning_seconds(parameters: dict[str, Any], shape: tuple[int, int], d: int, k: int, filled: int | None) -> float:
    """Rough time of what is tried, each setting about as long as a fit.

    For a chart each k, and one of them with each other variant and reg; for a layout all settings.
    """
    from hne import forecast
    from hne.tuning.auto import GRIDS, MAX_SAMPLES, PATCH_SAMPLES

    coordinates = parameters["coordinates"]
    if coordinates == AUTO:
        coordinates = "layout" if filled is not None and filled > d else "chart"
    grid = GRIDS[coordinates]
    n = PATCH_SAMPLES if shape[0] > MAX_SAMPLES else shape[0]
    ks = [k for k in grid["n_neighbors"] if k < n] if parameters["n_neighbors"] == AUTO else [k]
    by = {"n_components": d, "intrinsic_dimension": filled, "coordinates": coordinates}
    expected = (forecast(n, shape[1], k, **by) for k in ks)
    seconds = [sum(one.seconds.values()) for one in expected]
    more = {name: len(grid[name]) if parameters[name] == AUTO else 1 for name in ("variant", "reg")}
    if coordinates == "layout":
        return sum(seconds) * more["variant"] * more["reg"]
    return sum(seconds) + (sum(more.values()) - 2) * max(seconds, default=0.0)


def _plan_lines(plan: dict[str, Any], title: str, d: int) -> list[str]:
    from hne._runtime.memory import gigabytes
    from hne.tuning.auto import MAX_SAMPLES, PATCH_SAMPLES

    parameters, n_samples = plan["parameters"], plan["n_samples"]
    k, reg, dimensions = (parameters[name] for name in ("n_neighbors", "reg", "n_components"))
    neighbors = "neighbors that suit the samples" if k is None else f"{k} neighbors"
    ridge = "reg that suits them" if reg is None else f"reg {reg:.3g}" if isinstance(reg, float) else f"reg {reg}"
    found = COORDINATES_IN_WORDS["layout"] if plan["solver"] == "none" else f"{plan['solver']} solver"
    method = f"{parameters['variant']}, {neighbors}, {dimensions} dimensions, {ridge}, {found}"
    # What the forecast takes for numbers that are to be chosen.
    taken = [f"{plan['n_neighbors']} neighbors, the most"] if k in {AUTO, None} else []
    taken += [f"{d} dimensions"] if dimensions == AUTO else []
    columns = f"features {', '.join(plan['features'])}{', ...' if len(plan['features']) == LISTED else ''}"
    columns += f"; labels {', '.join(plan['labels'])}" if plan["labels"] else ""
    columns += f"; ids {plan['ids']}" if plan["ids"] else ""
    memory = ", ".join(f"{name} {gigabytes(count)}" for name, count in plan["stage_bytes"].items())
    fits = "it fits" if plan["fits"] else f"it does not fit. {plan['advice']}"
    stages = {name: seconds for name, seconds in plan["seconds"].items() if name != "tuning"}
    times = ", ".join(f"{name} {duration(seconds)}" for name, seconds in stages.items())
    filled = plan["dimension"]
    caveat = "longer where samples fill more dimensions" if filled is None else f"the samples fill {filled} dimensions"
    least, longest = map(duration, plan["seconds_range"])
    peak, free = gigabytes(plan["peak_bytes"]), gigabytes(plan["available_bytes"])
    lines = [
        f"input    {title}: {plan['source']}, {n_samples} samples of {plan['n_features']} features",
        f"columns  {columns}",
        f"method   {method}" + (f"; forecast for {' and '.join(taken)}" if taken else ""),
        f"memory   about {peak} at the peak ({memory}), {free} free: {fits}",
        f"time     roughly {least} to {longest} for the embedding on 2 cores ({times}); {caveat}",
    ]
    if "tuning" in plan["seconds"]:
        patch = f", on a patch of {PATCH_SAMPLES} samples" if n_samples > MAX_SAMPLES else ""
        in_all = f"very roughly {duration(plan['seconds']['tuning'])}{patch}"
        lines.append(f"tuning   comes on top, {in_all}; settings that fall behind are stopped early")
    written = ", ".join(str(path) for path in plan["outputs"].values()) or "coordinates to standard output"
    return [*lines, f"outputs  {written}; nothing is written by a dry run"]
