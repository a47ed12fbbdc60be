"""Bottom eigenvectors of G by LAPACK, for matrices small enough to be written out."""

import numpy as np
from scipy.linalg import eigh

from hne._types import Alignment, FloatArray


def dense_eigenvectors(alignment: Alignment, count: int) -> FloatArray:
    """Orthonormal basis of the `count` bottom eigenvectors of G and the next, the constant one left out."""
    last = min(count, alignment.n_samples - 2)
    G = alignment.matrix().toarray()
    # Lift the constant vector from eigenvalue 0 to the top: then it cannot mix with the wanted ones.
    top = np.abs(G).sum(axis=0).max()
    if not np.isfinite(top):
        msg = "G is not finite"
        raise RuntimeError(msg)
    lifted = G + top / alignment.n_samples
    _, vectors = eigh(lifted, subset_by_index=[0, last], overwrite_a=True, check_finite=False)
    basis: FloatArray = vectors
    return basis
