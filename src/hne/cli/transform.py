"""`hne transform`: a saved model, new samples -> their coordinates; `hne info`: what a model or this machine has."""

import argparse
import os
import platform
import sys
import warnings
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne import __version__
from hne._runtime.progress import one_line, run_stage
from hne.cli import arguments, talk
from hne.exceptions import InputError, MissingExtraError, PreparedModelWarning
from hne.settings import SEARCHED

if TYPE_CHECKING:
    from hne import HNE
    from hne.io import ColumnPreprocessor, PreparedTable

LIBRARIES = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "psutil")
# Optional libraries: the extra that brings each, and what for.
EXTRAS = {
    "pyamg": ("fast", "iterative solver on samples of few dimensions"),
    "faiss-cpu": ("approx", "approximate neighbors of many features"),
    "matplotlib": ("plot", "--plot, hne.viz, hne demo, hne compare --plot"),
    "umap-learn": ("compare", "UMAP in hne compare"),
    "phate": ("compare", "PHATE in hne compare"),
    "pyarrow": ("io", "Parquet and Arrow files"),
    "h5py": ("io", "HDF5 and MAT 7.3 files"),
    "anndata": ("anndata", ".h5ad files"),
    "distributed": ("dask", "--dask, hne.scale.DaskExecutor, Dask arrays"),
    "zarr": ("dask", "Zarr arrays that Dask workers read"),
    "pillow": ("io", "folders of images, thumbnails in reports"),
    "starlette": ("explore", "hne explore"),
    "anywidget": ("explore", "hne.explore in notebooks"),
    "shtab": ("completion", "hne completion"),
}
# Names of features that are listed.
LISTED_FEATURES = 100


def add_to(commands: Any) -> None:
    """Add `hne transform` to the parser."""
    described = (
        "Place new samples in the embedding of a model that hne embed --save (or model.save) wrote. Columns are found "
        "by the names of the fit, filled and scaled as they were. Without -o the coordinates are printed as CSV."
    )
    told = "place the rows of a file among those of a saved model"
    parser = arguments.add_command(commands, "transform", run, told, described)
    parser.add_argument("model", type=Path, metavar="MODEL", help="file of hne embed --save")
    arguments.add_input(parser, is_fit=False)
    arguments.add_outputs(parser, output="coordinates: .csv, .tsv, .npy, .parquet, .arrow, .json")
    arguments.add_talk(parser)


def run(options: argparse.Namespace) -> None:
    """Load, read, place, write."""
    from hne.io import Coordinates, write_coordinates

    outputs = talk.check_outputs(options, "output")
    output = outputs.get("output")
    with talk.command_context(options, outputs) as (seconds, heard):
        model, preprocessor = _load(options.model)
        ready = _prepared(options, preprocessor)
        table, Y = ready.table, model.transform(ready.X)
        if output is not None or not options.json:
            run_stage("writing", write_coordinates, output, Coordinates.of(table, Y))
    if options.json:
        facts = {"n_samples": len(Y), "notices": table.notices, "warnings": heard, "timings": seconds, "output": output}
        talk.print_json(facts | ({} if outputs else {"ids": table.ids, "rows": table.rows, "coordinates": Y}))


def _load(path: Path) -> tuple["HNE", "ColumnPreprocessor"]:
    """The model, and what was done to its columns."""
    from hne import HNE
    from hne.io import ColumnPreprocessor
    from hne.io.table import numbered

    with warnings.catch_warnings():
        # Filling and scaling is what this command does by itself.
        warnings.simplefilter("ignore", PreparedModelWarning)
        model = HNE.load(path)
    names = getattr(model, "feature_names_in_", numbered(model.n_features_in_))
    return model, model.preparation_ or ColumnPreprocessor(tuple(str(name) for name in names))


def _prepared(options: argparse.Namespace, preprocessor: "ColumnPreprocessor") -> "PreparedTable":
    """New samples, with the model's columns, or images as the model has them, filled and scaled as those were."""
    from hne.io import prepare_new

    shape = preprocessor.image_shape
    reading: dict[str, Any] = {}
    if not options.columns and shape is None:
        reading = {"features": preprocessor.feature_names}
    elif not options.columns and shape is not None:
        mode = "rgb" if len(shape) == 3 else "grey"
        reading = {"image_size": (shape[1], shape[0]), "image_mode": mode, "pixel_scale": preprocessor.pixel_scale}
    try:
        return talk.prepared_input(options, lambda table: prepare_new(table, preprocessor, options.missing), **reading)
    except InputError as error:
        if shape is None or error.parameter != "image_size":
            raise
        rule = f"must hold images, as those of {shape[1]} x {shape[0]} in '{options.model}'"
        msg = f"'{options.input}' {rule}, got none. Pass images, or another model."
        raise InputError(msg) from error


