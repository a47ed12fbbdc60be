"""Yardstick, Y -> TangentScore: how far an embedding can be believed, told without knowing the truth."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hne._samples import Samples
from hne._threads import library_threads
from hne._types import FloatArray
from hne._yardstick._frames import Frames, frames_of
from hne._yardstick._ranks import Ranks, ranks_of

# What lost ranks weigh beside lost tangents. With 1 or 3 the choice of settings fails badly.
RANK_WEIGHT = 0.3


@dataclass(frozen=True)
class TangentScore:
    """How much of X an embedding loses, seen from small neighborhoods: lower is better, 0 loses nothing."""

    tangent_loss: float  # mean share of a tangent plane that the embedding does not keep, whatever its local maps
    trustworthiness: float  # of the corrected embedding: few strangers among neighbors
    continuity: float  # of the corrected embedding: few neighbors lost
    correction: FloatArray  # A (d, d): Y A has the lengths of X

    @property
    def rank_loss(self) -> float:
        """What trustworthiness and continuity lack, together."""
        return (1 - self.trustworthiness) + (1 - self.continuity)

    @property
    def score(self) -> float:
        """Tangent loss plus 0.3 rank loss."""
        return self.tangent_loss + RANK_WEIGHT * self.rank_loss

    def __str__(self) -> str:
        kept = f"trustworthiness {self.trustworthiness:.4f}, continuity {self.continuity:.4f}"
        return f"score {self.score:.4f}: tangent loss {self.tangent_loss:.4f}, {kept}"


@dataclass(frozen=True)
class Yardstick:
    """Frames and ranks of the samples, which any number of their embeddings are measured by."""

    frames: Frames
    ranks: Ranks

    def measure(self, Y: FloatArray) -> TangentScore:
        """Measure an embedding, none of it NaN."""
        with library_threads(1):
            A = self.frames.correction(Y)
            return TangentScore(self.tangent_loss(Y), *self.ranks.kept(Y @ A), A)

    def tangent_loss(self, Y: FloatArray) -> float:
        """The first part of the score, and a lower bound of it, in a fraction of the time."""
        return float(np.mean(self.frames.tangent_losses(Y)))


def yardstick(X: Samples, n_components: int, metric: Any, params: Any, n_threads: int) -> Yardstick:
    """Make the yardstick of samples: two searches for neighbors of some of them."""
    with library_threads(1):
        return Yardstick(frames_of(X, n_components, metric, params, n_threads), ranks_of(X, metric, params, n_threads))
