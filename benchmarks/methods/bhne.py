"""hne, the balanced variant."""

from functools import partial

from methods._hne import embed_variant, warm_up_variant

NAME = "BHNE"
embed = partial(embed_variant, "bhne")
warm_up = partial(warm_up_variant, "bhne")
