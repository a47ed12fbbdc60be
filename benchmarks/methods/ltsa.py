"""Local tangent space alignment of scikit-learn."""

from functools import partial

from methods._locally_linear import embed_by

NAME = "scikit-learn LTSA"
embed = partial(embed_by, "ltsa")
