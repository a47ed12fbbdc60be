"""t-SNE of openTSNE with its defaults, on all cores."""

from hne.core.records import FloatArray

NAME = "openTSNE"
LIBRARY = "openTSNE"


def embed(X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> FloatArray:
    import numpy as np
    from openTSNE import TSNE

    return np.asarray(TSNE(n_components=n_components, n_jobs=-1).fit(X))
