"""LLE of tapkee with its default neighbor search, a cover tree."""

from functools import partial

from methods._tapkee import embed_with

NAME = "tapkee LLE, cover tree"
embed = partial(embed_with, "covertree")
