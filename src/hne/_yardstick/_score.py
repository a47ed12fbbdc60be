"""Yardstick, Y -> TangentScore: how far an embedding can be believed, told without knowing the truth."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hne._samples import Samples
from hne._threads import library_threads
from hne._types import BoolArray, FloatArray
from hne._yardstick._frames import Frames, frames_of
from hne._yardstick._ranks import Ranks, ranks_of

# What lost ranks and uneven stretching weigh beside lost tangents. With 1 or 3 for ranks the choice of settings fails
# badly. From 0.1 to 0.4 for the unevenness, the mean regret of the choice hardly changes; without it, it is half again
# as large.
RANK_WEIGHT, UNEVEN_WEIGHT = 0.3, 0.2


@dataclass(frozen=True, eq=False)
class TangentScore:
    """How much of X an embedding loses, seen from small neighborhoods: lower is better, 0 loses nothing."""

    tangent_loss: float  # mean share of a tangent plane that the embedding does not keep, whatever its local maps
    trustworthiness: float  # of the corrected embedding: few strangers among neighbors
    continuity: float  # of the corrected embedding: few neighbors lost
    unevenness: float  # 0 to 1: how much the corrected embedding stretches some places more than others; NaN: see below
    correction: FloatArray  # A (d, d): Y A has the lengths of X

    @property
    def rank_loss(self) -> float:
        """What trustworthiness and continuity lack, together."""
        return (1 - self.trustworthiness) + (1 - self.continuity)

    @property
    def score(self) -> float:
        """Tangent loss plus 0.3 rank loss plus 0.2 unevenness.

        The unevenness is NaN, and does not count, where tangent planes hold too little of the samples for lengths in
        them to mean something: images, and other samples that are near no surface of this dimension.
        """
        uneven = 0.0 if np.isnan(self.unevenness) else self.unevenness
        return self.tangent_loss + RANK_WEIGHT * self.rank_loss + UNEVEN_WEIGHT * uneven

    def __str__(self) -> str:
        kept = f"trustworthiness {self.trustworthiness:.4f}, continuity {self.continuity:.4f}"
        return f"score {self.score:.4f}: tangent loss {self.tangent_loss:.4f}, {kept}, unevenness {self.unevenness:.4f}"


@dataclass(frozen=True)
class Yardstick:
    """Frames and ranks of the samples, which any number of their embeddings are measured by."""

    frames: Frames
    ranks: Ranks

    def among(self, chosen: BoolArray) -> "Yardstick":
        """The yardstick of some of the samples, which have as many neighbors of their own."""
        return self if chosen.all() else Yardstick(self.frames.among(chosen), self.ranks.among_chosen(chosen))

    def measure(self, Y: FloatArray) -> TangentScore:
        """Measure an embedding, none of it NaN where there are frames and ranks."""
        with library_threads(1):
            A, unevenness = self.frames.correction(Y)
            if not self.frames.is_flat(Y.shape[1]):
                unevenness = float("nan")
            return TangentScore(self.tangent_loss(Y), *self.ranks.kept(Y @ A), unevenness, A)

    def tangent_loss(self, Y: FloatArray) -> float:
        """The first part of the score, and a lower bound of it, in a fraction of the time."""
        return float(np.mean(self.frames.tangent_losses(Y)))


def yardstick(X: Samples, n_components: int, metric: Any, params: Any, n_threads: int) -> Yardstick:
    """Make the yardstick of samples: two searches for neighbors of some of them."""
    with library_threads(1):
        return Yardstick(frames_of(X, n_components, metric, params, n_threads), ranks_of(X, metric, params, n_threads))
