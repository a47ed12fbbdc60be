"""Embedding -> one HTML file to look at, and to judge it by."""

from hne.report._details import Details

__all__ = ["Details"]
