"""Settings -> trials: one neighbor search and one geometry for all, Gram matrices shared over reg and variant.

Settings come in rounds: those that are usually good first. What a round has found lets later ones stop early, and
since only finished rounds count, the outcome does not depend on threads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from hne._runtime.progress import mute_progress, step
from hne._runtime.threads import limit_blas_threads, map_blocks
from hne.core.chart.chart import rescaled_coordinates
from hne.core.eigenpairs import Found, embedded_pieces, split_into_pieces, without_isolated
from hne.core.records import FloatArray, IndexArray, NeighborGraph, Pieces, Settings, Weights
from hne.core.samples.kinds import Samples
from hne.core.short_circuits.cut import cut_short_circuits
from hne.core.tangent.score import LocalGeometry, TangentScorer
from hne.core.weights.layers import layer_weights_of_all
from hne.exceptions import HNEError
from hne.tuning.record import FAILED, MEASURED, NOT_REACHED, STOPPED, Trial

Setting = tuple[str, int, float]

NO_TIME = "no time left"

# Share of small neighborhoods that a graph in pieces may cut through.
MAX_CUT = 0.2
# Good settings lie on a ridge, reg = 1e-4 (k / 6)^3.3. The first round goes so many powers of ten off it.
RIDGE, RIDGE_POWER, RIDGE_WIDTH = 1e-4, 3.3, 0.75
# A setting of the second round is tried if its k has come this near to the best, by a factor and a number.
WORTH_FACTOR, WORTH_MARGIN = 1.5, 0.01


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


def searched(problem: Problem, wanted: Sequence[Setting]) -> list[Trial]:
    """Try the settings; those that nobody got to are told as well."""
    first = usually_good(wanted)
    second = [setting for setting in wanted if setting not in set(first)]
    trials: list[Trial] = []
    for settings in (first, second):
        best = best_score(trials)
        tried = [setting for setting in settings if not trials or is_worth_it(setting, trials, best)]
        trials += [_skipped(setting, trials) for setting in settings if setting not in set(tried)]
        done = len(trials)
        step("settings", done, len(wanted))
        for trial in _round(problem, tried, best):
            trials.append(trial)
            step("settings", len(trials), len(wanted))
    return trials


def usually_good(wanted: Sequence[Setting]) -> list[Setting]:
    """Settings on the ridge or near it; where a k has none in the grid, those nearest to it."""
    nearest: dict[int, float] = {}
    for setting in wanted:
        nearest[setting[1]] = min(nearest.get(setting[1], np.inf), off_ridge(setting))
    return [setting for setting in wanted if off_ridge(setting) <= max(nearest[setting[1]], RIDGE_WIDTH)]


def off_ridge(setting: Setting) -> float:
    """How far reg is from what suits this k on most data, in powers of ten."""
    _, k, reg = setting
    return abs(math.log10(reg / (RIDGE * (k / 6) ** RIDGE_POWER)))


def best_score(trials: Sequence[Trial]) -> float:
    """The lowest score so far."""
    return min((trial.score for trial in trials if trial.outcome == MEASURED), default=float("inf"))


def is_worth_it(setting: Setting, trials: Sequence[Trial], best: float) -> bool:
    """Whether the same k, with any reg and variant, has come near the best."""
    return best_score(_with_same_k(setting, trials)) <= WORTH_FACTOR * best + WORTH_MARGIN


def _with_same_k(setting: Setting, trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.n_neighbors == setting[1]]


def _skipped(setting: Setting, trials: Sequence[Trial]) -> Trial:
    own = _with_same_k(setting, trials)
    n_pieces = max(trial.n_pieces for trial in own)
    if not any(trial.outcome == MEASURED for trial in own):
        return Trial(*setting, own[0].outcome, n_pieces=n_pieces, reason=own[0].reason)
    return Trial(*setting, STOPPED, n_pieces=n_pieces, reason=f"k = {setting[1]} is far behind")


def _round(problem: Problem, settings: Sequence[Setting], best: float) -> Iterator[Trial]:
    """Trials of one round, k after k, which share neighbors and Gram matrices."""
    for k in dict.fromkeys(k for _, k, _ in settings):
        own = [setting for setting in settings if setting[1] == k]
        if time.perf_counter() > problem.deadline:
            yield from (Trial(*setting, NOT_REACHED, reason=NO_TIME) for setting in own)
            continue
        yield from _of_one_k(problem, k, own, best)


def _of_one_k(problem: Problem, k: int, own: Sequence[Setting], best: float) -> Iterator[Trial]:
    given = problem.graph
    graph = NeighborGraph(given.indices[:, :k], given.distances[:, :k], given.method, given.recall)
    wanted = [replace(problem.settings, variant=v, n_neighbors=k, reg=reg) for v, _, reg in own]
    try:
        with mute_progress():
            circuits = cut_short_circuits(problem.X, without_isolated(graph, wanted[0]), wanted[0])
        found = split_into_pieces(problem.X, circuits.graph, wanted[0], problem.n_threads)
        if is_torn(problem, found.pieces):
            why = f"its graph falls into {found.pieces.count} pieces"
            yield from (Trial(*setting, STOPPED, n_pieces=found.pieces.count, reason=why) for setting in own)
            return
        with mute_progress():
            weights = layer_weights_of_all(problem.X, found.graph, wanted, None, problem.n_threads)
    except HNEError as error:
        yield from (Trial(*setting, FAILED, reason=_first_sentence(error)) for setting in own)
        return

    def attempt(number: int) -> Trial:
        if time.perf_counter() > problem.deadline:
            return Trial(*own[number], NOT_REACHED, n_pieces=found.pieces.count, reason=NO_TIME)
        cut = circuits.pairs if circuits.is_cut else circuits.pairs[:0]
        return _tried(problem, wanted[number], found, cut, weights[number], best)

    with limit_blas_threads(1), closing(map_blocks(attempt, range(len(own)), problem.n_threads)) as results:
        yield from results


def is_torn(problem: Problem, pieces: Pieces) -> bool:
    """Whether the pieces of a graph are too many to go on with: they cut through neighborhoods, or none are wanted."""
    if pieces.count == 1 or problem.settings.pieces == "join":
        return False
    labels = pieces.labels[problem.geometry.frames.members]
    cut = float((labels != labels[:, :1]).any(axis=1).mean())
    return problem.settings.pieces == "raise" or cut > MAX_CUT


def _tried(problem: Problem, settings: Settings, found: Found, cut: IndexArray, weights: Weights, best: float) -> Trial:
    start, pieces = time.perf_counter(), found.pieces
    setting = (settings.variant, settings.n_neighbors, settings.reg)

    def trial(outcome: str, **more: object) -> Trial:
        return Trial(*setting, outcome, n_pieces=pieces.count, seconds=time.perf_counter() - start, **more)  # type: ignore[arg-type]

    try:
        with mute_progress():
            parts = embedded_pieces(problem.X, weights, pieces, settings, 1)
            Y = parts.Y
            if settings.coordinates == "chart" or np.isnan(Y).any() or len(parts.eigenpairs) > 1:
                drawing = (problem.X, found.graph, cut, parts, pieces, problem.flat_share)
                Y = rescaled_coordinates(*drawing, settings, 1, problem.geometry).Y
    except HNEError as error:
        return trial(FAILED, reason=_first_sentence(error))
    return _measured(problem.geometry.scorer, Y, best, trial, is_chart=settings.coordinates == "chart")


def _measured(
    scorer: TangentScorer, Y: FloatArray, best: float, trial: Callable[..., Trial], *, is_chart: bool
) -> Trial:
    """Measure the embedding; one whose tangents alone lose more than the best loses in all is not ranked."""
    scorer = scorer.among(np.asarray(np.isfinite(Y).all(axis=1)))
    if not len(scorer.frames.rows):
        return trial(FAILED, reason="too few samples are embedded")
    loss = scorer.tangent_loss(Y)
    if loss > best:
        return trial(STOPPED, score=loss, reason="its tangents lose too much")
    measure = scorer.measure(Y)
    return trial(MEASURED, score=measure.score, measure=measure, Y=Y if is_chart else Y @ measure.correction)


def _first_sentence(error: HNEError) -> str:
    return str(error).split(". ")[0]


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
