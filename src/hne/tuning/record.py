"""What a search for settings found: every trial, the best first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hne.core.records import IndexArray, Settings
from hne.core.tangent.frames import Dimension
from hne.core.tangent.score import TangentScore

# What became of a trial, the best first.
OUTCOMES = MEASURED, STOPPED, FAILED, NOT_REACHED = "measured", "stopped early", "failed", "not reached"


class Candidate(NamedTuple):
    """A setting to try."""

    variant: str
    n_neighbors: int
    reg: float


@dataclass(frozen=True, repr=False, eq=False)
class Trial:
    """One setting and how its embedding scored.

    Attributes
    ----------
    variant, n_neighbors, reg
        The setting.
    outcome : str
        "measured", "stopped early" (it could not win any more), "failed", or "not reached" within the budget.
    score : float
        Lower is better, see :func:`hne.metrics.tangent_score`. Of one that was stopped, what it is at least; NaN where
        nothing is known. The table has the one as `score`, the other as `score_above`.
    measure : TangentScore or None
        The parts of the score of one that was measured.
    n_pieces : int
        Pieces of its neighbor graph; 0 where nobody looked.
    reason : str
        Why it was stopped or failed, in a few words.
    seconds : float
        Time of its own work, that shared with others left out.
    Y : ndarray of shape (n_tuned, n_components) or None
        Coordinates in the lengths of X, a chart or rescaled ones, kept of the best few.
    """

    variant: str
    n_neighbors: int
    reg: float
    outcome: str
    score: float = float("nan")
    measure: TangentScore | None = None
    n_pieces: int = 0
    reason: str = ""
    seconds: float = 0.0
    Y: NDArray[Any] | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it was tried to the end."""
        return self.outcome == MEASURED

    @property
    def parameters(self) -> dict[str, Any]:
        """The setting as keyword arguments of `HNE`."""
        return {"n_neighbors": self.n_neighbors, "reg": self.reg, "variant": self.variant}

    @property
    def label(self) -> str:
        """The setting in a few words."""
        return f"{self.variant.upper()}, k = {self.n_neighbors}, reg = {self.reg:g}"

    def __repr__(self) -> str:
        return f"<Trial: {self.label}: {self.outcome}, score {self.score:.4g}>"


@dataclass(frozen=True, repr=False, eq=False)
class Tuning:
    """The outcome of a search: what to use, and all that was tried.

    Attributes
    ----------
    best, runner_up : Trial, Trial or None
        The choice, and the best of another variant or another number of neighbors.
    trials : tuple of Trial
        All of the grid: the measured ones by score, then those that were stopped, failed or not reached.
    settings : Settings
        All parameters with those of the choice.
    n_samples : int
        Samples that X has.
    rows : ndarray or None
        The rows of X that were tuned on, where those were not all.
    dimension : Dimension or None
        The samples' own dimension, see :func:`hne.metrics.intrinsic_dimension`; None where they are too few to tell.
    seconds : float
        Time of the whole search.
    """

    best: Trial
    runner_up: Trial | None
    trials: tuple[Trial, ...]
    settings: Settings
    n_samples: int
    rows: IndexArray | None
    dimension: Dimension | None
    seconds: float

    @property
    def parameters(self) -> dict[str, Any]:
        """The choice as keyword arguments of `HNE`."""
        return {**self.best.parameters, "n_components": self.settings.n_components}

    def role(self, trial: Trial) -> str:
        """What the trial is in the end: "chosen", "runner-up", or nothing."""
        return "chosen" if trial is self.best else "runner-up" if trial is self.runner_up else ""

    def table(self) -> dict[str, list[Any]]:
        """All trials as columns, the best first: `pandas.DataFrame(tuning.table())` is the whole search."""
        trials, parts = self.trials, ("tangent_loss", "trustworthiness", "continuity", "unevenness")
        columns: dict[str, list[Any]] = {"choice": [self.role(trial) for trial in trials]}
        columns |= {name: [getattr(trial, name) for trial in trials] for name in ("variant", "n_neighbors", "reg")}
        columns["score"] = [trial.score if trial.is_measured else np.nan for trial in trials]
        columns |= {part: [getattr(trial.measure, part, np.nan) for trial in trials] for part in parts}
        columns["score_above"] = [np.nan if trial.is_measured else trial.score for trial in trials]
        others = ("n_pieces", "outcome", "reason", "seconds")
        return columns | {name: [getattr(trial, name) for trial in trials] for name in others}

    @property
    def n_measured(self) -> int:
        """Settings that were tried to the end."""
        return sum(trial.is_measured for trial in self.trials)

    def __str__(self) -> str:
        return f"{len(self.trials)} settings, {self.n_measured} measured to the end"

    def __repr__(self) -> str:
        return f"<Tuning: {self.best.label}, score {self.best.score:.4g}, chosen of {self.n_measured} measured>"
