"""`hne info`: what is installed, what is missing and what it would be good for."""

import argparse
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hne import __version__
from hne.cli._talk import print_json

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl", "psutil")
# Optional libraries: the extra that brings each, and what for.
EXTRAS = {
    "pypardiso": ("fast", "multithreaded factorizations from some 20 000 samples on"),
    "pyamg": ("fast", "iterative solver on samples of few dimensions"),
    "faiss-cpu": ("approx", "approximate neighbors of many features"),
    "matplotlib": ("plot", "--plot, hne.plots, hne demo, hne compare --plot"),
    "pyarrow": ("io", "Parquet and Arrow files"),
    "h5py": ("io", "HDF5, .h5ad and MAT 7.3 files"),
    "pillow": ("io", "folders of images, thumbnails in reports"),
}


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "info",
        help="versions, solvers and extras that are present, threads and memory",
        description="Say which versions, solvers and extras are present, and how many threads and how much memory.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print what is there."""
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


def _facts() -> dict[str, Any]:
    """All that is told, for people and machines."""
    from hne._memory import available_bytes
    from hne._threads import thread_count

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
        "solvers": _solvers(extras),
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


def _solvers(extras: dict[str, str | None]) -> list[str]:
    factorization = "PARDISO and SuperLU" if extras["pypardiso"] else "SuperLU"
    preconditioner = "multigrid or diagonal" if extras["pyamg"] else "diagonal"
    return ["dense (LAPACK)", f"direct ({factorization})", f"iterative ({preconditioner})"]
