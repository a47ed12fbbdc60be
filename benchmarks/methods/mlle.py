"""Modified LLE of scikit-learn, whose ridge is fixed at 1e-3."""

from functools import partial

from methods._locally_linear import embed_by

NAME = "scikit-learn MLLE"
embed = partial(embed_by, "modified")
