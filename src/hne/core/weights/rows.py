"""Weights of some rows, wherever the samples lie: what they need of the others is fetched first, and nothing else."""

import numpy as np

from hne._runtime.threads import limit_blas_threads, load_unbroken
from hne.core.records import FloatArray, IndexArray, Settings, index_kind
from hne.core.samples.kinds import Samples
from hne.core.weights.layers import KERNELS, block_rows, block_weights, check_finite

# How many times as wide as there are samples a window may be in which they are marked rather than sorted.
MAX_WINDOW = 8
# Inner weights (b, k), and joint weights: values, columns, number a row.
RowWeights = tuple[FloatArray, FloatArray, IndexArray, IndexArray]


def row_weights(
    X: Samples, lists: IndexArray, start: int, stop: int, settings: Settings, kernel: str
) -> tuple[RowWeights, IndexArray, IndexArray]:
    """Weights of the samples from `start` to `stop`, to the bit those of `layer_weights`.

    Besides, the samples that they reach, and the columns of joint weights numbered among those.

    Of X and of the neighbor lists, rows within two hops are read, which may lie on disk.
    """
    n, own, targets = len(lists), np.asarray(lists[start:stop]), np.arange(start, stop)
    reached, near_lists = _within_two_hops(lists, own, start, stop)
    if isinstance(X, np.ndarray):
        # Numbered in the order of all samples: lists stay sorted as they were, and sums run in the same order.
        X, lists = np.asarray(X[reached]), near_lists
        own, targets = _numbered(own, reached), _numbered(targets, reached)
    everyone = reached if isinstance(X, np.ndarray) else np.arange(X.shape[0])
    left_out = np.full_like(targets, -1) if settings.include_self else targets
    module, step = load_unbroken(KERNELS[kernel]), block_rows(lists.shape[1])
    parts = []
    with limit_blas_threads(1):
        for first in range(0, len(own), step):
            rows = slice(first, first + step)
            found = block_weights(module, X, X[targets[rows]], own[rows], lists, left_out[rows], [settings])
            parts.append(found[0])
    inner, values, columns, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    check_finite(inner, values, settings.reg)
    return (inner, values, everyone[columns].astype(index_kind(n)), counts), reached, columns


def _within_two_hops(lists: IndexArray, own: IndexArray, start: int, stop: int) -> tuple[IndexArray, IndexArray]:
    """Samples that the rows reach in two hops, themselves included, ascending, and the lists of the nearer ones."""
    neighbors = _each_once(own[own >= 0])
    theirs = np.asarray(lists[neighbors])
    reached = _each_once(np.concatenate([np.arange(start, stop), neighbors, theirs[theirs >= 0]]))
    near_lists = np.full((len(reached), lists.shape[1]), -1, dtype=np.intp)
    near_lists[_numbered(neighbors, reached)] = _numbered(theirs, reached)
    return reached, near_lists


def _numbered(samples: IndexArray, reached: IndexArray) -> IndexArray:
    """The samples by their places among those reached; -1 stays."""
    first, window = int(reached[0]), int(reached[-1] - reached[0]) + 1
    if window > MAX_WINDOW * samples.size:
        return np.where(samples >= 0, np.searchsorted(reached, samples), -1)
    places = np.full(window + 1, -1, dtype=np.intp)
    places[reached - first] = np.arange(len(reached))
    # The last place is for those who are absent.
    return places[np.where(samples >= 0, samples - first, window)]


def _each_once(samples: IndexArray) -> IndexArray:
    """Ascending and without repeats: what np.unique gives, which hashes millions in four times the time of a sort."""
    if not samples.size:
        return samples
    first = int(samples.min())
    window = int(samples.max()) - first + 1
    if window > MAX_WINDOW * samples.size:
        ascending = np.sort(samples)
        return ascending[np.diff(ascending, prepend=-1) > 0]
    # Samples of a block lie close together, being in the order of their first coordinate: no sort is needed.
    is_there = np.zeros(window, dtype=bool)
    is_there[samples - first] = True
    return np.flatnonzero(is_there) + first
