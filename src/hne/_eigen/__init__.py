"""Alignment -> EigenPairs: the bottom eigenpairs of G after the constant one, ascending, signs fixed."""

from hne._eigen._direct import shift_inverted
from hne._eigen._launch import Launch, found_launch, rank_count
from hne._eigen._slepc import is_worth_ranks, solve_folder
from hne._eigen._smoother import chebyshev
from hne._eigen._solve import bottom_eigenpairs, certified, eigenpairs_in
from hne._eigen._subspace import RitzSpace, centered, sine_between

__all__ = [
    "Launch",
    "RitzSpace",
    "bottom_eigenpairs",
    "centered",
    "certified",
    "chebyshev",
    "eigenpairs_in",
    "found_launch",
    "is_worth_ranks",
    "rank_count",
    "shift_inverted",
    "sine_between",
    "solve_folder",
]
