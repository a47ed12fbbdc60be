"""Choosing n_neighbors, reg and variant for samples whose truth nobody knows."""

from hne.tuning.grid import GRID
from hne.tuning.record import Trial, Tuning
from hne.tuning.tune import tune

__all__ = ["GRID", "Trial", "Tuning", "tune"]
