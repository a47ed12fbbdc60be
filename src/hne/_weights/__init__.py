"""NeighborGraph -> Weights: W (inner) and J (joint), every row of either summing to one."""

from hne._weights._layers import layer_weights, target_weights

__all__ = ["layer_weights", "target_weights"]
