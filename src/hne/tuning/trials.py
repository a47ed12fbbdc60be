"""Candidates -> trials: one neighbor search and one geometry for all, Gram matrices shared over reg and variant.

Settings come in rounds: those that are usually good first. What a round has shown lets later ones stop early, and
since only finished rounds count, the outcome does not depend on threads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hne._runtime.progress import mute_progress, step
from hne._runtime.threads import limit_blas_threads, map_blocks
from hne.core.chart.chart import rescaled_coordinates
from hne.core.eigenpairs import embedded_pieces
from hne.core.pieces.split import SplitGraph, split_into_pieces, without_isolated
from hne.core.records import IndexArray, NeighborGraph, ShortCircuits, Weights
from hne.core.samples.kinds import Samples
from hne.core.short_circuits.cut import cut_short_circuits
from hne.core.tangent.frames import Dimension
from hne.core.tangent.score import LocalGeometry, TangentScore
from hne.core.weights.layers import layer_weights_of_all
from hne.exceptions import HNEError
from hne.settings import RIDGE, RIDGE_NEIGHBORS, RIDGE_POWER, Settings

# What became of a trial, the best first.
OUTCOMES = MEASURED, STOPPED, FAILED, NOT_REACHED = "measured", "stopped early", "failed", "not reached"
NO_TIME = "no time left"
# Share of small neighborhoods that a graph in pieces may cut through.
MAX_CUT = 0.2
# Good settings lie on a ridge, reg = 1e-4 (k / 6)^3.3. The first round goes so many powers of ten off it.
RIDGE_WIDTH = 0.75
# A setting of the second round is tried if its k has come this near to the best, by a factor and a number.
WORTH_FACTOR, WORTH_MARGIN = 1.5, 0.01
# The choice is the trial on which so many of the best agree the most: of embeddings that score alike, wrong ones are
# wrong each in its own way. Of a small grid, the best are fewer: one for so many settings.
VOTERS, SETTINGS_A_VOTER = 5, 12
# Who is farther behind than a factor and a number has no vote.
VOTE_FACTOR, VOTE_MARGIN = 3.0, 0.05


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


@dataclass(frozen=True)
class Problem:
    """What all trials share."""

    X: Samples
    graph: NeighborGraph  # of the largest k
    geometry: LocalGeometry
    flat_share: float  # of the local variance of the samples, in tangent planes
    settings: Settings
    n_threads: int
    deadline: float  # of time.perf_counter(); inf where there is none


def run_trials(problem: Problem, wanted: Sequence[Candidate]) -> list[Trial]:
    """Try the settings; those that nobody got to are told as well."""
    nearest: dict[int, float] = {}
    for one in wanted:
        nearest[one.n_neighbors] = min(nearest.get(one.n_neighbors, np.inf), _off_ridge(one))
    # Those on the ridge or near it; where a k has none in the grid, those nearest to it.
    first = [one for one in wanted if _off_ridge(one) <= max(nearest[one.n_neighbors], RIDGE_WIDTH)]
    second = [one for one in wanted if one not in set(first)]
    trials: list[Trial] = []
    for candidates in (first, second):
        best, tried = _best_score(trials), []
        for candidate in candidates:
            same_k = [trial for trial in trials if trial.n_neighbors == candidate.n_neighbors]
            if not trials or _best_score(same_k) <= WORTH_FACTOR * best + WORTH_MARGIN:
                tried.append(candidate)
                continue
            outcome, reason = STOPPED, f"k = {candidate.n_neighbors} is far behind"
            if not any(trial.is_measured for trial in same_k):
                outcome, reason = same_k[0].outcome, same_k[0].reason
            n_pieces = max(trial.n_pieces for trial in same_k)
            trials.append(Trial(*candidate, outcome, n_pieces=n_pieces, reason=reason))
        step("settings", len(trials), len(wanted))
        for k in dict.fromkeys(one.n_neighbors for one in tried):
            for trial in _trials_of_k(problem, k, [one for one in tried if one.n_neighbors == k], best):
                trials.append(trial)
                step("settings", len(trials), len(wanted))
    return trials


def _off_ridge(candidate: Candidate) -> float:
    """How far reg is from what suits this k on most data, in powers of ten."""
    return abs(math.log10(candidate.reg / (RIDGE * (candidate.n_neighbors / RIDGE_NEIGHBORS) ** RIDGE_POWER)))


def _best_score(trials: Sequence[Trial]) -> float:
    return min((trial.score for trial in trials if trial.is_measured), default=float("inf"))


def _trials_of_k(problem: Problem, k: int, candidates: Sequence[Candidate], best: float) -> Iterator[Trial]:
    """Trials that share their neighbors and Gram matrices."""
    if time.perf_counter() > problem.deadline:
        yield from (Trial(*one, NOT_REACHED, reason=NO_TIME) for one in candidates)
        return
    graph = replace(problem.graph, indices=problem.graph.indices[:, :k], distances=problem.graph.distances[:, :k])
    wanted = [replace(problem.settings, **one._asdict()) for one in candidates]
    try:
        with mute_progress():
            circuits = cut_short_circuits(problem.X, without_isolated(graph, wanted[0]), wanted[0])
        split = split_into_pieces(problem.X, circuits.graph, wanted[0], problem.n_threads)
        pieces, treatment = split.pieces, problem.settings.pieces
        labels = pieces.labels[problem.geometry.frames.members]
        # Pieces are too many to go on with where none are wanted, or where they cut through neighborhoods.
        is_cut = float((labels != labels[:, :1]).any(axis=1).mean()) > MAX_CUT
        if pieces.count > 1 and treatment != "join" and (treatment == "raise" or is_cut):
            why = f"its graph falls into {pieces.count} pieces"
            yield from (Trial(*one, STOPPED, n_pieces=pieces.count, reason=why) for one in candidates)
            return
        with mute_progress():
            weights = layer_weights_of_all(problem.X, split.graph, wanted, problem.n_threads)
    except HNEError as error:
        yield from (Trial(*one, FAILED, reason=_first_sentence(error)) for one in candidates)
        return
    attempt = partial(_attempt, problem, circuits, split, best=best)
    numbers = range(len(candidates))
    with (
        limit_blas_threads(1),
        closing(map_blocks(lambda i: attempt(candidates[i], weights[i]), numbers, problem.n_threads)) as results,
    ):
        yield from results


def _attempt(
    problem: Problem, circuits: ShortCircuits, split: SplitGraph, candidate: Candidate, weights: Weights, best: float
) -> Trial:
    """Embed with a setting, and measure that; if its tangents alone lose more than the best in all, ranks are not."""
    start, pieces = time.perf_counter(), split.pieces
    trial = partial(Trial, *candidate, n_pieces=pieces.count)
    if start > problem.deadline:
        return trial(outcome=NOT_REACHED, reason=NO_TIME)
    settings = replace(problem.settings, **candidate._asdict())
    is_chart = settings.coordinates == "chart"

    def seconds() -> float:
        return time.perf_counter() - start

    try:
        with mute_progress():
            solved = embedded_pieces(problem.X, weights, pieces, settings, 1)
            Y = solved.Y
            if is_chart or np.isnan(Y).any() or len(solved.eigenpairs) > 1:
                made_of = (problem.X, split.graph, circuits.cut_pairs, solved, pieces, problem.flat_share)
                Y = rescaled_coordinates(*made_of, settings, 1, problem.geometry).Y
    except HNEError as error:
        return trial(outcome=FAILED, reason=_first_sentence(error), seconds=seconds())
    scorer = problem.geometry.scorer.among(np.asarray(np.isfinite(Y).all(axis=1)))
    if not len(scorer.frames.members):
        return trial(outcome=FAILED, reason="too few samples are embedded", seconds=seconds())
    loss = scorer.tangent_loss(Y)
    if loss > best:
        return trial(outcome=STOPPED, score=loss, reason="its tangents lose too much", seconds=seconds())
    measure = scorer.measure(Y)
    drawn = Y if is_chart else Y @ measure.correction
    return trial(outcome=MEASURED, score=measure.score, measure=measure, Y=drawn, seconds=seconds())


def _first_sentence(error: HNEError) -> str:
    return str(error).split(". ")[0]


def in_order(trials: Sequence[Trial]) -> list[Trial]:
    """The measured ones by score, then the others by what became of them."""
    return sorted(trials, key=lambda one: (OUTCOMES.index(one.outcome), np.nan_to_num(one.score, nan=np.inf)))


def choose(trials: Sequence[Trial]) -> tuple[Trial, Trial | None]:
    """The choice, and a runner-up of another k or variant."""
    best = [trial for trial in in_order(trials) if trial.is_measured]
    count = min(VOTERS, max(1, len(trials) // SETTINGS_A_VOTER))
    voters = [trial for trial in best[:count] if trial.score <= VOTE_FACTOR * best[0].score + VOTE_MARGIN]
    coordinates = [trial.Y for trial in voters if trial.Y is not None]
    # Where not all are embedded, those that all voters have.
    common = np.isfinite(coordinates).all(axis=(0, 2))
    planes = []
    for Y in (Y[common] for Y in coordinates if common.any()):
        # Orthonormal basis of the centered columns.
        reach = np.abs(Y).max(initial=0.0)
        scaled = Y / (reach if reach > 0 else 1.0)
        planes.append(np.linalg.svd(scaled - scaled.mean(axis=0), full_matrices=False)[0])
    # Share of one embedding that an affine map of the other explains, 0 to 1.
    votes = [float(np.mean([float(((one.T @ other) ** 2).sum() / one.shape[1]) for other in planes])) for one in planes]
    choice = voters[int(np.argmax(votes))] if votes else best[0]
    others = (one for one in best if one.variant != choice.variant or one.n_neighbors != choice.n_neighbors)
    return choice, next(others, None)
