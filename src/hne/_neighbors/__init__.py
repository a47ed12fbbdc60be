"""X -> NeighborGraph: for each sample its k nearest others, by distance, then index."""

from hne._neighbors._exact import nearest
from hne._neighbors._graph import knn_graph

__all__ = ["knn_graph", "nearest"]
