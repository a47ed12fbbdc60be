"""PHATE with its defaults, on all cores."""

from hne.core.records import FloatArray

NAME = "PHATE"


def embed(X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> FloatArray:
    from phate import PHATE

    Y: FloatArray = PHATE(n_components=n_components, n_jobs=-1, verbose=0).fit_transform(X)
    return Y
