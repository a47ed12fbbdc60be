"""Samples, targets -> nearest samples, wherever the samples are: in memory all at once, on disk block by block."""

from typing import Any

import numpy as np

from hne._runtime.store import is_on_disk, row_blocks
from hne.core.neighbors.blocked import Blocks, block_box, nearest_in_blocks
from hne.core.neighbors.metric import Found
from hne.core.neighbors.metric import nearest_by as nearest_in_memory
from hne.core.records import IndexArray, is_euclidean
from hne.core.samples.kinds import Samples

# Samples on disk that are searched in memory all the same, and blocks of those that are not.
MAX_BYTES, BLOCK_BYTES = 2**28, 2**26


def nearest_by(
    metric: Any,
    params: Any,
    X: Samples,
    targets: Samples,
    n_neighbors: int,
    leave_out: IndexArray | None = None,
    n_threads: int = 1,
) -> Found:
    """Nearest samples of X to each target by a metric, their distances, and the method; see `nearest`.

    Where fewer are known than asked for, a row ends in index -1 and distance inf.
    """
    if not is_on_disk(X) or X.nbytes <= MAX_BYTES:
        return nearest_in_memory(metric, params, X, targets, n_neighbors, leave_out, n_threads)
    ranges = row_blocks(X.shape[0], max(1, BLOCK_BYTES // (8 * X.shape[1])))
    edges = np.array([0, *(stop for _, stop in ranges)])
    boxes = np.stack([block_box(X, metric, block) for block in ranges]) if is_euclidean(metric, params) else None
    return nearest_in_blocks(X, Blocks(edges, boxes), targets, n_neighbors, leave_out, metric, params, n_threads)
