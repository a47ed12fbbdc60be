"""X, NeighborGraph -> ShortCircuits: edges that lead across a gap to another sheet, and the graph without them."""

from hne._circuits._cut import cut_short_circuits
from hne._circuits._edges import Edges, edges_of
from hne._circuits._steepness import lengths_of_pairs

__all__ = ["Edges", "cut_short_circuits", "edges_of", "lengths_of_pairs"]
