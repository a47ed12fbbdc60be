"""Eigenvectors, NeighborGraph -> Chart: coordinates in the lengths of X, from more eigenvectors than coordinates."""

from hne._chart._chart import Piece, chart_of

__all__ = ["Piece", "chart_of"]
