"""hne, the variant that puts invariance first."""

from functools import partial

from methods._hne import embed_variant

NAME = "IHNE"
embed = partial(embed_variant, "ihne")
