"""NeighborGraph -> Weights: W (inner) and J (joint), every row of either summing to one, or empty without neighbors."""

from hne._weights._layers import (
    choose_kernel,
    inner_matrix,
    layer_weights,
    layer_weights_of_all,
    target_weights,
    weights_from,
)
from hne._weights._rows import row_weights

__all__ = [
    "choose_kernel",
    "inner_matrix",
    "layer_weights",
    "layer_weights_of_all",
    "row_weights",
    "target_weights",
    "weights_from",
]
