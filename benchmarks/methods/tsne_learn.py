"""t-SNE of scikit-learn with its defaults, on all cores."""

from hne.core.records import FloatArray

NAME = "scikit-learn t-SNE"
LIBRARY = "sklearn.manifold"


def embed(X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> FloatArray:
    from sklearn.manifold import TSNE

    Y: FloatArray = TSNE(n_components=n_components, n_jobs=-1).fit_transform(X)
    return Y
