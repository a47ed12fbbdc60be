"""Runs beyond one process: engines that the walk's blocks run on, checkpoints, and the eigenproblem over MPI.

Names are imported when they are first used: the MPI program beside them runs where hne's own dependencies are not.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hne.scale.executors import DaskExecutor, LocalExecutor

__all__ = ["DaskExecutor", "LocalExecutor"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("hne.scale.executors"), name)
    msg = f"module 'hne.scale' has no attribute {name!r}"
    raise AttributeError(msg)
