"""What both ways to call tapkee's LLE share.

tapkee uses all cores and has no parameter for it. Where it finds the neighbor graph not connected it doubles the number
of neighbors, and says so on stderr. Told not to, its eigensolver takes minutes for the roll of 20 000 samples, so its
own choice stands.
"""

import numpy as np

from hne.core.records import FloatArray


def embed_with(neighbors_method: str, X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> FloatArray:
    """Coordinates by LLE with the neighbor search named."""
    import tapkee

    Y: FloatArray = tapkee.embed(
        np.asfortranarray(X.T),
        method="lle",
        neighbors_method=neighbors_method,
        eigen_method="arpack",
        num_neighbors=n_neighbors,
        target_dimension=n_components,
        klle_shift=reg,
    )
    return Y
