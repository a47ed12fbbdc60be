"""Options that say where an embedding is computed and kept, and files that workers read."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hne.cli.arguments import output_path
from hne.cli.talk import say
from hne.exceptions import InputError

if TYPE_CHECKING:
    from hne.io import PreparedTable

# Files that workers read themselves, as in `hne.scale.sources`, which loads NumPy; a test compares.
WORKERS_READ = (".zarr", ".parquet", ".pq", ".npy")
TABLES = (".parquet", ".pq")
# Options about a table that has to be here to be prepared, and what they are where nobody has used them.
NEED_TABLE: dict[str, Any] = {
    "id": None,
    "color": None,
    "drop": (),
    "array": None,
    "transpose": False,
    "missing": "refuse",
    "scale": "none",
    "image_size": None,
    "image_mode": None,
    "auto": False,
}


def add_scale(parser: argparse.ArgumentParser) -> None:
    """Add where it is computed and kept."""
    scale = parser.add_argument_group("scale", "Runs beyond this process, see docs/scale.md.")
    scale.add_argument(
        "--dask",
        metavar="SCHEDULER",
        help="compute on the workers of this Dask scheduler: its address, or the .json file that it wrote; workers "
        "read .zarr and .npy files, and the --columns of .parquet, without ids and labels",
    )
    scale.add_argument(
        "--checkpoint",
        type=output_path,
        metavar="DIR",
        help="keep every finished block and stage in this folder: the same command goes on from there",
    )
    scale.add_argument(
        "--until-eigenproblem",
        action="store_true",
        help="with --checkpoint and --eigen-solver slepc: stop where MPI takes over on a cluster, see hne eigen",
    )


def executor_of(options: argparse.Namespace) -> Any:
    """The executor that the options ask for, None for this process."""
    if options.dask is None:
        return None
    from hne.scale import DaskExecutor

    return DaskExecutor(options.dask)


def check_scale(options: argparse.Namespace) -> None:
    """Refuse options that mean nothing without others, or beside them."""
    if options.dry_run and options.dask is not None:
        msg = "--dry-run foresees what this process would take, got --dask. Leave one of them out."
        raise InputError(msg)
    if options.until_eigenproblem and (options.checkpoint is None or options.eigen_solver != "slepc"):
        msg = (
            "--until-eigenproblem leaves work in a folder for MPI, got no --checkpoint, or another --eigen-solver. "
            "Add --checkpoint DIR --eigen-solver slepc."
        )
        raise InputError(msg)


def say_exported(folder: Path, is_solved: bool, options: argparse.Namespace) -> None:
    """Say where the eigenproblem is, and what comes next."""
    if is_solved:
        say(f"the eigenproblem in '{folder}' is solved", options)
    else:
        say(f"the eigenproblem is in '{folder}'. Solve it: hne eigen '{folder}' --launcher 'srun -n 64'", options)
    say("then run the same command without --until-eigenproblem", options)


def is_read_by_workers(options: argparse.Namespace) -> bool:
    """Whether the input is read by workers; options that need it here are then refused.

    Which columns of a Parquet file are features, ids and labels is found out by reading it, unless --columns says so.
    """
    suffix = Path(options.input).suffix
    if options.dask is None or suffix not in WORKERS_READ or (suffix in TABLES and not options.columns):
        return False
    unused_here = NEED_TABLE if suffix in TABLES else NEED_TABLE | {"columns": ()}
    for name, unused in unused_here.items():
        if getattr(options, name, unused) != unused:
            flag = "--" + name.replace("_", "-")
            msg = (
                f"{flag} needs the table in this process, got --dask and a {Path(options.input).suffix} file, which "
                "workers read. Prepare the file first, or leave --dask out."
            )
            raise InputError(msg)
    return True


def unread(options: argparse.Namespace) -> "PreparedTable":
    """The input as samples that workers will read."""
    from hne.io import ColumnPreprocessor, PreparedTable, Table
    from hne.scale.sources import lazy_samples

    samples: Any = lazy_samples(options.input, options.columns or None)
    names = tuple(options.columns) or tuple(f"x{number}" for number in range(1, samples.shape[1] + 1))
    source = f"{Path(options.input).suffix[1:]} file read by workers"
    table = Table(X=samples, feature_names=names, source=source)
    return PreparedTable(table, samples, ColumnPreprocessor(names))
