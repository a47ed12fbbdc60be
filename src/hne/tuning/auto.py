"""Samples -> the settings that suit them: `tune`, and what "auto" stands for."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from hne._runtime.progress import advise, mute_progress, show_progress, stage
from hne._runtime.threads import limit_blas_threads, thread_count
from hne.core.neighbors.curve import CURVE_MAX_SAMPLES, find_curve
from hne.core.neighbors.graph import neighbor_graph, searched_graph
from hne.core.parameters import check_number, check_parameters, check_settings
from hne.core.pipeline import known_distances
from hne.core.records import FloatArray, IndexArray, NeighborGraph, UniqueSamples
from hne.core.samples.canonical import InputScaling, canonicalize
from hne.core.samples.check import check_samples
from hne.core.samples.kinds import Samples, is_dense, take
from hne.core.short_circuits.cut import ChosenEdges
from hne.core.tangent.frames import flat_share, frame_neighbors, is_measurable
from hne.core.tangent.score import LocalGeometry
from hne.exceptions import InputTypeError, quoted, refuse
from hne.settings import AUTO, CURVE_NEIGHBORS, LAYOUT_NEIGHBORS, VARIANTS, Settings, chart_reg, fill_defaults
from hne.tuning.trials import FAILED, NOT_REACHED, Candidate, Problem, Trial, Tuning, choose, in_order, run_trials

# Values by name; None for those that are usual.
Grid = dict[str, tuple[Any, ...] | None]

# Charts near a surface, 24 settings. On 21 data sets their choice has a mean error of .0048, that of 105 (k from 4 on,
# reg from 1e-5 to .1) .0055, the defaults .0174.
#: Values that `hne.tuning.tune` combines near a surface, by parameter ("variant", "n_neighbors", "reg"): 24 settings.
GRID: dict[str, tuple[Any, ...]] = {"variant": VARIANTS, "n_neighbors": (8, 10, 12, 16), "reg": (1e-3, 1e-4)}
# Layouts, 4 settings: between 0.01 and 0.1 reg hardly matters, nor does the variant.
GRID_OF_LAYOUTS: dict[str, tuple[Any, ...]] = {"variant": ("ihne",), "n_neighbors": (7, 10, 15, 20), "reg": (0.1,)}
# Charts of curves and rings, across which more neighbors would reach: their defaults.
GRID_OF_CURVES: dict[str, tuple[Any, ...]] = {
    "variant": ("ihne",),
    "n_neighbors": (CURVE_NEIGHBORS,),
    "reg": (chart_reg(CURVE_NEIGHBORS),),
}
# Without charts, 84 settings: with reg 1e-6 and 1e-7 beside them, the choice is no better.
GRID_OF_EIGENVECTORS: dict[str, tuple[Any, ...]] = {
    "variant": VARIANTS,
    "n_neighbors": (4, 5, 6, 7, 8, 10, 12),
    "reg": (1e-2, 1e-3, 1e-4, 1e-5),
}
# More samples are tuned on a patch of so many, which grows by so many neighbors.
MAX_SAMPLES, PATCH_SAMPLES, PATCH_NEIGHBORS = 20_000, 5_000, 8
# Trials whose coordinates are kept.
KEPT = 12


def tune(
    X: ArrayLike, *, grid: Mapping[str, Iterable[Any]] | None = None, budget: float | None = None, **parameters: Any
) -> Tuning:
    """Find the variant, n_neighbors and reg that suit the samples, without knowing the truth about them.

    Each setting is fitted, and its embedding is scored: a chart and eigenvectors by `hne.metrics.tangent_score`, which
    measures the loss of tangent spaces, neighborhoods and distances; a layout by its neighborhoods alone, (1 -
    trustworthiness) + (1 - continuity). All settings share one neighbor search; those that cannot win any more are
    stopped early.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples, as for `hne.HNE`. Of more than 20 000, a connected patch of 5 000 is tuned on, as dense as the
        whole.
    grid : dict or None, default=None
        Values of "variant", "n_neighbors" and "reg" to try, all combinations of them. More take longer and may find
        better. What is left out keeps the usual values: for a chart those of `hne.tuning.GRID`, 24 settings in all,
        for a layout 4 numbers of neighbors, for eigenvectors 84. None tries 4 to 7 of the 24: each n_neighbors first
        and, unless one of these is good enough, the best with another reg or variant.
    budget : float or None, default=None
        Seconds after which no further settings are begun. The usually best ones come first. None has no limit.
    **parameters
        Further parameters of `hne.HNE`, such as n_components, metric or n_jobs. A variant, n_neighbors or reg among
        them is kept, unless it is "auto".

    Returns
    -------
    Tuning
        `best`, `runner_up`, `trials` (all of them), and `parameters` to pass to `hne.HNE`.

    See Also
    --------
    hne.HNE : Does the same in `fit` for what is "auto".
    hne.viz.write_tuning_report : The search as a page to look at.

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
    settings, auto, unset = check_parameters({**dict.fromkeys(GRID, AUTO), **parameters})
    for name in GRID:
        if grid and name in grid and name not in auto:
            refuse(name, "must be given once", f"{quoted(parameters[name])} beside a list in grid", "Drop one of them")
    values = check_grid(grid, settings, auto)
    seconds = math.inf if budget is None else check_number("budget", budget)
    if not seconds > 0:
        refuse("budget", "must be a positive number of seconds", quoted(budget), "Try budget=60")
    samples = check_samples(X, settings)
    return _search(samples, _with_dimension(samples, settings, auto), values, unset, seconds)


