"""The experiments of the paper, run again: data, methods, seeds -> claims with what was measured of them."""

from hne_paper.experiments._records import Claim, Options, Picture, Score, Section, Table
from hne_paper.experiments._reproduce import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "Claim", "Options", "Picture", "Score", "Section", "Table", "reproduce"]
