"""Frames, Y -> how unevenly an embedding stretches neighborhoods, how much has collapsed, what coordinates repeat."""

import numpy as np
from scipy.spatial import cKDTree

from hne._trust._limits import (
    COLLAPSED_SIDE,
    LEAST_STRETCH,
    MOST_BINS,
    SAMPLES_A_BIN,
    TELLING_NEIGHBORS,
    TELLING_ROWS,
)
from hne._types import FloatArray
from hne._yardstick import Frames


def stretch_spread(frames: Frames, Y: FloatArray) -> float:
    """Standard deviation of the logarithms of local stretches: 0 where all lengths grow alike, NaN without frames.

    The stretches of a neighborhood are the singular values of T_i^+ Y_i.
    """
    spans = frames.S[:, -1] > 0
    local, U, S = _centered(Y, frames)[spans], frames.U[spans], frames.S[spans]
    if not len(local):
        return float("nan")
    stretches = np.linalg.svd(U.transpose(0, 2, 1) @ local / S[:, :, None], compute_uv=False)
    return float(np.log(np.maximum(stretches, LEAST_STRETCH)).std())


def collapsed_share(frames: Frames, Y: FloatArray) -> float:
    """Share of neighborhoods whose narrowest side has all but vanished beside what it is in X; NaN without frames."""
    spans = frames.S[:, -1] > 0
    if not spans.any():
        return float("nan")
    sides = np.linalg.svd(_centered(Y, frames)[spans], compute_uv=False)[:, -1]
    return float(np.mean(sides < COLLAPSED_SIDE * frames.S[spans, -1]))


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


def _centered(Y: FloatArray, frames: Frames) -> FloatArray:
    local = Y[frames.members]
    centered: FloatArray = local - local.mean(axis=1, keepdims=True)
    return centered
