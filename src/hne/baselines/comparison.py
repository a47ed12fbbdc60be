"""X -> MethodResult, one a method: what HNE and the methods beside it make of the same samples, measured alike.

Measures compare coordinates with X, and no truth is known. LLE, its relatives and the three variants of HNE give
whitened coordinates, an affine distortion of what anybody would draw, and ranks of neighbors and of paths suffer from
it; the others are measured as they come. In a study of 66 data sets with a known chart, the embedding that looked best
by such measures was often not the one nearest the truth (median regret .03 to .49 in 1 - R^2). They show what went
wrong; they do not decide who is right.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hne._runtime.progress import advised, run_stage
from hne._runtime.random import random_generator
from hne.baselines import BASELINES, METHODS, baseline_embedding
from hne.baselines.methods import check_common
from hne.core.pipeline import embed
from hne.core.records import FloatArray
from hne.core.samples.check import check_matrix, check_samples
from hne.exceptions import HNEError, refuse
from hne.metrics import geodesic_quality, rank_quality
from hne.settings import PUBLISHED, VARIANTS, Settings
from hne.viz.plots import compare

# HNE as it is by default, last: where a table in a terminal ends.
DEFAULT_HNE = "hne"
COMPARED_METHODS = (*METHODS, *VARIANTS, DEFAULT_HNE)
# Neighbors by which all are measured, as many samples as there are permitting.
MEASURED_NEIGHBORS = 10
# Samples that paths start from: each method walks them anew, in 0.3 s of 2 000 samples.
LANDMARKS = 300
# Samples above which a method is run only where it is named, k = 8, 2 cores. MLLE, HLLE and LTSA: 5 to 13 s at 3 000,
# 6 to 46 s at 5 000, because ARPACK often gives up and LAPACK takes n^3. The lower times are of a Swiss roll, the
# higher of 4 dimensions with noise in 20.
# Those with their own defaults, on one core: Isomap 5 to 6 s at 5 000, 19 to 24 s at 10 000; spectral embedding, whose
# neighbors are n / 10, 11 to 12 s and 81 to 95 s; PHATE 11 to 12 s and 17 s; t-SNE 12 to 15 s at 3 000, 22 to 28 s at
# 5 000. UMAP 9 s at 3 000, and 11 s before to load and compile; from 4 096 on it compiles more, 37 s in all.
SLOW_ABOVE = {
    **dict.fromkeys(("mlle", "hlle", "ltsa", "tsne"), 3_000),
    "umap": 4_000,
    **dict.fromkeys(("isomap", "spectral", "phate"), 5_000),
}
# Letters of a reason beside the numbers of a table: together some 110.
SHORT_REASON = 62
# The measures by their names in a record, and as a table heads them; more is better in each.
MEASURES = {
    "trustworthiness": "trust",
    "continuity": "contin.",
    "preservation": "kept",
    "geodesic_correlation": "geodesic",
}


@dataclass(frozen=True, eq=False)
class MethodResult:
    """What one method made of the samples; measures are NaN where it made nothing."""

    label: str
    Y: FloatArray | None = None  # (n, d), NaN for samples that it left out
    reason: str = ""  # why there are no coordinates, or no measures of them, in a line
    seconds: float = 0.0  # that the method took
    trustworthiness: float = nan
    continuity: float = nan
    preservation: float = nan
    geodesic_correlation: float = nan  # Spearman's, of distances and paths along the samples
    n_measured: int = 0  # samples with coordinates
    warnings: tuple[str, ...] = ()  # of the method, and its advice, a line each
    is_skipped: bool = False  # whether it was not run, because it would take long

    def __str__(self) -> str:
        if self.reason:
            return shorten(f"none: {self.reason}", 52, placeholder=" ...")
        return f"trustworthiness {self.trustworthiness:.3f}, continuity {self.continuity:.3f}"


def comparison(
    X: ArrayLike,
    methods: Sequence[str] | None = None,
    n_neighbors: int | None = None,
    n_components: int = 2,
    reg: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = -1,
) -> tuple[MethodResult, ...]:
    """Embed the samples by several methods, and measure what each made of them.

    A method that fails, or warns, says so in its record, and the others go on. Measures judge coordinates against X:
    they are not the truth.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples, one a row.
    methods : sequence of str, default=None
        Names of `COMPARED_METHODS`, in the order in which they are run; "hne" is HNE with its defaults, the variants
        are the published ones. None runs all that are installed, but for those that would take long with so many
        samples.
    n_neighbors : int, default=None
        Neighbors of a sample, for all methods that have them. None is 6 for LLE, its relatives and the variants of
        HNE, and for other methods their own default, because people compare with what they would get.
    n_components : int, default=2
        The number of coordinates.
    reg : float, default=None
        Ridge, for all methods that have one. None is 1e-4, but the default of "hne" for that.
    random_state : int, RandomState or None, default=0
        One seed for all methods and measures.
    n_jobs : int or None, default=-1
        Threads: -1 for all cores.

    Returns
    -------
    tuple of MethodResult
        One a method.

    Examples
    --------
    >>> from hne.datasets import make_swiss_roll
    >>> lle, bhne = comparison(make_swiss_roll(300, random_state=0).X, ["lle", "bhne"])
    >>> bhne.label, bhne.trustworthiness > lle.trustworthiness
    ('BHNE', True)
    """
    named = {name: value for name, value in (("n_neighbors", n_neighbors), ("reg", reg)) if value is not None}
    common = {"n_components": n_components, "n_jobs": n_jobs, "random_state": random_state}
    settings = check_common({**PUBLISHED, **named, **common})
    samples: FloatArray = check_samples(check_matrix(X), settings)
    # A generator would go on from method to method: one number of it serves all.
    seed = random_state
    if not isinstance(seed, int):
        seed = int(random_generator(seed, is_draw=True).randint(2**31 - 1))
    settings = replace(settings, random_state=seed)
    chosen = installed_methods() if methods is None else _check_methods(methods)
    return tuple(
        run_stage(label_of(method), _compare, method, samples, settings, named, methods is not None)
        for method in chosen
    )


def installed_methods() -> tuple[str, ...]:
    """Names of the methods whose libraries are there."""
    return tuple(name for name in COMPARED_METHODS if name not in BASELINES or BASELINES[name].is_installed)


def label_of(method: str) -> str:
    """What tables and pictures call a method."""
    return BASELINES[method].label if method in BASELINES else method.upper()


def _check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return the names in lower case, each once."""
    names = [str(method).lower() for method in ([methods] if isinstance(methods, str) else methods)]
    unknown = [name for name in names if name not in COMPARED_METHODS]
    if unknown or not names:
        got = ", ".join(repr(name) for name in unknown) or "none"
        refuse("methods", f"must be of {', '.join(COMPARED_METHODS)}", got, "Choose of these, or leave it out for all")
    for name in names:
        if name in BASELINES:
            BASELINES[name].check_installed()
    return tuple(dict.fromkeys(names))


