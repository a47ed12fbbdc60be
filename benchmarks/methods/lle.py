"""Standard LLE of scikit-learn."""

from functools import partial

from methods._locally_linear import embed_by

NAME = "scikit-learn LLE"
embed = partial(embed_by, "standard")
