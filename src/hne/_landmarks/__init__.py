"""Alignment, X -> EigenPairs on landmarks: close to the bottom eigenpairs of G where nothing can factor it."""

from hne._landmarks._solve import landmark_eigenpairs

__all__ = ["landmark_eigenpairs"]
