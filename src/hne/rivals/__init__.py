"""Other methods for the same task, under one call: scikit-learn's LLE, MLLE, HLLE and LTSA, and CLLE."""

from hne.rivals._call import rival_embedding
from hne.rivals._clle import CLLE
from hne.rivals._methods import METHODS, RIVALS, Rival

__all__ = ["CLLE", "METHODS", "RIVALS", "Rival", "rival_embedding"]
