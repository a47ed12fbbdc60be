"""Alignment, X -> EigenPairs on landmarks: close to the bottom eigenpairs of G where nothing can factor it."""
