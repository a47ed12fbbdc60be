"""NeighborGraph -> ShortCircuits: edges that lead across a gap to another sheet, and the graph without them."""
