"""Alignment -> EigenPairs: the bottom eigenpairs of G after the constant one, ascending, signs fixed."""

from hne._eigen._solve import bottom_eigenpairs

__all__ = ["bottom_eigenpairs"]
