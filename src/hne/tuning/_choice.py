"""Trials -> the choice among those that score alike, and the best that is unlike it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hne._types import FloatArray
from hne.tuning._record import FAILED, MEASURED, NOT_REACHED, STOPPED, Trial

ORDER = (MEASURED, STOPPED, FAILED, NOT_REACHED)
# The choice is the trial on which so many of the best agree the most: of embeddings that score alike, wrong ones are
# wrong each in its own way. Of a small grid, the best are fewer: one for so many settings.
VOTERS, SETTINGS_A_VOTER = 5, 12
# Who is farther behind than a factor and a number has no vote.
VOTE_FACTOR, VOTE_MARGIN = 3.0, 0.05


def ordered(trials: Sequence[Trial]) -> list[Trial]:
    """The measured ones by score, then the others by what became of them."""
    return sorted(trials, key=lambda one: (ORDER.index(one.outcome), np.nan_to_num(one.score, nan=np.inf)))


def chosen(trials: Sequence[Trial]) -> tuple[Trial, Trial | None]:
    """The choice, and a runner-up of another k or variant."""
    best = [trial for trial in ordered(trials) if trial.outcome == MEASURED]
    count = min(VOTERS, max(1, len(trials) // SETTINGS_A_VOTER))
    voters = [trial for trial in best[:count] if trial.score <= VOTE_FACTOR * best[0].score + VOTE_MARGIN]
    coordinates = [trial.Y for trial in voters if trial.Y is not None]
    # Where not all are embedded, those that all voters have.
    common = np.isfinite(coordinates).all(axis=(0, 2))
    planes = [plane(Y[common]) for Y in coordinates if common.any()]
    votes = [float(np.mean([agreement(one, other) for other in planes])) for one in planes]
    choice = voters[int(np.argmax(votes))] if votes else best[0]
    others = (one for one in best if one.variant != choice.variant or one.n_neighbors != choice.n_neighbors)
    return choice, next(others, None)


def plane(Y: FloatArray) -> FloatArray:
    """Orthonormal basis of the centered columns."""
    reach = np.abs(Y).max(initial=0.0)
    scaled = Y / (reach if reach > 0 else 1.0)
    basis, _, _ = np.linalg.svd(scaled - scaled.mean(axis=0), full_matrices=False)
    return basis


def agreement(one: FloatArray, other: FloatArray) -> float:
    """Share of one embedding that an affine map of the other explains, 0 to 1."""
    return float(((one.T @ other) ** 2).sum() / one.shape[1])
