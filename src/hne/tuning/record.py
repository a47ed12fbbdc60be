"""What a search for settings found: every trial, the best first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import IndexArray, Settings
from hne.core.tangent.dimension import Dimension
from hne.core.tangent.score import TangentScore

# What became of a trial.
MEASURED, STOPPED, FAILED, NOT_REACHED = "measured", "stopped early", "failed", "not reached"


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
        parts = ("tangent_loss", "trustworthiness", "continuity", "unevenness")
        columns: dict[str, list[Any]] = {"choice": [self.role(trial) for trial in self.trials]}
        for name in ("variant", "n_neighbors", "reg"):
            columns[name] = [getattr(trial, name) for trial in self.trials]
        columns["score"] = [trial.score if trial.outcome == MEASURED else np.nan for trial in self.trials]
        for part in parts:
            columns[part] = [np.nan if one.measure is None else getattr(one.measure, part) for one in self.trials]
        columns["score_above"] = [np.nan if trial.outcome == MEASURED else trial.score for trial in self.trials]
        for name in ("n_pieces", "outcome", "reason", "seconds"):
            columns[name] = [getattr(trial, name) for trial in self.trials]
        return columns

    def __repr__(self) -> str:
        measured = sum(trial.outcome == MEASURED for trial in self.trials)
        return f"<Tuning: {self.best.label}, score {self.best.score:.4g}, chosen of {measured} measured>"
