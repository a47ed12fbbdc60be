"""Other methods for the same task, under one call: LLE, MLLE, HLLE, LTSA of scikit-learn."""

from hne.rivals._call import rival_embedding
from hne.rivals._methods import METHODS, RIVALS, Rival

__all__ = ["METHODS", "RIVALS", "Rival", "rival_embedding"]