def add_info_to(commands: Any) -> None:
    """Add `hne info` to the parser."""
    told = "versions, solvers and extras that are present, threads and memory; or what a model or checkpoint holds"
    described = (
        "Say which versions, solvers and extras are present, and how many threads and how much memory; or, of a model "
        "that hne embed --save wrote, its samples, columns and parameters; or, of the folder of a --checkpoint, its "
        "stages with their sizes and parameters."
    )
    parser = arguments.add_command(commands, "info", run_info, told, described)
    told = "file of hne embed --save, or folder of --checkpoint"
    parser.add_argument("model", nargs="?", type=Path, metavar="MODEL", help=told)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run_info(options: argparse.Namespace) -> None:
    """Print what is there."""
    path = options.model
    facts, lines = _machine() if path is None else _checkpoint(path) if path.is_dir() else _model(path)
    if options.json:
        talk.print_json(facts)
    else:
        print("\n".join(one_line(line) for line in lines))


def _checkpoint(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Stages of a run, the oldest first, for machines and for people."""
    from hne.scale.folder import stages_in

    stages, lines = stages_in(path), []
    for stage in stages:
        parameters = ", ".join(f"{name}={value!r}" for name, value in stage["parameters"].items() if value is not None)
        lines.append(f"{stage['name']:<32}{stage['bytes'] / 1e6:>10.1f} MB  {stage['made']:<26}{parameters}")
    size = sum(stage["bytes"] for stage in stages) / 1e6
    lines.append(f"{size:.1f} MB in all; any of these folders may be removed")
    return {"checkpoint": str(path), "stages": stages}, lines


def _model(path: Path) -> tuple[dict[str, Any], list[str]]:
    """What a model was fitted on, and how: numbers that were chosen, where they were "auto"."""
    model, preprocessor = _load(path)
    (n, d), n_features, error = model.embedding_.shape, model.n_features_in_, model.reconstruction_error_
    parameters = {name: getattr(model, name) for name in arguments.PARAMETERS}
    parameters |= {name: getattr(model, f"{name}_") for name in SEARCHED} | {"n_components": d}
    missing, scaling = "refuse" if preprocessor.fill is None else "impute", preprocessor.scaling
    features = preprocessor.feature_names[:LISTED_FEATURES]
    facts = {"model": str(path), "n_samples": n, "n_features": n_features, "features": features, "missing": missing}
    facts |= {"scale": scaling, "parameters": parameters, "n_pieces": model.n_pieces_, "reconstruction_error": error}
    return facts, [
        f"model        {path}",
        f"samples      {n} of {n_features} features",
        f"features     {', '.join(features)}{', ...' if len(features) < n_features else ''}",
        f"prepared     --missing {missing} --scale {scaling}",
        "parameters   " + ", ".join(f"{name} {value}" for name, value in parameters.items()),
        f"pieces       {model.n_pieces_}",
        f"error        {error:.3g}, the mean of samples rebuilt by their neighbors",
    ]


def _machine() -> tuple[dict[str, Any], list[str]]:
    # Libraries that bring threads of their own are known once NumPy and SciPy are there.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    from hne._runtime.memory import available_bytes
    from hne._runtime.threads import thread_count
    from hne.core.eigen.slepc import find_launch

    extras: dict[str, str | None] = dict.fromkeys(EXTRAS)
    for name in EXTRAS:
        with suppress(PackageNotFoundError):
            extras[name] = version(name)
    iteration = "multigrid or filter" if extras["pyamg"] else "filter"
    solvers = ["dense (LAPACK)", "direct (Cholesky)", f"iterative ({iteration})"]
    with suppress(MissingExtraError):
        launch = find_launch()
        solvers.append(f"slepc ({launch.launcher[0]}, {launch.python})")
    pools = {f"{pool['internal_api']} {pool.get('version') or ''}".strip() for pool in threadpool_info()}
    facts: dict[str, Any] = {"hne": __version__, "python": platform.python_version(), "executable": sys.executable}
    facts |= {"platform": f"{platform.system()} {platform.machine()}", "threads": thread_count(-1)}
    facts |= {"cores": os.cpu_count(), "thread_pools": sorted(pools), "available_bytes": available_bytes()}
    facts |= {"libraries": {name: version(name) for name in LIBRARIES}, "solvers": solvers, "extras": extras}
    lines = [
        f"hne {__version__}, Python {facts['python']}, {facts['platform']}",
        f"threads      {facts['threads']} cores; {', '.join(facts['thread_pools'])}",
        f"memory       {facts['available_bytes'] / 1e9:.1f} GB free",
        "libraries    " + ", ".join(f"{name} {number}" for name, number in facts["libraries"].items()),
        f"solvers      {', '.join(solvers)}",
        "extras",
    ]
    for name, (extra, purpose) in EXTRAS.items():
        state = extras[name] or f"missing, in the extra {extra}"
        lines.append(f"  {name:<12}{state:<36}{purpose}")
    return facts, lines
