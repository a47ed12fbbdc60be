"""hne with its own defaults, whatever a problem says of k and reg."""

from hne.core.records import Embedding, FloatArray

NAME = "HNE()"
LIBRARY = "hne"


def embed(X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> Embedding:
    """The record of hne's walk."""
    from hne import embed

    return embed(X, n_components=n_components)
