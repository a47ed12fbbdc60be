"""X -> Compared, one a method: what HNE and the methods beside it make of the same samples, measured alike.

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
from hne.baselines import METHODS, RIVALS, baseline_embedding
from hne.core.parameters import check_settings
from hne.core.pipeline import embed
from hne.core.records import PUBLISHED, VARIANTS, FloatArray, Settings
from hne.core.samples.check import check_samples
from hne.core.samples.tables import check_matrix
from hne.exceptions import HNEError, InputError
from hne.metrics import geodesic_quality, rank_quality
from hne.viz.plots import compare

# HNE as it is by default, last: where a table in a terminal ends.
DEFAULT_HNE = "hne"
COMPARED_METHODS = (*METHODS, *VARIANTS, DEFAULT_HNE)
# Neighbors by which all are measured, as many samples as there are permitting.
MEASURED_NEIGHBORS = 10
# Samples that paths start from: each method walks them anew, in 0.3 s of 2 000 samples.
LANDMARKS = 300
# Samples above which a method is run only where it is named, k = 8, 2 cores. MLLE, HLLE and LTSA: 5 to 13 s at 3 000,
# 6 to 46 s at 5 000, because ARPACK often gives up and LAPACK takes n^3. CLLE: 0.3 to 10 s at 5 000, 3 to 26 s at
# 10 000. LLC: 6 to 13 s at 5 000. The lower times are of a Swiss roll, the higher of 4 dimensions with noise in 20.
# Those with their own defaults, on one core: Isomap 5 to 6 s at 5 000, 19 to 24 s at 10 000; spectral embedding, whose
# neighbors are n / 10, 11 to 12 s and 81 to 95 s; PHATE 11 to 12 s and 17 s; t-SNE 12 to 15 s at 3 000, 22 to 28 s at
# 5 000. UMAP 9 s at 3 000, and 11 s before to load and compile; from 4 096 on it compiles more, 37 s in all.
SLOW_ABOVE = {
    "mlle": 3_000,
    "hlle": 3_000,
    "ltsa": 3_000,
    "clle": 5_000,
    "llc": 5_000,
    "isomap": 5_000,
    "spectral": 5_000,
    "tsne": 3_000,
    "umap": 4_000,
    "phate": 5_000,
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
    tuple of Compared
        One a method.

    Examples
    --------
    >>>
    >>> from hne.datasets import make_swiss_roll
    >>> lle, bhne = comparison(make_swiss_roll(300, random_state=0).X, ["lle", "bhne"])
    >>> bhne.label, bhne.trustworthiness > lle.trustworthiness
    ('BHNE', True)
    """
    named = {name: value for name, value in (("n_neighbors", n_neighbors), ("reg", reg)) if value is not None}
    given = {**named, "n_components": n_components, "n_jobs": n_jobs, "random_state": random_state}
    settings = check_settings({**PUBLISHED, **given})
    samples: FloatArray = check_samples(check_matrix(X), settings)
    # A generator would go on from method to method: one number of it serves all.
    seed = random_state if isinstance(random_state, int) else int(random_generator(random_state).randint(2**31 - 1))
    settings = replace(settings, random_state=seed)
    chosen = installed_methods() if methods is None else _check_methods(methods)
    left_out = {method for method in chosen if methods is None and len(samples) > SLOW_ABOVE.get(method, inf)}
    return tuple(
        run_stage(label_of(method), _compared, method, samples, settings, named, method not in left_out)
        for method in chosen
    )


def installed_methods() -> tuple[str, ...]:
    """Names of the methods whose libraries are there."""
    return tuple(name for name in COMPARED_METHODS if name not in RIVALS or RIVALS[name].is_installed)


def label_of(method: str) -> str:
    """What tables and pictures call a method."""
    return RIVALS[method].label if method in RIVALS else method.upper()


