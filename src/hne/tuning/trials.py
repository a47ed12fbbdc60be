"""Candidates -> trials, in rounds: one neighbor search and one geometry for all, one graph for each k.

What a round has shown decides what the next one tries, and since only finished rounds count, the outcome does not
depend on threads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hne._runtime.progress import mute_progress, step
from hne._runtime.threads import limit_blas_threads, map_blocks
from hne.core.chart.chart import draw_charts
from hne.core.eigenpairs import embedded_pieces
from hne.core.layout.layout import compute_layout
from hne.core.pieces.split import SplitGraph, split_into_pieces, without_isolated
from hne.core.records import FloatArray, IndexArray, NeighborGraph, Pieces, ShortCircuits
from hne.core.samples.kinds import Samples
from hne.core.short_circuits.cut import ChosenEdges, cut_short_circuits, edited
from hne.core.tangent.frames import Dimension
from hne.core.tangent.score import LocalGeometry, TangentScore
from hne.core.weights.layers import layer_weights
from hne.exceptions import HNEError
from hne.settings import CHART_NEIGHBORS, VARIANTS, Settings, chart_reg, fill_defaults

# What became of a trial, the best first.
OUTCOMES = MEASURED, STOPPED, FAILED, NOT_REACHED = "measured", "stopped early", "failed", "not reached"
NO_TIME = "no time left"
# Share of small neighborhoods that a graph in pieces may cut through.
MAX_CUT = 0.2
# With such a score nearly all embeddings are right, and a quick search ends. Of 24 settings for 64 surfaces of 200 to
# 3 000 samples it tries 5.2, and its choice has a mean regret of .0061, that of all 24 .0083; with the reg that suits
# each k in the first round, instead of the one that suits 12 neighbors, .0074.
RIGHT = 0.003
# Good settings lie on a ridge, reg = 1e-4 (k / 6)^3.3. The first thorough round goes so many powers of ten off it.
RIDGE_WIDTH = 0.75
# A setting of the second is tried if its k has come this near to the best, by a factor and a number.
WORTH_FACTOR, WORTH_MARGIN = 1.5, 0.01
# The choice is the trial on which so many of the best agree the most: of embeddings that score alike, wrong ones are
# wrong each in its own way. Of a small grid, the best are fewer: one for so many settings, and two cannot vote.
VOTERS, FEWEST_VOTERS, SETTINGS_A_VOTER = 5, 3, 12
# Who is farther behind than a factor and a number has no vote.
VOTE_FACTOR, VOTE_MARGIN = 3.0, 0.05


class Candidate(NamedTuple):
    """A setting to try."""

    variant: str
    n_neighbors: int
    reg: float


@dataclass(frozen=True, repr=False, eq=False)
class Trial:
    """One setting, and how its embedding scored.

    Attributes
    ----------
    variant, n_neighbors, reg : str, int, float
        The setting.
    outcome : str
        "measured", "stopped early" (it could not win any more), "failed", or "not reached" within the budget.
    score : float
        Score by `hne.metrics.tangent_score`, lower is better. Where the trial was stopped, a lower bound; NaN where
        nothing is known.
    measure : TangentScore or None
        The parts of the score, where it was measured.
    n_pieces : int
        Number of pieces (connected components) of its neighbor graph; 0 where it was not made.
    reason : str
        Why it was stopped or failed, in a few words.
    seconds : float
        Time of its own work, without what trials share.
    Y : ndarray of shape (n_tuned, n_components) or None
        Coordinates in the lengths of X, kept for the best few.

    See Also
    --------
    hne.tuning.Tuning : All trials of a search.

    Examples
    --------
    >>> from hne.tuning import Trial
    >>> trial = Trial("ihne", 8, 1e-3, "measured", score=0.002)
    >>> trial
    <Trial: IHNE, k = 8, reg = 0.001: measured, score 0.002>
    >>> trial.parameters
    {'n_neighbors': 8, 'reg': 0.001, 'variant': 'ihne'}
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
        """The setting as keyword arguments of `hne.HNE`."""
        return {"n_neighbors": self.n_neighbors, "reg": self.reg, "variant": self.variant}

    @property
    def label(self) -> str:
        """The setting in a few words."""
        return f"{self.variant.upper()}, k = {self.n_neighbors}, reg = {self.reg:g}"

    def __repr__(self) -> str:
        return f"<Trial: {self.label}: {self.outcome}, score {self.score:.4g}>"


