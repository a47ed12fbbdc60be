"""Principal components, the floor of every method that claims to see more than a flat cloud."""

from hne.core.records import FloatArray

NAME = "PCA"


def embed(X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> FloatArray:
    from sklearn.decomposition import PCA

    Y: FloatArray = PCA(n_components=n_components).fit_transform(X)
    return Y
