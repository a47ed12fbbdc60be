"""Choosing n_neighbors, reg and variant for samples whose truth nobody knows."""

from hne.tuning.auto import tune
from hne.tuning.grid import GRID
from hne.tuning.record import Trial, Tuning

__all__ = ["GRID", "Trial", "Tuning", "tune"]
