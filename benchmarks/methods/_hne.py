"""What the three variants of hne share."""

from typing import Any

from hne.core.records import Embedding, FloatArray

# From here on every stage of a Swiss roll with k = 8 runs compiled code: PARDISO above 18 000 samples, assembly 46 000.
ALL_COMPILED = 50_000


def embed_variant(
    variant: str, X: FloatArray, n_neighbors: int, n_components: int, reg: float, **settings: Any
) -> Embedding:
    """The record of hne's walk, as published but for what is given."""
    from hne import PUBLISHED, embed

    given = {"n_neighbors": n_neighbors, "n_components": n_components, "reg": reg, "variant": variant}
    return embed(X, **{**PUBLISHED, **given, **settings})


def warm_up_variant(variant: str, n_samples: int) -> None:
    """Load, and compile where no cache has it, what a fit of so many samples calls."""
    from hne.datasets import make_swiss_roll

    embed_variant(variant, make_swiss_roll(min(n_samples, ALL_COMPILED)).X, n_neighbors=8, n_components=2, reg=1e-5)
