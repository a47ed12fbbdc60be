"""Hessian LLE of scikit-learn."""

from functools import partial

from methods._locally_linear import embed_by

NAME = "scikit-learn HLLE"
embed = partial(embed_by, "hessian")
