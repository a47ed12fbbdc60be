"""X -> NeighborGraph: for each sample its k nearest others, by distance, then index."""

from hne._neighbors._blocked import Blocks, block_box, block_edges, nearest_in_blocks
from hne._neighbors._blocked_graph import BlockedSearch, blocked_search
from hne._neighbors._exact import nearest
from hne._neighbors._graph import given_graph, knn_graph
from hne._neighbors._metric import estimated_params, is_squared
from hne._neighbors._near import nearest_by

__all__ = [
    "BlockedSearch",
    "Blocks",
    "block_box",
    "block_edges",
    "blocked_search",
    "estimated_params",
    "given_graph",
    "is_squared",
    "knn_graph",
    "nearest",
    "nearest_by",
    "nearest_in_blocks",
]
