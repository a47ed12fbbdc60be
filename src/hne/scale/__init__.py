"""Runs beyond one process: Dask workers, checkpoints, and the eigenproblem over MPI.

Names are imported when they are first used: the MPI program beside them runs where hne's own dependencies are not.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hne.scale.executors import DaskExecutor

__all__ = ["DaskExecutor"]


def __getattr__(name: str) -> Any:
    if name == "DaskExecutor":
        from hne.scale.executors import DaskExecutor  # noqa: PLC0415

        return DaskExecutor
    msg = f"module 'hne.scale' has no attribute {name!r}"
    raise AttributeError(msg)
