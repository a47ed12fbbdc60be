"""X -> Dimension: how many coordinates an embedding of the samples should have."""

from typing import Any

import numpy as np

from hne._dimension import Dimension, estimated_dimension
from hne._neighbors import is_squared, nearest_by
from hne._samples import Distances, Samples
from hne._yardstick._frames import drawn_rows

# Neighbors whose distances tell, and the fewest that do.
MOST_NEIGHBORS, LEAST_NEIGHBORS = 12, 4


def dimension_of(X: Samples, metric: Any, params: Any, n_threads: int) -> Dimension | None:
    """Dimension of samples that are all different, from their distances by the metric; None where too few are known."""
    n = X.shape[0]
    k = min(MOST_NEIGHBORS, n - 1)
    rows = drawn_rows(n)
    targets = X if len(rows) == n else X[rows]
    _, distances, _ = nearest_by(metric, params, X, targets, k, rows, n_threads)
    distances = distances[np.isfinite(distances).all(axis=1) & (distances[:, 0] > 0)]
    if k < LEAST_NEIGHBORS or len(distances) < LEAST_NEIGHBORS:
        return None
    largest = n - 1 if isinstance(X, Distances) else min(n - 1, X.shape[1])
    return estimated_dimension(np.sqrt(distances) if is_squared(metric) else distances, largest)
