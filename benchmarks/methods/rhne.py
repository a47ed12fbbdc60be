"""hne, the variant that puts reconstruction first."""

from functools import partial

from methods._hne import embed_variant, warm_up_variant

NAME = "RHNE"
embed = partial(embed_variant, "rhne")
warm_up = partial(warm_up_variant, "rhne")
