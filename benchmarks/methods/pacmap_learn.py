"""PaCMAP with its defaults, which know no k of the problem."""

from hne.core.records import FloatArray

NAME = "PaCMAP"


def embed(X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> FloatArray:
    from pacmap import PaCMAP

    Y: FloatArray = PaCMAP(n_components=n_components).fit_transform(X)
    return Y