def resolve_auto(
    X: Samples, settings: Settings, auto: frozenset[str], unset: Collection[str] = ()
) -> tuple[Settings, Tuning | None]:
    """Choose what is "auto" for checked samples: first the dimension, then the rest for it; `unset` is left open."""
    settings, names = _with_dimension(X, settings, auto), auto & GRID.keys()
    if not names:
        return settings, None
    tuning = _search(X, settings, check_grid(None, settings, names), unset)
    return replace(settings, coordinates=tuning.settings.coordinates, **tuning.best.parameters), tuning


def _with_dimension(X: Samples, settings: Settings, auto: frozenset[str]) -> Settings:
    """The settings, with the intrinsic dimension of checked samples where that is "auto"."""
    if "n_components" not in auto:
        return settings
    n_threads = thread_count(settings.n_jobs)
    _, _, places, by = canonicalize(X, settings)
    with limit_blas_threads(n_threads), show_progress(settings.verbose), stage("dimension") as done:
        estimate = done(LocalGeometry.of(places, by, n_threads).dimension)
    if estimate is None:
        rule = "needs more different samples to tell their dimension by"
        refuse("n_components='auto'", rule, str(places.shape[0]), "Give n_components")
    if not estimate.is_agreed:
        rule = "n_components='auto' takes the samples' own dimension"
        advise(f"{rule}, got two estimates that do not agree: {estimate}. Look at others as well.")
    return replace(settings, n_components=estimate.dimension)


def check_grid(grid: Mapping[str, Any] | None, settings: Settings, auto: Collection[str]) -> Grid:
    """Values to try: those of the grid, one where a setting is fixed, None for the usual ones."""
    if not isinstance(grid, Mapping | None):
        remedy = "Try grid={'n_neighbors': [6, 8, 10]}"
        refuse("grid", "must be a dict of lists", quoted(grid), remedy, InputTypeError)
    grid = grid or {}
    unknown = sorted(set(grid) - set(GRID), key=str)
    if unknown:
        refuse("grid", "must have the keys variant, n_neighbors and reg", quoted(unknown[0]), "Drop it")
    checked: Grid = {name: None if name in auto else (getattr(settings, name),) for name in GRID}
    for name, values in grid.items():
        several = (values,) if isinstance(values, str) or not isinstance(values, Iterable) else tuple(values)
        if not several or None in several:
            got = "None among them" if several else "none"
            refuse("grid", f"must have a value for {name} at least", got, "Leave the key out for the usual ones")
        checked[name] = tuple(dict.fromkeys(getattr(check_settings({name: value}), name) for value in several))
    return checked


GRIDS = {"chart": GRID, "layout": GRID_OF_LAYOUTS, "eigenvectors": GRID_OF_EIGENVECTORS}


