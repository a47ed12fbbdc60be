"""Y -> how much of it has collapsed to points and lines, and what of its coordinates repeats the others."""

import math

import numpy as np
from scipy.spatial import cKDTree

from hne._trust._limits import (
    COLLAPSED_SIDE,
    MOST_BINS,
    SAMPLES_A_BIN,
    TELLING_NEIGHBORS,
    TELLING_ROWS,
)
from hne._types import FloatArray, IndexArray


def collapsed_share(members: IndexArray, Y: FloatArray) -> float:
    """Share of neighborhoods (a, m) with one side far shorter than m of n evenly spread samples would have.

    Sides are measured where all coordinates have the same spread: in that of n samples, the side is (m / n)^(1/d).
    """
    (n, d), m = Y.shape, members.shape[1]
    spread = Y.std(axis=0)
    local = (Y / np.where(spread > 0, spread, 1.0))[members]
    sides = np.linalg.svd(local - local.mean(axis=1, keepdims=True), compute_uv=False)[:, -1] / math.sqrt(m)
    return float(np.mean(sides < COLLAPSED_SIDE * (m / n) ** (1 / d)))


def filled_share(Y: FloatArray) -> float:
    """How evenly the samples fill the range of the coordinate that they fill least: 1 where all bins hold as many.

    exp(entropy) of a histogram over its number of bins; a normal distribution fills .6.
    """
    bins = int(np.clip(len(Y) // SAMPLES_A_BIN, 2, MOST_BINS))
    shares = []
    for coordinate in Y.T:
        lowest, widest = coordinate.min(), np.ptp(coordinate)
        # Not np.histogram: a range of 1e-300 is one for it, too.
        at = np.minimum(((coordinate - lowest) / (widest if widest > 0 else 1.0) * bins).astype(np.intp), bins - 1)
        held = np.bincount(at, minlength=bins) / len(Y)
        held = held[held > 0]
        shares.append(float(np.exp(-(held * np.log(held)).sum())) / bins)
    return min(shares)


def repeated_share(Y: FloatArray) -> float:
    """Largest share of a coordinate's variance that the others tell, each sample told by those around it, not itself.

    0 for a single coordinate, NaN where there are too few samples.
    """
    n, d = Y.shape
    if d == 1:
        return 0.0
    if n < 3 * TELLING_NEIGHBORS:
        return float("nan")
    if n > TELLING_ROWS:
        Y = Y[np.sort(np.random.RandomState(0).choice(n, TELLING_ROWS, replace=False))]
    spread = Y.std(axis=0)
    Y = (Y - Y.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    shares = [_told(np.delete(Y, column, axis=1), Y[:, column]) for column in range(d)]
    return max(0.0, *shares)


def _told(others: FloatArray, coordinate: FloatArray) -> float:
    near = cKDTree(others).query(others, k=TELLING_NEIGHBORS + 1)[1]
    is_other = near != np.arange(len(others))[:, None]
    # Of places that coincide, a sample may be missing from its own list.
    is_other[is_other.all(axis=1), -1] = False
    told = coordinate[near[is_other].reshape(len(others), -1)].mean(axis=1)
    return 1.0 - float(((coordinate - told) ** 2).mean())
