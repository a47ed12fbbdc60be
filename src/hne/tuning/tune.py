"""tune(): from samples to the settings that suit them."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hne._runtime.progress import run_stage, show_progress
from hne._runtime.threads import limit_blas_threads, thread_count
from hne.core.neighbors.graph import canonicalize, neighbor_graph, searched_graph
from hne.core.parameters import check_number, check_parameters
from hne.core.pipeline import known_distances
from hne.core.records import FloatArray, IndexArray, NeighborGraph, Settings, UniqueSamples
from hne.core.samples.check import check_samples
from hne.core.samples.kinds import Samples, take
from hne.core.samples.scaling import InputScaling
from hne.core.tangent.dimension import Dimension
from hne.core.tangent.frames import flat_share, frame_neighbors, is_measurable
from hne.core.tangent.score import LocalGeometry
from hne.exceptions import InputError, quoted
from hne.settings import suited
from hne.tuning.grid import GRID, check_grid, found_dimension, settings_of, usual_grid
from hne.tuning.record import FAILED, MEASURED, NOT_REACHED, Trial, Tuning
from hne.tuning.search import Problem, Setting, chosen, ordered, searched
from hne.tuning.subset import patch

# More samples are tuned on a patch of so many.
MAX_SAMPLES, PATCH_SAMPLES = 20_000, 5_000
# Trials whose coordinates are kept.
KEPT = 12


def tune(
    X: ArrayLike, *, grid: Mapping[str, Iterable[Any]] | None = None, budget: float | None = None, **parameters: Any
) -> Tuning:
    """Find the variant, n_neighbors and reg that suit the samples, without knowing the truth about them.

    Each setting is fitted, and its embedding scored by :func:`hne.metrics.tangent_score`: how much it loses of the
    tangent planes of small neighborhoods, and of their ranks. Neighbors, tangent frames and Gram matrices are made
    once for all settings; those that cannot win any more are stopped early.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples, as for `HNE`. Of more than 20 000, a connected patch of 5 000 is tuned on, as dense as the whole.
    grid : dict, default=None
        Values of "variant", "n_neighbors" and "reg" to try; what is left out keeps the usual ones: near a surface those
        of `hne.tuning.GRID`, 24 settings in all, elsewhere 8 of few neighbors, without charts 84.
    budget : float, default=None
        Seconds after which no further settings are begun. The usually best ones come first.
    **parameters
        Further parameters of `HNE`, such as n_components, metric or n_jobs. A variant, n_neighbors or reg among
        them is kept, unless it is "auto".

    Returns
    -------
    Tuning
        `best`, `runner_up`, `trials` (all of them), and `parameters` to pass to `HNE`.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.tuning import tune
    >>> roll = make_swiss_roll(300, even=True)
    >>> found = tune(roll.X, grid={"n_neighbors": [5, 6], "reg": [1e-3, 1e-4]}, variant="ihne")
    >>> len(found.trials), found.best.variant
    (4, 'ihne')
    >>> model = HNE(**found.parameters).fit(roll.X)
    """
    wished, automatic, unset = check_parameters({**dict.fromkeys(GRID, "auto"), **parameters})
    for name in GRID:
        if grid and name in grid and name not in automatic:
            msg = f"{name} must be given once, got {quoted(parameters[name])} beside a list in grid. Drop one of them."
            raise InputError(msg)
    values = check_grid(grid, wished, automatic)
    seconds, samples = _check_budget(budget), check_samples(X, wished)
    if "n_components" in automatic:
        wished = replace(wished, n_components=found_dimension(samples, wished))
    return tuned(samples, wished, values, seconds, unset)


def tuned(
    X: Samples, settings: Settings, values: Sequence[Any], budget: float = math.inf, unset: Collection[str] = ()
) -> Tuning:
    """Search the settings among these values for checked samples; `unset` ones are left to what they are near to."""
    start = time.perf_counter()
    n_threads = thread_count(settings.n_jobs)
    distinct, units, places, settings = canonicalize(X, settings)
    flatness = flat_share(places, settings.n_components, settings.metric, settings.metric_params, n_threads)
    settings = suited(settings, unset, flatness, places.shape[0], known_distances(places))
    wanted = _wanted(settings, values, unset, flatness, places.shape[0])
    with limit_blas_threads(n_threads), show_progress(settings.verbose):
        trials = run_stage("tuning", _trials, places, distinct, settings, wanted, flatness, n_threads, start + budget)
    rows = trials.rows
    if all(trial.outcome == NOT_REACHED for trial in trials):
        msg = f"budget must be enough for one setting at least, got {budget:g} seconds. Raise it."
        raise InputError(msg)
    if not any(trial.outcome == MEASURED for trial in trials):
        msg = (
            f"grid must have a setting that works, got {len(trials)} of which none does: {trials[0].reason}. "
            "Try others, larger n_neighbors or pieces='largest'."
        )
        raise InputError(msg)
    best, runner_up = chosen(trials)
    order = np.arange(distinct.n_samples) if rows is None else np.sort(distinct.index[rows])
    own = distinct.inverse[order] if rows is None else np.searchsorted(rows, distinct.inverse[order])
    in_order = ordered(trials)
    kept = {id(trial) for trial in (*in_order[:KEPT], best, runner_up)}
    # The correction of a chart, which has the lengths of X already, is a number without a unit.
    by = InputScaling(None, 1.0) if settings.coordinates == "chart" else units
    found = tuple(_of_samples(trial, units, by, own if id(trial) in kept else None) for trial in in_order)
    places_of = {id(trial): number for number, trial in enumerate(in_order)}
    return Tuning(
        best=found[places_of[id(best)]],
        runner_up=None if runner_up is None else found[places_of[id(runner_up)]],
        trials=found,
        settings=replace(settings, **best.parameters),
        n_samples=distinct.n_samples,
        rows=None if rows is None else order,
        dimension=trials.dimension,
        seconds=time.perf_counter() - start,
    )


def _wanted(
    settings: Settings, values: Sequence[Any], unset: Collection[str], flatness: float, n_samples: int
) -> list[Setting]:
    """Settings to try; those that were left open are as they suit the samples, reg also the neighbors beside it."""
    usual = usual_grid(settings, flatness)
    tried = [
        (getattr(settings, name),) if name in unset else usual[name] if one is None else one
        for name, one in zip(GRID, values, strict=True)
    ]
    wanted: list[Setting] = settings_of(tried)
    if "reg" not in unset:
        return wanted
    fitting = {k: suited(replace(settings, n_neighbors=k), ["reg"], flatness, n_samples).reg for _, k, _ in wanted}
    return [(variant, k, fitting[k]) for variant, k, _ in wanted]


class _Trials(list[Trial]):
    """Trials that say in a line what they are, and the places they were made on, None for all."""

    rows: IndexArray | None = None
    dimension: Dimension | None = None

    def __str__(self) -> str:
        measured = sum(trial.outcome == MEASURED for trial in self)
        return f"{len(self)} settings, {measured} measured to the end"


def _trials(
    X: Samples,
    distinct: UniqueSamples,
    settings: Settings,
    settings_tried: Sequence[Setting],
    flatness: float,
    n_threads: int,
    until: float,
) -> _Trials:
    """Try the settings on places, or on some of them, which are few enough to need no landmarks."""
    settings = replace(settings, n_landmarks=None)
    rows = patch(X, settings, PATCH_SAMPLES, n_threads) if X.shape[0] > MAX_SAMPLES else None
    if rows is not None:
        X = take(X, rows)
    X = _narrowed(X, settings)
    given = _given_graph(X, settings, distinct, rows)
    wanted, beyond = _possible(settings_tried, X.shape[0], given, settings.n_components)
    largest = replace(settings, n_neighbors=max(k for _, k, _ in wanted))
    graph = searched_graph(X, largest, n_threads) if given is None else given
    geometry = LocalGeometry.of(X, settings, n_threads)
    if not len(geometry.frames.rows):
        msg = (
            f"X as a graph of distances must know those among the {frame_neighbors(settings.n_components)} nearest of "
            "a sample to choose settings by, got none that does. Store more, or give n_neighbors, reg and variant."
        )
        raise InputError(msg)
    trials = _Trials(searched(Problem(X, graph, geometry, flatness, settings, n_threads, until), wanted) + beyond)
    trials.rows = rows
    trials.dimension = geometry.dimension
    return trials


def _narrowed(X: Samples, settings: Settings) -> Samples:
    """Samples of more features than there are samples, turned into as many axes: the same lengths, for less."""
    if not isinstance(X, np.ndarray) or X.shape[1] <= X.shape[0] or settings.metric != "euclidean":
        return X
    corner: FloatArray = np.linalg.qr((X - X.mean(axis=0)).T, mode="r")  # type: ignore[assignment]  # says its stub
    return corner.T


def _given_graph(
    X: Samples, settings: Settings, distinct: UniqueSamples, rows: IndexArray | None
) -> NeighborGraph | None:
    """The graph over places that the user gave, whole: each k takes its nearest. None where it is searched."""
    if not isinstance(settings.neighbors, NeighborGraph):
        return None
    if rows is not None:
        msg = (
            f"neighbors as a graph can be tuned with for up to {MAX_SAMPLES} samples, got {distinct.n_places}. "
            "Let them be searched, or give n_neighbors, reg and variant."
        )
        raise InputError(msg)
    return neighbor_graph(X, replace(settings, n_neighbors=settings.neighbors.n_neighbors), distinct, 1)


def _possible(
    wanted: Sequence[Setting], n_places: int, given: NeighborGraph | None, d: int
) -> tuple[list[Setting], list[Trial]]:
    """Settings whose neighbors exist, and trials of those that have none."""
    if not is_measurable(n_places, d):
        msg = (
            f"X must have some {2 * frame_neighbors(d) + 2} different samples to choose settings by, got {n_places}. "
            "Give them: n_neighbors=6, reg=1e-4, variant='bhne'."
        )
        raise InputError(msg)
    most = n_places - 1 if given is None else given.n_neighbors
    possible = [setting for setting in wanted if setting[1] <= most]
    if not possible:
        msg = f"grid must have an n_neighbors of at most {most}, got {min(k for _, k, _ in wanted)}. Add smaller ones."
        raise InputError(msg)
    why = f"there are {most} neighbors at most"
    return possible, [Trial(*setting, FAILED, reason=why) for setting in wanted if setting[1] > most]


def _check_budget(budget: float | None) -> float:
    if budget is None:
        return math.inf
    seconds = check_number("budget", budget)
    if not seconds > 0:
        msg = f"budget must be a positive number of seconds, got {quoted(budget)}. Try budget=60."
        raise InputError(msg)
    return seconds


def _of_samples(trial: Trial, units: InputScaling, correcting: InputScaling, own: IndexArray | None) -> Trial:
    """The trial in the units of X, with a row for each sample, `own` being their places; None drops all rows."""
    measure = trial.measure
    if measure is not None:
        measure = replace(measure, correction=correcting.restore_lengths(measure.correction))
    Y = None if own is None or trial.Y is None else units.restore_lengths(trial.Y[own])
    return replace(trial, measure=measure, Y=Y)