def _compare(method: str, X: FloatArray, settings: Settings, named: dict[str, Any], is_named: bool) -> MethodResult:
    """Embed and measure; `is_named` methods are run however long they take."""
    label, most = label_of(method), SLOW_ABOVE.get(method, inf)
    if len(X) > most and not is_named:
        return MethodResult(label, reason=f"skipped above {most} samples, unless methods names it", is_skipped=True)
    heard: list[str] = []
    Y, reason = None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        try:
            # In a context without listeners: a method's own stages would be told as if they were ours.
            Y = Context().run(_coordinates, method, X, settings, named, heard.append)
        except (HNEError, MemoryError, np.linalg.LinAlgError) as error:
            reason = _one_line(error)
        seconds = time.perf_counter() - start
    heard += [str(one.message) for one in caught]
    notices = tuple(dict.fromkeys(" ".join(message.split()) for message in heard))
    result = MethodResult(label, Y, reason, seconds=seconds, warnings=notices)
    try:
        return result if Y is None else replace(result, **_measures(Y, X, settings))
    except (HNEError, MemoryError) as error:
        return replace(result, reason=f"not measured: {_one_line(error)}")


def _coordinates(
    method: str, X: FloatArray, settings: Settings, named: dict[str, Any], hear: Callable[[str], None]
) -> FloatArray:
    """Coordinates by one method; who has defaults of its own gets what was `named` alone."""
    has_defaults = method == DEFAULT_HNE or (method in BASELINES and bool(BASELINES[method].estimator))
    parameters = {name: getattr(settings, name) for name in ("n_components", "random_state", "n_jobs")}
    parameters |= named if has_defaults else {"n_neighbors": settings.n_neighbors, "reg": settings.reg}
    with advised(hear):
        if method in VARIANTS:
            return embed(X, **{**vars(settings), "variant": method}).Y
        return embed(X, **parameters).Y if method == DEFAULT_HNE else baseline_embedding(method, X, **parameters)


