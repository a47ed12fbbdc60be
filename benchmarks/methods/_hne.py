"""What the three variants of hne share."""

from typing import Any

from hne.core.records import Embedding, FloatArray


def embed_variant(
    variant: str, X: FloatArray, n_neighbors: int, n_components: int, reg: float, **settings: Any
) -> Embedding:
    """The record of hne's walk, as published but for what is given."""
    from hne import PUBLISHED, embed

    given = {"n_neighbors": n_neighbors, "n_components": n_components, "reg": reg, "variant": variant}
    return embed(X, **{**PUBLISHED, **given, **settings})
