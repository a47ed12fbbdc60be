"""Choosing n_neighbors, reg and variant for samples whose truth nobody knows."""

from hne.tuning.auto import GRID, tune
from hne.tuning.trials import Trial, Tuning

__all__ = ["GRID", "Trial", "Tuning", "tune"]
