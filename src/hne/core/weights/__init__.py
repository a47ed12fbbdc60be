"""NeighborGraph -> Weights: W (inner) and J (joint), every row of either summing to one, or empty without neighbors."""
