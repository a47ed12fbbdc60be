"""X -> landmarks: some of the samples, evenly spread where they are, more where samples are more.

Drawn at random, then moved by a few rounds of Lloyd's: each to the sample nearest to the center of those that are
nearest to it. On a Swiss roll of 100 000 samples that makes the plane on 1 000 random landmarks ten times as true, and
it costs a search among some samples a landmark, not among all.
"""

import numpy as np
from scipy.sparse import csr_array

from hne._neighbors import nearest
from hne._random import random_generator
from hne._types import FloatArray, IndexArray

# Samples a landmark among which landmarks are moved, and how often.
SAMPLES_A_LANDMARK, ROUNDS = 20, 3


def choose_landmarks(X: FloatArray, count: int, random_state: object, n_threads: int = 1) -> IndexArray:
    """Numbers of `count` evenly spread samples, ascending; the samples are all different."""
    random = random_generator(random_state)
    some = np.sort(random.permutation(len(X))[: SAMPLES_A_LANDMARK * count])
    among = X[some]
    chosen = np.sort(random.permutation(len(some))[:count])
    for _ in range(ROUNDS):
        near = nearest(among[chosen], among, 1, None, n_threads)[0][:, 0]
        chosen = _most_central(among, near, count)
    return some[chosen]


def _most_central(X: FloatArray, near: IndexArray, count: int) -> IndexArray:
    """Of the samples of each landmark, `near` of theirs, the one nearest to their center; ascending."""
    # Every landmark has a sample: itself, for no other is as near.
    cells = csr_array((np.ones(len(near)), (near, np.arange(len(near)))), shape=(count, len(near)))
    centers = (cells @ X) / np.bincount(near, minlength=count)[:, None]
    away = np.empty(len(X))
    step = max(1, 2**22 // X.shape[1])
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        away[rows] = ((X[rows] - centers[near[rows]]) ** 2).sum(axis=1)
    order = np.lexsort((away, near))
    is_first = np.diff(near[order], prepend=-1) > 0
    return np.sort(order[is_first])
