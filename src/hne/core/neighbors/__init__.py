"""Samples -> NeighborGraph: for each sample its k nearest others, by distance, then index."""
