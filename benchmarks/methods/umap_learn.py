"""UMAP of umap-learn; without a seed, which would keep it to one core."""

from hne.core.records import FloatArray

NAME = "umap-learn UMAP"
LIBRARY = "umap"
ALL_COMPILED = 5_000  # from 4 096 samples on it searches neighbors by compiled code


def embed(X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> FloatArray:
    from umap import UMAP

    Y: FloatArray = UMAP(n_neighbors=n_neighbors, n_components=n_components, n_jobs=-1).fit_transform(X)
    return Y


def warm_up(n_samples: int) -> None:
    """Compile what an embedding of so many samples calls."""
    from hne.datasets import make_swiss_roll

    embed(make_swiss_roll(min(n_samples, ALL_COMPILED)).X, n_neighbors=8, n_components=2, reg=0.0)
