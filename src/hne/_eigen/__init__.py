"""Alignment -> EigenPairs: the bottom eigenpairs of G after the constant one, ascending, signs fixed."""

from hne._eigen._launch import Launch, found_launch, rank_count
from hne._eigen._slepc import solve_folder
from hne._eigen._solve import bottom_eigenpairs

__all__ = ["Launch", "bottom_eigenpairs", "found_launch", "rank_count", "solve_folder"]
