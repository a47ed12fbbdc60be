"""Eigenvectors, NeighborGraph -> Chart: coordinates in the lengths of X, from more eigenvectors than coordinates."""
