"""Distances to the nearest others -> Dimension: how many coordinates the samples have, by two estimators.

Around a sample of a d-dimensional manifold the number of others within a distance t grows as t^d. One estimator reads
d off all distances but the nearest, the other off the two nearest alone. What misleads them raises one of them first:
noise, and samples spread more evenly than by chance, the one of the small scale; bends that the neighborhoods are too
wide for, the other. Where they disagree, the lower one is the better guess.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hne.core.neighbors.graph import is_squared
from hne.core.records import FloatArray
from hne.core.samples.kinds import Distances, Samples

# The likelihood counts the nearest third of the neighbors without looking where they are. Of 1000 samples of a roll
# with a noise of 0.5 (12 neighbors, five seeds) it then says 2.18 instead of 2.28, and of 1000 spread evenly 2.16
# instead of 2.30.
BLIND_SHARE = 3
# Ratios of the two nearest that are left out, the largest tenth: Facco et al. 2017.
TAIL_SHARE = 10
# Samples at an edge have neighbors on one side only, which lowers both estimates, and in more dimensions more samples
# are at one. Flat cubes of 4 and 5 dimensions (300 to 2000 samples) say 3.5 to 3.7 and 4.3 to 4.5, Gaussians 3.9 to 4.0
# and 4.8 to 5.0: whole numbers are parted at .5 below the first number, and at the second fraction from it on.
CROWDED, CROWDED_PART = 4.0, 0.2
# Standard deviations, d / sqrt(rows) each, by which the two nearest must tell less than the likelihood to be believed.
# With 2.5, right on 30 of 30 helices of 100 and of 150 samples (0 and 10 by the likelihood alone) and on four of four
# sets of rendered faces (none), at the price of two more wrong of 270 Gaussians of 50 to 300 samples.
BEYOND_CHANCE = 2.5


@dataclass(frozen=True)
class Dimension:
    """How many dimensions samples have, and what the two estimators say; agreed, it is right nearly always."""

    dimension: int  # told by the likelihood, or by the two nearest where these tell less and chance cannot be why
    by_likelihood: float  # from the middle and the farther neighbors; inf where these are all equally far
    by_two_nearest: float  # from the ratio of the two nearest; inf where these are always equally far
    is_agreed: bool  # whether both tell the same whole number

    def __str__(self) -> str:
        agreement = "agreed" if self.is_agreed else "not agreed"
        estimates = f"{self.by_likelihood:.2f} by likelihood, {self.by_two_nearest:.2f} by the two nearest"
        return f"{self.dimension} ({estimates}: {agreement})"


def estimated_dimension(distances: FloatArray, largest: int) -> Dimension:
    """Dimension of samples from the distances (a, m) of some of them to their m nearest others.

    Rows ascend and are positive, m is 2 or more; `largest` is what the dimension cannot exceed, such as the number of
    features. Twelve distances of some hundred samples are good.
    """
    by_likelihood, by_two_nearest = likelihood_dimension(distances), two_nearest_dimension(distances)
    wide, narrow = _whole(by_likelihood, largest), _whole(by_two_nearest, largest)
    is_bent = by_two_nearest * (1 + BEYOND_CHANCE / math.sqrt(len(distances))) < by_likelihood
    return Dimension(narrow if is_bent else wide, by_likelihood, by_two_nearest, is_agreed=wide == narrow)


def likelihood_dimension(distances: FloatArray) -> float:
    """The most likely dimension (Levina and Bickel 2004), of the nearest third only that they are nearer than others.

    Of samples T_1 <= .. <= T_m away, those nearer than T_m have (T / T_m)^d evenly spread in [0, 1]. With T_h the first
    that is looked at,

        (m - h) / d = sum_(h <= j < m) log(T_m / T_j) + (h - 1) log(T_m / T_h),

    which for h = 1 is their estimator. Rows are averaged by their 1 / d (MacKay and Ghahramani 2005).
    """
    a, m = distances.shape
    first = max(1, m // BLIND_SHARE)
    growth = np.log(distances[:, -1:] / distances[:, first - 1 : -1])
    total = float((growth.sum(axis=1) + (first - 1) * growth[:, 0]).sum())
    return a * (m - first) / total if total > 0 else math.inf


def two_nearest_dimension(distances: FloatArray) -> float:
    """Slope through the origin of -log(1 - F) over log(T_2 / T_1), F the share of rows with a ratio up to this one.

    Of the ratio's distribution F = 1 - (T_2 / T_1)^-d (Facco, d'Errico, Rodriguez and Laio 2017).
    """
    growth = np.sort(np.log(distances[:, 1] / distances[:, 0]))
    n_kept = len(growth) - math.ceil(len(growth) / TAIL_SHARE)
    growth = growth[:n_kept]
    depth = -np.log1p(-np.arange(1, n_kept + 1) / len(distances))
    square = float((growth**2).sum())
    return float((growth * depth).sum()) / square if square > 0 else math.inf


def _whole(estimate: float, largest: int) -> int:
    """The whole number that an estimate tells, from 1 to the largest there can be."""
    part = 0.5 if estimate < CROWDED else CROWDED_PART
    return max(1, math.ceil(min(estimate, largest) - part))


# Neighbors whose distances tell, and the fewest that do.
MOST_NEIGHBORS, LEAST_NEIGHBORS = 12, 4


def dimension_of(X: Samples, distances: FloatArray, metric: Any) -> Dimension | None:
    """Dimension of samples that are all different, from distances (a, m) by the metric to the nearest others of some.

    None where too few are known.
    """
    n = X.shape[0]
    distances = distances[:, :MOST_NEIGHBORS]
    distances = distances[np.isfinite(distances).all(axis=1) & (distances[:, 0] > 0)]
    if n <= LEAST_NEIGHBORS or len(distances) < LEAST_NEIGHBORS:
        return None
    largest = n - 1 if isinstance(X, Distances) else min(n - 1, X.shape[1])
    return estimated_dimension(np.sqrt(distances) if is_squared(metric) else distances, largest)
