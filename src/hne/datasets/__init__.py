"""Data with a known truth, to try the method on."""

from hne.datasets._synthetic import Dataset, make_swiss_roll

__all__ = ["Dataset", "make_swiss_roll"]
