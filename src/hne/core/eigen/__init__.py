"""Alignment -> EigenPairs: the bottom eigenpairs of G after the constant one, ascending, signs fixed."""
