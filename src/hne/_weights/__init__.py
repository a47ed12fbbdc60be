"""NeighborGraph -> Weights: W (inner) and J (joint), every row of either summing to one, or empty without neighbors."""

from hne._weights._layers import layer_weights, layer_weights_of_all, target_weights

__all__ = ["layer_weights", "layer_weights_of_all", "target_weights"]
