"""`hne info`: what is installed, what is missing and what it would be good for; or what a saved model holds."""

import argparse
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hne import __version__
from hne._runtime.progress import one_line
from hne.cli.talk import PARAMETERS, print_json

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl", "psutil")
# Optional libraries: the extra that brings each, and what for.
EXTRAS = {
    "pypardiso": ("fast", "multithreaded factorizations from some 20 000 samples on"),
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
}
# Names of features that are listed.
LISTED_FEATURES = 100


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "info",
        help="versions, solvers and extras that are present, threads and memory; or what a model or checkpoint holds",
        description="Say which versions, solvers and extras are present, and how many threads and how much memory; or, "
        "of a model that hne embed --save wrote, its samples, columns and parameters; or, of the folder of a "
        "--checkpoint, its stages with their sizes and parameters.",
    )
    parser.add_argument(
        "model", nargs="?", type=Path, metavar="MODEL", help="file of hne embed --save, or folder of --checkpoint"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print what is there."""
    if options.model is not None and options.model.is_dir():
        _tell_of_checkpoint(options)
        return
    if options.model is not None:
        _tell_of_model(options)
        return
    facts = _facts()
    if options.json:
        print_json(facts)
        return
    print(f"hne {__version__}, Python {facts['python']}, {facts['platform']}")
    print(f"threads      {facts['threads']} cores; " + ", ".join(facts["thread_pools"]))
    print(f"memory       {facts['available_bytes'] / 1e9:.1f} GB free")
    print("libraries    " + ", ".join(f"{name} {number}" for name, number in facts["libraries"].items()))
    print("solvers      " + ", ".join(facts["solvers"]))
    print("extras")
    for name, (extra, purpose) in EXTRAS.items():
        number = facts["extras"][name]
        state = number or f"missing, in the extra {extra}"
        print(f"  {name:<11}{state:<32}{purpose}")


def _tell_of_checkpoint(options: argparse.Namespace) -> None:
    """Print the stages of a checkpoint, the oldest first."""
    from hne.scale.folder import stages_in

    stages = stages_in(options.model)
    if options.json:
        print_json({"checkpoint": str(options.model), "stages": stages})
        return
    for stage in stages:
        told = ", ".join(f"{name}={value!r}" for name, value in stage["parameters"].items() if value is not None)
        print(one_line(f"{stage['name']:<32}{stage['bytes'] / 1e6:>10.1f} MB  {stage['made']:<26}{told}"))
    print(f"{sum(stage['bytes'] for stage in stages) / 1e6:.1f} MB in all; any of these folders may be removed")


def _tell_of_model(options: argparse.Namespace) -> None:
    """Print what a model was fitted on, and how: numbers that were chosen, where they were "auto"."""
    from hne.cli.transform import loaded

    model, preparation = loaded(options.model)
    chosen = {"n_neighbors": model.n_neighbors_, "variant": model.variant_, "reg": model.reg_}
    chosen["n_components"] = model.embedding_.shape[1]
    facts = {
        "model": str(options.model),
        "n_samples": len(model.embedding_),
        "n_features": model.n_features_in_,
        "features": list(preparation.feature_names[:LISTED_FEATURES]),
        "missing": "refuse" if preparation.fill is None else "impute",
        "scale": preparation.scaling,
        "parameters": {name: getattr(model, name) for name in PARAMETERS} | chosen,
        "n_pieces": model.n_pieces_,
        "reconstruction_error": model.reconstruction_error_,
    }
    if options.json:
        print_json(facts)
        return
    for line in _model_lines(facts):
        print(one_line(line))


def _model_lines(facts: dict[str, Any]) -> list[str]:
    """A model for people."""
    more = ", ..." if len(facts["features"]) < facts["n_features"] else ""
    parameters = ", ".join(f"{name} {value}" for name, value in facts["parameters"].items())
    return [
        f"model        {facts['model']}",
        f"samples      {facts['n_samples']} of {facts['n_features']} features",
        f"features     {', '.join(facts['features'])}{more}",
        f"prepared     --missing {facts['missing']} --scale {facts['scale']}",
        f"parameters   {parameters}",
        f"pieces       {facts['n_pieces']}",
        f"error        {facts['reconstruction_error']:.3g}, the mean of samples rebuilt by their neighbors",
    ]


def _facts() -> dict[str, Any]:
    """All that is told, for people and machines."""
    from hne._runtime.memory import available_bytes
    from hne._runtime.threads import thread_count

    extras = {name: _version(name) for name in EXTRAS}
    return {
        "hne": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": f"{platform.system()} {platform.machine()}",
        "threads": thread_count(-1),
        "cores": os.cpu_count(),
        "thread_pools": _thread_pools(),
        "available_bytes": available_bytes(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "solvers": [*_solvers(extras), *_by_mpi()],
        "extras": extras,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _thread_pools() -> list[str]:
    """Libraries that bring threads of their own, once NumPy and SciPy are there."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    return sorted({f"{pool['internal_api']} {pool.get('version') or ''}".strip() for pool in threadpool_info()})


def _by_mpi() -> list[str]:
    """The solver on several processes, where it can run."""
    from hne.core.eigen.slepc import find_launch
    from hne.exceptions import MissingExtraError

    try:
        launch = find_launch()
    except MissingExtraError:
        return []
    return [f"slepc ({launch.launcher[0]}, {launch.python})"]


def _solvers(extras: dict[str, str | None]) -> list[str]:
    factorization = "PARDISO and SuperLU" if extras["pypardiso"] else "SuperLU"
    preconditioner = "multigrid or diagonal" if extras["pyamg"] else "diagonal"
    return ["dense (LAPACK)", f"direct ({factorization})", f"iterative ({preconditioner})"]
