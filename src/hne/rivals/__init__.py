"""Other methods for the same task, under one call: scikit-learn's LLE, MLLE, HLLE and LTSA; CLLE and LLC."""

from hne.rivals._call import rival_embedding
from hne.rivals._clle import CLLE
from hne.rivals._llc import LLC
from hne.rivals._methods import METHODS, RIVALS, Rival

__all__ = ["CLLE", "LLC", "METHODS", "RIVALS", "Rival", "rival_embedding"]
