"""hne with its own defaults, whatever a problem says of k and reg."""

from typing import Any

from hne.core.records import Embedding, FloatArray
from methods._hne import ALL_COMPILED

NAME = "HNE()"


def embed(X: FloatArray, n_neighbors: int, n_components: int, reg: float) -> Embedding:
    """The record of hne's walk."""
    from hne import embed

    return embed(X, n_components=n_components)


def warm_up(n_samples: int) -> Any:
    """Load, and compile where no cache has it, what a fit of so many samples calls."""
    from hne.datasets import make_swiss_roll

    embed(make_swiss_roll(min(n_samples, ALL_COMPILED)).X, 8, 2, 1e-5)
