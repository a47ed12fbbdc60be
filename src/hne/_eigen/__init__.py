"""Alignment -> EigenPairs: the bottom eigenpairs of G after the constant one, ascending, signs fixed."""

from hne._eigen._launch import Launch, found_launch, rank_count
from hne._eigen._slepc import is_worth_ranks, solve_folder
from hne._eigen._solve import bottom_eigenpairs, certified

__all__ = [
    "Launch",
    "bottom_eigenpairs",
    "certified",
    "found_launch",
    "is_worth_ranks",
    "rank_count",
    "solve_folder",
]
