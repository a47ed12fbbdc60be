"""Data with a known truth, to try the method on."""

from hne.datasets.record import Dataset
from hne.datasets.rolls import make_swiss_hole, make_swiss_roll, make_two_surfaces
from hne.datasets.shapes import (
    make_clusters,
    make_cube,
    make_helix,
    make_punctured_sphere,
    make_s_curve,
    make_severed_sphere,
    make_trefoil,
    make_twin_peaks,
)

__all__ = [
    "Dataset",
    "make_clusters",
    "make_cube",
    "make_helix",
    "make_punctured_sphere",
    "make_s_curve",
    "make_severed_sphere",
    "make_swiss_hole",
    "make_swiss_roll",
    "make_trefoil",
    "make_twin_peaks",
    "make_two_surfaces",
]
