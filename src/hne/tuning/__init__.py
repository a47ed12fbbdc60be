"""Choosing n_neighbors, reg and variant for samples whose truth nobody knows."""

from hne.tuning._grid import GRID
from hne.tuning._record import Trial, Tuning
from hne.tuning._tune import tune

__all__ = ["GRID", "Trial", "Tuning", "tune"]
