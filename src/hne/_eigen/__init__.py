"""Alignment -> EigenPairs: the bottom eigenpairs of G after the constant one, ascending, signs fixed."""

from hne._eigen._direct import shift_inverted
from hne._eigen._smoother import chebyshev
from hne._eigen._solve import bottom_eigenpairs, eigenpairs_in
from hne._eigen._subspace import RitzSpace, centered, sine_between

__all__ = ["RitzSpace", "bottom_eigenpairs", "centered", "chebyshev", "eigenpairs_in", "shift_inverted", "sine_between"]
