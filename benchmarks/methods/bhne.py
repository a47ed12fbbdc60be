"""hne, the balanced variant."""

from functools import partial

from methods._hne import embed_variant

NAME = "BHNE"
embed = partial(embed_variant, "bhne")
