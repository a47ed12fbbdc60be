"""Other methods for the same task, under one call: LLE and its relatives, and what people use beside them."""

from hne.baselines.call import baseline_embedding
from hne.baselines.methods import BASELINES, METHODS, Baseline

__all__ = ["BASELINES", "METHODS", "Baseline", "baseline_embedding"]
