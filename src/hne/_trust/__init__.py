"""An embedding and what it was made of -> Trust: how far it can be believed, in numbers and in a sentence."""

from hne._trust._limits import SCORE_BAD, SCORE_DOUBTFUL
from hne._trust._record import Finding, Trust
from hne._trust._trust import judgment, trust_in, trust_of

__all__ = ["SCORE_BAD", "SCORE_DOUBTFUL", "Finding", "Trust", "judgment", "trust_in", "trust_of"]
