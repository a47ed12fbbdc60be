"""Embedding, X -> numbers that say how well the picture keeps the samples, beside those of PCA."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hne.core.pieces.arrange import leading_coordinates
from hne.core.records import BoolArray, Embedding, FloatArray, IndexArray
from hne.core.samples.canonical import InputScaling
from hne.core.samples.kinds import Distances, lengths_between
from hne.exceptions import HNEError
from hne.metrics import rank_quality
from hne.metrics.geodesics import geodesic_qualities
from hne.settings import PRECOMPUTED

# Seconds that a pair of samples takes at most, counting and sorting, and each feature of it (as in NumPy; compiled, a
# fifth of it); and what ranks may take in all.
COUNTING, SORTING, FEATURE = 15e-9, 80e-9, 0.5e-9
MOST_COUNTED, RANK_SECONDS, FEWEST_RANKED = 20, 1.5, 100
# Samples that all paths together may visit (a second or so), and the least number of samples that paths start from.
PATH_VISITS, FEWEST_LANDMARKS, MOST_LANDMARKS = 1_000_000, 5, 500
# Sparse samples of so many numbers are made dense to be measured.
DENSE_MAX = 4_000_000
# Places whose links are measured, where the graph's distances are not lengths.
MEASURED_PLACES = 2_000
OF_RANKS = ("trustworthiness", "continuity", "preservation")
OF_PATHS = ("geodesic rank correlation", "residual variance")


@dataclass(frozen=True)
class Measure:
    """A number about the embedding, and what it was measured on."""

    name: str
    value: float | None  # None where it cannot be had: `note` says why
    note: str = ""
    standard_error: float | None = None  # None where nothing was left to chance
    of_pca: float | None = None  # the same of as many principal components; None where they cannot be had

    @property
    def text(self) -> str | None:
        """The number as people write it."""
        return None if self.value is None else written(self.value)


def written(value: float) -> str:
    """A number as people write it.

    >>> written(0.12345), written(3e-9)
    ('0.123', '3.0e-09')
    """
    return f"{value:.3f}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.1e}"


def measures(
    result: Embedding, X: Any = None, *, dense_max: int = DENSE_MAX, rank_seconds: float = RANK_SECONDS
) -> tuple[Measure, ...]:
    """All measures of an embedding against its samples; X=None takes those that the embedding keeps.

    Sparse samples are measured up to `dense_max` numbers, ranks of so many samples as take about `rank_seconds`.
    """
    # In the units of the fit: what is drawn, within the range of float64.
    Y = result.core.Y[result.distinct.inverse]
    is_embedded: BoolArray = np.asarray(np.isfinite(Y).all(axis=1))
    Y = Y[is_embedded]
    samples = _dense_samples(result, X, dense_max)
    if isinstance(samples, str):
        compared = _missing((*OF_RANKS, *OF_PATHS), samples)
    else:
        samples = samples[is_embedded]
        linear = leading_coordinates(InputScaling.fit(samples).transform(samples), Y.shape[1])
        ranks = _of_ranks(result, samples, Y, linear, rank_seconds)
        # Pairs of embedded samples, numbered among themselves, whose edge was cut: other paths would take them.
        pairs = result.cut_pairs
        cut = (np.cumsum(is_embedded) - 1)[pairs[is_embedded[pairs].all(axis=1)]]
        compared = [*ranks, *_of_paths(result, samples, Y, linear, cut)]
    eigenpairs = result.eigenpairs
    if result.settings.coordinates == "layout":
        return (*compared, _of_rebuilding(result, is_embedded))
    if eigenpairs is None:
        residual, note = None, "Not measured: the largest piece is too small for eigenvectors."
    else:
        which = "Of the largest piece. " if len(result.core.eigenpairs) > 1 else ""
        residual, note = float(eigenpairs.residuals.max()), f"{which}{eigenpairs.certificate}."
    return (*compared, _of_rebuilding(result, is_embedded), Measure("eigenvector residual", residual, note))


def better_by_pca(compared: Sequence[Measure]) -> list[str]:
    """What to say where PCA has fewer strangers among neighbors and loses fewer of them; else nothing."""
    lost = [
        f"{one.name} {written(one.of_pca)} against {one.text}"
        for one in compared
        # As it is written; and beyond what chance may do, where samples were drawn.
        if one.name in {"trustworthiness", "continuity"}
        and one.value is not None
        and one.of_pca is not None
        and round(one.of_pca, 3) > round(one.value + 2 * (one.standard_error or 0.0), 3)
    ]
    sentence = (
        f"PCA keeps neighborhoods better here: {', '.join(lost)}. A linear projection may be all that this data needs, "
        "or other settings suit it better."
    )
    return [sentence] if len(lost) == 2 else []


def _dense_samples(result: Embedding, X: Any, dense_max: int) -> FloatArray | str:
    """Dense samples, a row each; or why there are none."""
    if isinstance(result.core.X, Distances) and (X is None or result.settings.metric == PRECOMPUTED):
        return "only distances between samples are known, no coordinates"
    if X is None:
        X = result.core.X[result.distinct.inverse]
    if issparse(X):
        if math.prod(X.shape) > dense_max:
            return f"the samples are sparse, and {X.shape[0]} x {X.shape[1]} numbers too many to measure"
        X = X.toarray()
    return np.asarray(X, dtype=np.float64)


def _missing(names: Sequence[str], reason: str) -> list[Measure]:
    return [Measure(name, None, f"Not measured, nor is PCA: {reason.rstrip('.')}.") for name in names]


def _of_ranks(
    result: Embedding, X: FloatArray, Y: FloatArray, linear: FloatArray, rank_seconds: float
) -> list[Measure]:
    n = len(Y)
    k = min(result.settings.n_neighbors, (n - 1) // 2)
    if k < 1 or n < 3:
        return _missing(OF_RANKS, f"too few embedded samples, {n}")
    seconds = n * ((COUNTING if k <= MOST_COUNTED else SORTING) + FEATURE * X.shape[1])
    n_ranked = min(n, max(FEWEST_RANKED, int(rank_seconds / seconds)))
    try:
        kept, of_pca = (
            rank_quality(X, one, k, n_sampled=n_ranked, n_jobs=result.settings.n_jobs) for one in (Y, linear)
        )
    except HNEError as error:
        return _missing(OF_RANKS, str(error))
    note = f"{k} neighbors, Euclidean{'' if kept.is_exact else f', on {n_ranked} samples drawn at random'}."
    errors = {name: None if kept.is_exact else getattr(kept, f"{name}_standard_error") for name in OF_RANKS}
    return [Measure(name, getattr(kept, name), note, errors[name], getattr(of_pca, name)) for name in OF_RANKS]


def _of_paths(
    result: Embedding, X: FloatArray, Y: FloatArray, linear: FloatArray, cut: IndexArray
) -> Iterator[Measure]:
    n, k = len(Y), min(result.settings.n_neighbors, result.distinct.n_places - 1)
    m = min(n, int(np.clip(PATH_VISITS // max(n, 1), FEWEST_LANDMARKS, MOST_LANDMARKS)))
    try:
        kept, of_pca = geodesic_qualities(X, (Y, linear), k, m, 0, result.settings.n_jobs, cut)
    except HNEError as error:
        yield from _missing(OF_PATHS, str(error))
        return
    starts = "" if m == n else f" from {m} samples drawn at random"
    pieces = f"; {kept.share_connected:.1%} of the pairs have a path" if kept.share_connected < 1 else ""
    without = " without the short circuits" if len(cut) else ""
    note = f"{kept.n_pairs} pairs{starts}, paths over {k} neighbors{without}{pieces}."
    yield Measure(OF_PATHS[0], kept.rank_correlation, note, of_pca=of_pca.rank_correlation)
    yield Measure(OF_PATHS[1], kept.residual_variance, note, of_pca=of_pca.residual_variance)


def _of_rebuilding(result: Embedding, is_embedded: BoolArray) -> Measure:
    """Mean error of the samples, in mean distances to a neighbor."""
    name, X, graph = "relative reconstruction error", result.core.X, result.core.graph
    if result.settings.metric in {"euclidean", PRECOMPUTED} or isinstance(X, Distances):
        lengths = graph.distances[graph.indices >= 0]
    else:
        # Euclidean lengths of the links of some places, evenly drawn.
        n = graph.n_samples
        rows = np.unique(np.linspace(0, n - 1, min(n, MEASURED_PLACES)).astype(np.intp))
        of_rows = [lengths_between(X, X[row : row + 1], graph.indices[row : row + 1]) for row in rows]
        lengths = np.concatenate(of_rows)[graph.indices[rows] >= 0]
    link = float(result.units.restore_lengths(lengths.mean())) if lengths.size else math.nan
    errors = result.reconstruction_errors[is_embedded]
    errors = errors[np.isfinite(errors)]
    if not len(errors) or not 0 < link < math.inf:
        return Measure(name, None, "Not measured: no sample has neighbors at a measurable distance.")
    itself = (
        "Samples take part in rebuilding themselves (include_self=True), which makes the number much smaller."
        if result.settings.include_self
        else "Samples are left out of their own outer layer (include_self=False)."
    )
    return Measure(name, float(errors.mean()) / link, itself)