def _check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return the names in lower case, each once."""
    names = [str(method).lower() for method in ([methods] if isinstance(methods, str) else methods)]
    unknown = [name for name in names if name not in COMPARED_METHODS]
    if unknown or not names:
        got = ", ".join(repr(name) for name in unknown) or "none"
        msg = f"methods must be of {', '.join(COMPARED_METHODS)}, got {got}. Choose of these, or leave it out for all."
        raise InputError(msg)
    for name in names:
        if name in RIVALS:
            RIVALS[name].check_installed()
    return tuple(dict.fromkeys(names))


def _compared(method: str, X: FloatArray, settings: Settings, named: dict[str, Any], is_wanted: bool) -> MethodResult:
    label = label_of(method)
    if not is_wanted:
        return MethodResult(
            label, reason=f"skipped above {SLOW_ABOVE[method]} samples, name it with --methods to run it"
        )
    made = _embedded(method, X, settings, named)
    if made.Y is None:
        return made
    try:
        return _measured(made, made.Y, X, settings)
    except (HNEError, MemoryError) as error:
        return replace(made, reason=f"not measured: {_one_line(error)}")


def _embedded(method: str, X: FloatArray, settings: Settings, named: dict[str, Any]) -> MethodResult:
    """What the method makes of the samples, or why it makes nothing."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        try:
            # In a context without listeners: a method's own stages would be told as if they were ours.
            Y, reason = Context().run(_coordinates, method, X, settings, named, told.append), ""
        except (HNEError, MemoryError, np.linalg.LinAlgError) as error:
            Y, reason = None, _one_line(error)
        seconds = time.perf_counter() - start
    told += [str(one.message) for one in caught]
    notices = tuple(dict.fromkeys(" ".join(message.split()) for message in told))
    return MethodResult(label_of(method), Y, reason, seconds, warnings=notices)


def _coordinates(
    method: str, X: FloatArray, settings: Settings, named: dict[str, Any], hear: Callable[[str], None]
) -> FloatArray:
    """Coordinates by one method; who has defaults of its own is told what was `named` alone."""
    has_defaults = method == DEFAULT_HNE or (method in RIVALS and bool(RIVALS[method].estimator))
    told = {name: getattr(settings, name) for name in ("n_components", "random_state", "n_jobs")}
    told |= named if has_defaults else {"n_neighbors": settings.n_neighbors, "reg": settings.reg}
    with advised(hear):
        if method in VARIANTS:
            return embed(X, **{**vars(settings), "variant": method}).Y
        return embed(X, **told).Y if method == DEFAULT_HNE else baseline_embedding(method, X, **told)


def _measured(made: MethodResult, Y: FloatArray, X: FloatArray, settings: Settings) -> MethodResult:
    """Measure those samples that have coordinates."""
    kept = np.isfinite(Y).all(axis=1)
    n = int(kept.sum())
    # Ranks are compared with those of the other half of the samples; of all, so that methods are measured alike.
    k = max(1, min(MEASURED_NEIGHBORS, (len(X) - 1) // 2))
    common: dict[str, Any] = {"random_state": settings.random_state, "n_jobs": settings.n_jobs}
    ranks = rank_quality(X[kept], Y[kept], k, **common)
    paths = geodesic_quality(X[kept], Y[kept], k, n_landmarks=min(LANDMARKS, n), **common)
    return replace(
        made,
        trustworthiness=ranks.trustworthiness,
        continuity=ranks.continuity,
        preservation=ranks.preservation,
        geodesic_correlation=paths.rank_correlation,
        n_measured=n,
    )


def _one_line(error: BaseException) -> str:
    words = " ".join(str(error).split())
    return words or ("not enough memory" if isinstance(error, MemoryError) else type(error).__name__)


def comparison_table(compared: Sequence[MethodResult]) -> tuple[str, list[str]]:
    """Header and lines of a table for a terminal, a method a line, the best of each column marked with `*`.

    Best is who cannot be told from the best in the digits that are shown. Reasons are cut to fit; records have them
    whole.
    """
    columns = [["method", *(one.label for one in compared)]]
    columns += [[f"{head} ", *_column([getattr(one, name) for one in compared])] for name, head in MEASURES.items()]
    # Whoever made nothing made it in no time.
    seconds = [nan if one.Y is None else -one.seconds for one in compared]
    columns.append(["seconds ", *_column(seconds, digits=2)])
    columns.append(["", *(shorten(one.reason, SHORT_REASON, placeholder=" ...") for one in compared)])
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


def comparison_records(compared: Sequence[MethodResult]) -> list[dict[str, str | float | int | None]]:
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
        for one in compared
    ]


def comparison_picture(compared: Sequence[MethodResult], color: Any = None, title: str | None = None) -> NDArray[Any]:
    """Draw all side by side, reasons where there is nothing to draw; return the axes."""
    found = {one.label: one.reason if one.Y is None else one.Y for one in compared}
    titles = {
        one.label: f"{one.label}: trustworthiness {one.trustworthiness:.3f}"
        for one in compared
        if not isnan(one.trustworthiness)
    }
    titles |= {one.label: f"{one.label}: skipped" for one in compared if one.reason.startswith("skipped")}
    return compare(found, color, titles=titles, title=title)
