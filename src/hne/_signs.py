"""Vectors that are known up to their sign -> the same with one sign, whatever rounding did to them."""

import numpy as np

from hne._types import FloatArray

# Entries this near to the largest are as large: of two pieces, both are as far from their mean.
NEAR_TIE = 1e-6


def fix_signs(vectors: FloatArray) -> FloatArray:
    """Give each column the sign that makes its largest entry positive; near-ties go to the first of them."""
    magnitude = np.abs(vectors)
    leader = np.argmax(magnitude >= (1 - NEAR_TIE) * magnitude.max(axis=0), axis=0)
    signs = np.sign(vectors[leader, np.arange(vectors.shape[1])])
    fixed: FloatArray = vectors * signs
    return fixed