def _measures(Y: FloatArray, X: FloatArray, settings: Settings) -> dict[str, Any]:
    """The measures of those samples that have coordinates, and how many these are."""
    kept = np.isfinite(Y).all(axis=1)
    n = int(kept.sum())
    # Ranks are compared with those of the other half of the samples; of all, so that methods are measured alike.
    k = max(1, min(MEASURED_NEIGHBORS, (len(X) - 1) // 2))
    common: dict[str, Any] = {"random_state": settings.random_state, "n_jobs": settings.n_jobs}
    ranks = rank_quality(X[kept], Y[kept], k, **common)
    paths = geodesic_quality(X[kept], Y[kept], k, n_landmarks=min(LANDMARKS, n), **common)
    measures = {name: getattr(ranks, name) for name in ("trustworthiness", "continuity", "preservation")}
    return {**measures, "geodesic_correlation": paths.rank_correlation, "n_measured": n}


def _one_line(error: BaseException) -> str:
    words = " ".join(str(error).split())
    return words or ("not enough memory" if isinstance(error, MemoryError) else type(error).__name__)


def comparison_table(results: Sequence[MethodResult]) -> tuple[str, list[str]]:
    """Header and lines of a table for a terminal, a method a line, the best of each column marked with `*`.

    Best is who cannot be told from the best in the digits that are shown. Reasons are cut to fit; records have them
    whole.
    """
    columns = [["method", *(one.label for one in results)]]
    columns += [[f"{head} ", *_column([getattr(one, name) for one in results])] for name, head in MEASURES.items()]
    # Whoever made nothing made it in no time.
    seconds = [nan if one.Y is None else -one.seconds for one in results]
    columns.append(["seconds ", *_column(seconds, digits=2)])
    columns.append(["", *(shorten(one.reason, SHORT_REASON, placeholder=" ...") for one in results)])
    widths = [max(len(text) for text in column) for column in columns]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:-1], widths[1:-1]), row[-1]]).rstrip()
        for row in zip(*columns, strict=True)
    ]
    return lines[0], lines[1:]


def _column(values: Sequence[float], digits: int = 3) -> list[str]:
    """Sizes of the values as text, the largest value marked; a dash where there is none."""
    known = [round(value, digits) for value in values if not isnan(value)]
    best = max(known, default=nan)
    marks = ["*" if not isnan(value) and round(value, digits) == best else " " for value in values]
    texts = ["-" if isnan(value) else f"{abs(value) if digits == 2 else value:.{digits}f}" for value in values]
    return [text + mark for text, mark in zip(texts, marks, strict=True)]


def comparison_records(results: Sequence[MethodResult]) -> list[dict[str, str | float | int | None]]:
    """The comparison as rows for CSV or JSON: text and numbers, None where there is no number."""
    return [
        {
            "method": one.label,
            "seconds": one.seconds,
            **{name: None if isnan(getattr(one, name)) else getattr(one, name) for name in MEASURES},
            "n_measured": one.n_measured,
            "reason": one.reason,
            "warnings": " | ".join(one.warnings),
        }
        for one in results
    ]


def comparison_picture(results: Sequence[MethodResult], color: Any = None, title: str | None = None) -> NDArray[Any]:
    """Draw all side by side, reasons where there is nothing to draw; return the axes."""
    titles = {}
    for one in results:
        if one.is_skipped:
            titles[one.label] = f"{one.label}: skipped"
        elif not isnan(one.trustworthiness):
            titles[one.label] = f"{one.label}: trustworthiness {one.trustworthiness:.3f}"
    shown = {one.label: one.reason if one.Y is None else one.Y for one in results}
    return compare(shown, color, titles=titles, title=title)