def candidates(
    values: Grid,
    settings: Settings,
    unset: Collection[str],
    flat_share: float,
    n_samples: int,
    usual: Mapping[str, tuple[Any, ...]],
) -> list[Candidate]:
    """List the settings to try: the given values, or the usual ones.

    Those that are unset have their defaults; that of reg depends on the number of neighbors beside it.
    """
    tried = [
        (getattr(settings, name),) if name in unset else usual[name] if some is None else some
        for name, some in values.items()
    ]
    wanted = [Candidate(**dict(zip(values, one, strict=True))) for one in product(*tried)]
    if "reg" not in unset:
        return wanted
    by_neighbors = {
        k: fill_defaults(replace(settings, n_neighbors=k), ["reg"], flat_share, n_samples).reg
        for k in {one.n_neighbors for one in wanted}
    }
    return [one._replace(reg=by_neighbors[one.n_neighbors]) for one in wanted]


def _search(X: Samples, settings: Settings, values: Grid, unset: Collection[str], budget: float = math.inf) -> Tuning:
    """Search the settings among these values for checked samples; `unset` ones are left to what they are near to."""
    start, n_threads = time.perf_counter(), thread_count(settings.n_jobs)
    distinct, scaling, places, settings = canonicalize(X, settings)
    n = places.shape[0]
    flatness = flat_share(places, settings.n_components, settings.metric, settings.metric_params, n_threads)
    is_open = settings.coordinates == AUTO
    settings = fill_defaults(settings, unset, flatness, n, known_distances(places))
    usual = GRIDS[settings.coordinates]
    if is_open and settings.coordinates == "layout" and is_curve(places, distinct, settings, n_threads):
        settings, usual = replace(settings, coordinates="chart"), GRID_OF_CURVES
    wanted = candidates(values, settings, unset, flatness, n, usual)
    with limit_blas_threads(n_threads), show_progress(settings.verbose), stage("tuning") as done:
        rows, chosen = None, ChosenEdges.of(settings, distinct)
        # Few enough to need no landmarks.
        tried = replace(settings, n_landmarks=None)
        if n > MAX_SAMPLES:
            by = replace(tried, n_neighbors=PATCH_NEIGHBORS, neighbors="auto")
            rows = grow_patch(searched_graph(places, by, n_threads), PATCH_SAMPLES)
            places, chosen = take(places, rows), chosen.among(rows)
        places, graph, most = _pose(places, distinct, tried, wanted, rows is not None, n_threads)
        geometry = LocalGeometry.of(places, tried, n_threads)
        # Frames and ranks are made here, before threads share them.
        if not len(geometry.scorer.frames.members):
            near = frame_neighbors(settings.n_components)
            rule = f"as a graph of distances must know those among the {near} nearest of a sample to choose settings by"
            refuse("X", rule, "none that does", "Store more, or give n_neighbors, reg and variant")
        problem = Problem(places, graph, geometry, flatness, chosen, tried, n_threads, start + budget)
        # Where values were listed, somebody wants to see them; elsewhere a score tells less; eigenvectors take a vote.
        is_listed = any(some and len(some) > 1 for some in values.values())
        is_quick = not is_listed and usual is GRID
        trials = run_trials(problem, [one for one in wanted if one.n_neighbors <= most], is_quick=is_quick)
        why = f"there are {most} neighbors at most"
        trials += [Trial(*one, FAILED, reason=why) for one in wanted if one.n_neighbors > most]
        if all(trial.outcome == NOT_REACHED for trial in trials):
            refuse("budget", "must be enough for one setting at least", f"{budget:g} seconds", "Raise it")
        if not any(trial.is_measured for trial in trials):
            got = f"{len(trials)} of which none does: {trials[0].reason}"
            refuse("grid", "must have a setting that works", got, "Try others, larger n_neighbors or pieces='largest'")
        return done(_tuning(trials, settings, distinct, scaling, rows, geometry, start))


def is_curve(X: Samples, distinct: UniqueSamples, settings: Settings, n_threads: int) -> bool:
    """Return whether the samples form a curve or ring, of which a fit with default parameters draws a chart."""
    if X.shape[0] > CURVE_MAX_SAMPLES:
        return False
    by = fill_defaults(settings, ["n_neighbors"], math.nan, X.shape[0], known_distances(X))
    by = replace(by, n_neighbors=min(by.n_neighbors, LAYOUT_NEIGHBORS))
    with mute_progress():
        return find_curve(neighbor_graph(X, by, distinct, n_threads)) is not None


