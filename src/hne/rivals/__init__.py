"""Other methods for the same task, under one call: LLE and its relatives, and what people use beside them."""

from hne.rivals._call import rival_embedding
from hne.rivals._clle import CLLE
from hne.rivals._llc import LLC
from hne.rivals._methods import METHODS, RIVALS, Rival

__all__ = ["CLLE", "LLC", "METHODS", "RIVALS", "Rival", "rival_embedding"]