@dataclass(frozen=True, repr=False, eq=False)
class Tuning:
    """The outcome of a search for settings: what to use, and all that was tried.

    Attributes
    ----------
    best : Trial
        The choice.
    runner_up : Trial or None
        The best of another variant or another number of neighbors.
    trials : tuple of Trial
        All settings of the grid: the measured ones by score, then those that were stopped, failed or not reached.
    settings : Settings
        All parameters of `hne.HNE`, with those of the choice.
    n_samples : int
        Number of samples of X.
    rows : ndarray or None
        The rows of X that were tuned on; None where those were all.
    dimension : Dimension or None
        The intrinsic dimension of the samples; None where they are too few to tell.
    seconds : float
        Time of the whole search.

    See Also
    --------
    hne.tuning.tune : The function that searches.
    hne.viz.write_tuning_report : The search as a page to look at.

    Examples
    --------
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.tuning import tune
    >>> found = tune(make_swiss_roll(300).X, grid={"n_neighbors": [8, 12]}, variant="ihne", reg=1e-3)
    >>> print(found)
    2 settings, 2 measured to the end
    >>> found.table()["choice"]
    ['chosen', 'runner-up']
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
        """The choice as keyword arguments of `hne.HNE`."""
        chosen = {"n_components": self.settings.n_components, "coordinates": self.settings.coordinates}
        return {**self.best.parameters, **chosen}

    def role(self, trial: Trial) -> str:
        """Tell what a trial is in the end.

        Parameters
        ----------
        trial : Trial
            One of `trials`.

        Returns
        -------
        str
            One of "chosen", "runner-up" and "".
        """
        return "chosen" if trial is self.best else "runner-up" if trial is self.runner_up else ""

    def table(self) -> dict[str, list[Any]]:
        """Return all trials as columns, the best first.

        Returns
        -------
        dict of str to list
            Columns by name: `pandas.DataFrame(tuning.table())` is the whole search. Where a trial was stopped, `score`
            is NaN and `score_above` has the lower bound.
        """
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
    chosen: ChosenEdges
    settings: Settings
    n_threads: int
    deadline: float  # of time.perf_counter(); inf where there is none


# The graph of a k without its short circuits, and in pieces.
GraphOf: TypeAlias = Callable[[int], tuple[ShortCircuits, SplitGraph]]


def run_trials(problem: Problem, wanted: Sequence[Candidate], *, is_quick: bool) -> list[Trial]:
    """Try the settings in rounds, quickly or thoroughly; those that nobody tried are told as well."""
    trials: dict[Candidate, Trial] = {}
    graph_of = cache(partial(_graph_of, problem))
    for candidates in (_quick_rounds if is_quick else _thorough_rounds)(problem, wanted, trials):
        n_threads = max(1, problem.n_threads // max(1, len(candidates)))
        attempt = partial(_attempt, problem, graph_of, best=_best_score(trials.values()), n_threads=n_threads)
        with limit_blas_threads(1), closing(map_blocks(attempt, candidates, problem.n_threads)) as results:
            step("settings", len(trials), len(wanted))
            for candidate, trial in zip(candidates, results, strict=True):
                trials[candidate] = trial
                step("settings", len(trials), len(wanted))
    tried = in_order(trials.values())
    step("settings", len(wanted), len(wanted))
    return [*tried, *(_untried(one, tried) for one in wanted if one not in trials)]


def _quick_rounds(
    problem: Problem, wanted: Sequence[Candidate], trials: Mapping[Candidate, Trial]
) -> Iterator[list[Candidate]]:
    """Each k; then, unless one is right, what differs from the best in reg or variant; all others if nothing works."""
    usual = replace(problem.settings, n_neighbors=CHART_NEIGHBORS)
    reg = fill_defaults(usual, ["reg"], problem.flat_share, problem.graph.n_samples).reg
    variant = min((one.variant for one in wanted), key=VARIANTS.index)
    by_ridge = sorted((one for one in wanted if one.variant == variant), key=lambda one: abs(math.log(one.reg / reg)))
    yield [
        next(one for one in by_ridge if one.n_neighbors == k) for k in dict.fromkeys(one.n_neighbors for one in wanted)
    ]
    others, best = [one for one in wanted if one not in trials], in_order(trials.values())[0]
    if best.is_measured:
        near = [one for one in others if one.variant == best.variant or one.reg == best.reg]
        others = [one for one in near if one.n_neighbors == best.n_neighbors and best.score > RIGHT]
    yield others


def _thorough_rounds(
    _: Problem, wanted: Sequence[Candidate], trials: Mapping[Candidate, Trial]
) -> Iterator[list[Candidate]]:
    """Those on the ridge or near it, where a k has none those nearest to it; then the others of a k near the best."""
    nearest: dict[int, float] = {}
    for one in wanted:
        nearest[one.n_neighbors] = min(nearest.get(one.n_neighbors, np.inf), _off_ridge(one))
    yield [one for one in wanted if _off_ridge(one) <= max(nearest[one.n_neighbors], RIDGE_WIDTH)]
    limit = WORTH_FACTOR * _best_score(trials.values()) + WORTH_MARGIN
    scores = {k: _best_score(trial for trial in trials.values() if trial.n_neighbors == k) for k in nearest}
    yield [one for one in wanted if one not in trials and scores[one.n_neighbors] <= limit]


def _off_ridge(candidate: Candidate) -> float:
    """How far reg is from what suits this k on most data, in powers of ten."""
    return abs(math.log10(candidate.reg / chart_reg(candidate.n_neighbors)))


def _best_score(trials: Iterable[Trial]) -> float:
    return min((trial.score for trial in trials if trial.is_measured), default=math.inf)


def _untried(candidate: Candidate, tried: Sequence[Trial]) -> Trial:
    """What is to be said of a setting that no round had: its k was in the first."""
    best, of_k = tried[0], next(trial for trial in tried if trial.n_neighbors == candidate.n_neighbors)
    outcome, reason = of_k.outcome, of_k.reason
    if of_k.is_measured:
        outcome, reason = STOPPED, f"{best.label} is {'good enough' if best.score <= RIGHT else 'ahead'}"
    return Trial(*candidate, outcome, n_pieces=of_k.n_pieces, reason=reason)


def _graph_of(problem: Problem, k: int) -> tuple[ShortCircuits, SplitGraph]:
    """What the trials of a k share."""
    graph = replace(problem.graph, indices=problem.graph.indices[:, :k], distances=problem.graph.distances[:, :k])
    settings = replace(problem.settings, n_neighbors=k)
    found = cut_short_circuits(problem.X, without_isolated(graph, settings), settings)
    circuits = edited(found, problem.chosen)
    return circuits, split_into_pieces(problem.X, circuits.graph, settings, 1)


def _attempt(  # noqa: PLR0911, one for each outcome
    problem: Problem, graph_of: GraphOf, candidate: Candidate, *, best: float, n_threads: int
) -> Trial:
    """Embed with a setting, and measure that; if its tangents alone lose more than the best in all, ranks are not."""
    start, n_pieces = time.perf_counter(), 0
    if start > problem.deadline:
        return Trial(*candidate, NOT_REACHED, reason=NO_TIME)

    def trial(outcome: str, **known: Any) -> Trial:
        return Trial(*candidate, outcome, n_pieces=n_pieces, seconds=time.perf_counter() - start, **known)

    try:
        with mute_progress():
            circuits, split = graph_of(candidate.n_neighbors)
            n_pieces = split.pieces.count
            if _is_too_many(problem, split.pieces):
                return trial(STOPPED, reason=f"its graph falls into {n_pieces} pieces")
            Y = _coordinates(problem, circuits, split, candidate, n_threads)
    except HNEError as error:
        return trial(FAILED, reason=str(error).split(". ")[0])
    scorer = problem.geometry.scorer.among(np.asarray(np.isfinite(Y).all(axis=1)))
    if not len(scorer.frames.members):
        return trial(FAILED, reason="too few samples are embedded")
    if problem.settings.coordinates == "layout":
        # A layout preserves neighborhoods, not tangent spaces: it is scored by its neighborhoods alone.
        measure = scorer.measure(Y)
        return trial(MEASURED, score=measure.rank_loss, measure=measure, Y=Y)
    loss = scorer.tangent_loss(Y)
    if loss > best:
        return trial(STOPPED, score=loss, reason="its tangents lose too much")
    measure = scorer.measure(Y)
    drawn = Y if problem.settings.coordinates == "chart" else Y @ measure.correction
    return trial(MEASURED, score=measure.score, measure=measure, Y=drawn)


def _is_too_many(problem: Problem, pieces: Pieces) -> bool:
    """Return whether a disconnected graph is an error, or too many neighborhoods are spread over its components."""
    if pieces.count == 1 or problem.settings.pieces == "join":
        return False
    if problem.settings.pieces == "raise":
        return True
    if problem.settings.coordinates == "layout" and problem.settings.pieces == "separate":
        # A layout places all connected components together.
        return False
    labels = pieces.labels[problem.geometry.frames.members]
    return float((labels != labels[:, :1]).any(axis=1).mean()) > MAX_CUT


def _coordinates(
    problem: Problem, circuits: ShortCircuits, split: SplitGraph, candidate: Candidate, n_threads: int
) -> FloatArray:
    """Coordinates by a setting: a chart, a layout or eigenvectors."""
    settings = replace(problem.settings, **candidate._asdict())
    weights = layer_weights(problem.X, split.graph, settings, n_threads)
    if settings.coordinates == "layout":
        return compute_layout(problem.X, weights, split.pieces, settings, n_threads).Y
    solved = embedded_pieces(problem.X, weights, split.pieces, settings, n_threads)
    if settings.coordinates != "chart":
        return solved.Y
    made_of = (problem.X, split.graph, circuits.cut_pairs, solved, split.pieces, problem.flat_share)
    return draw_charts(*made_of, settings, n_threads, problem.geometry).Y


def in_order(trials: Iterable[Trial]) -> list[Trial]:
    """The measured ones by score, then the others by what became of them."""
    return sorted(trials, key=lambda one: (OUTCOMES.index(one.outcome), np.nan_to_num(one.score, nan=np.inf)))


def choose(trials: Sequence[Trial]) -> tuple[Trial, Trial | None]:
    """The choice, and a runner-up of another k or variant."""
    best = [trial for trial in in_order(trials) if trial.is_measured]
    count = min(VOTERS, len(trials) // SETTINGS_A_VOTER)
    count = count if count >= FEWEST_VOTERS else 1
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
