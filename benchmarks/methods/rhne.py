"""hne, the variant that puts reconstruction first."""

from functools import partial

from methods._hne import embed_variant

NAME = "RHNE"
embed = partial(embed_variant, "rhne")
