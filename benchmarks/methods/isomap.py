"""Isomap of scikit-learn."""

from hne.core.records import FloatArray

NAME = "scikit-learn Isomap"


def embed(X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> FloatArray:
    from sklearn.manifold import Isomap

    Y: FloatArray = Isomap(n_neighbors=n_neighbors, n_components=n_components, n_jobs=-1).fit_transform(X)
    return Y
