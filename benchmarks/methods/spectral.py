"""Laplacian eigenmaps of scikit-learn."""

from hne.core.records import FloatArray

NAME = "scikit-learn SpectralEmbedding"


def embed(X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> FloatArray:
    from sklearn.manifold import SpectralEmbedding

    model = SpectralEmbedding(
        n_components=n_components, affinity="nearest_neighbors", n_neighbors=n_neighbors, n_jobs=-1, random_state=0
    )
    Y: FloatArray = model.fit_transform(X)
    return Y
