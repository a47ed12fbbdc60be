"""Runs beyond one process: engines that the walk's blocks run on, checkpoints, and the eigenproblem over MPI."""

from hne.scale._engines import DaskEngine, LocalEngine

__all__ = ["DaskEngine", "LocalEngine"]
