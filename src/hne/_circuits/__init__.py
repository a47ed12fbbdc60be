"""X, NeighborGraph -> ShortCircuits: edges that lead across a gap to another sheet, and the graph without them."""

from hne._circuits._cut import cut_short_circuits

__all__ = ["cut_short_circuits"]
