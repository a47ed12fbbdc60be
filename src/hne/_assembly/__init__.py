"""Alignment -> the upper triangle of G = gamma A'A + B'B, which is what a factorization takes."""

from hne._assembly._triangle import upper_triangle

__all__ = ["upper_triangle"]
