"""LLE of tapkee with the vantage-point tree, its fastest neighbor search on surfaces."""

from functools import partial

from methods._tapkee import embed_with

NAME = "tapkee LLE, vp-tree"
embed = partial(embed_with, "vptree")
