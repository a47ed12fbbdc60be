"""NeighborGraph -> Pieces: which samples hang together, and by what."""