def _pose(
    X: Samples, distinct: UniqueSamples, settings: Settings, wanted: Sequence[Candidate], is_patch: bool, n_threads: int
) -> tuple[Samples, NeighborGraph, int]:
    """The samples in as few features as hold them, their graph of the largest k, and the most neighbors there are."""
    d, most, graph = settings.n_components, X.shape[0] - 1, None
    if isinstance(settings.neighbors, NeighborGraph):
        if is_patch:
            rule = f"as a graph can be tuned with for up to {MAX_SAMPLES} samples"
            remedy = "Let them be searched, or give n_neighbors, reg and variant"
            refuse("neighbors", rule, str(distinct.n_places), remedy)
        # The graph over places that the user gave, whole: each k takes its nearest.
        graph = neighbor_graph(X, replace(settings, n_neighbors=settings.neighbors.n_neighbors), distinct, 1)
        most = graph.n_neighbors
    if not is_measurable(X.shape[0], d):
        rule = f"must have some {2 * frame_neighbors(d) + 2} different samples to choose settings by"
        refuse("X", rule, str(X.shape[0]), "Give them: n_neighbors=6, reg=1e-4, variant='bhne'")
    possible = [one.n_neighbors for one in wanted if one.n_neighbors <= most]
    if not possible:
        fewest = min(one.n_neighbors for one in wanted)
        refuse("grid", f"must have an n_neighbors of at most {most}", str(fewest), "Add smaller ones")
    if is_dense(X) and X.shape[1] > X.shape[0] and settings.metric == "euclidean":
        # More features than samples are turned into as many axes: the same lengths, for less.
        corner: FloatArray = np.linalg.qr((X - X.mean(axis=0)).T, mode="r")  # type: ignore[assignment]  # says its stub
        X = corner.T
    if graph is None:
        graph = searched_graph(X, replace(settings, n_neighbors=max(possible)), n_threads)
    return X, graph, most


def _tuning(
    trials: Sequence[Trial],
    settings: Settings,
    distinct: UniqueSamples,
    scaling: InputScaling,
    rows: IndexArray | None,
    geometry: LocalGeometry,
    start: float,
) -> Tuning:
    """What trials on places, `rows` of them, tell of the samples, in their units."""
    best, runner_up = choose(trials)
    order = np.arange(distinct.n_samples) if rows is None else np.sort(distinct.index[rows])
    places = distinct.inverse[order] if rows is None else np.searchsorted(rows, distinct.inverse[order])
    ordered = in_order(trials)
    kept = [*ordered[:KEPT], best, runner_up]

    def of_samples(trial: Trial) -> Trial:
        measure, Y = trial.measure, None
        # The correction of coordinates in the scale of X is a number without a unit.
        if measure is not None and not settings.in_lengths:
            measure = replace(measure, correction=scaling.restore_lengths(measure.correction))
        if trial.Y is not None and any(trial is one for one in kept):
            Y = scaling.restore_lengths(trial.Y[places])
        return replace(trial, measure=measure, Y=Y)

    by_trial = {id(trial): of_samples(trial) for trial in ordered}
    return Tuning(
        best=by_trial[id(best)],
        runner_up=None if runner_up is None else by_trial[id(runner_up)],
        trials=tuple(by_trial.values()),
        settings=replace(settings, **best.parameters),
        n_samples=distinct.n_samples,
        rows=None if rows is None else order,
        dimension=geometry.dimension,
        seconds=time.perf_counter() - start,
    )


def grow_patch(graph: NeighborGraph, size: int) -> IndexArray:
    """Rows, ascending, that are fewest steps in the graph away from a sample in a region of usual density.

    A random choice of samples would thin them out, and settings suit a density.
    """
    n = graph.n_samples
    order = np.argsort(graph.distances[:, -1], kind="stable")
    present = graph.indices >= 0
    ends = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    links = csr_array((np.ones(int(ends[-1])), graph.indices[present], ends), shape=(n, n))
    patch: IndexArray = np.empty(0, dtype=np.intp)
    # From the middle of the order outwards, until there are enough: a start may sit in a small piece.
    for start in order[np.argsort(np.abs(np.arange(n) - n // 2), kind="stable")]:
        if len(patch) >= size:
            break
        if not np.isin(start, patch):
            near = breadth_first_order(links, int(start), directed=False, return_predecessors=False)
            patch = np.concatenate([patch, near[~np.isin(near, patch)]])
    return np.sort(patch[:size])
