"""Embedding, X -> numbers that say how far the picture can be trusted, each with how to read it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hne.core.principal import leading_coordinates
from hne.core.records import PRECOMPUTED, BoolArray, Embedding, FloatArray, IndexArray, NeighborGraph
from hne.core.samples.kinds import Distances, lengths_between
from hne.core.samples.scaling import InputScaling
from hne.exceptions import HNEError
from hne.metrics import rank_quality
from hne.metrics.geodesics import geodesic_qualities

# Seconds that NumPy takes for a pair of samples, counting and sorting, and for each feature of it; and what ranks may
# take in all. Where metrics would rather have numba compiled first, at 5 s, is never reached below 100 rows.
COUNTING, SORTING, FEATURE = 15e-9, 80e-9, 0.5e-9
MOST_COUNTED, RANK_SECONDS, FEWEST_RANKED = 20, 1.5, 100
# Samples that all paths together may visit (a second or so), and the least number of samples that paths start from.
PATH_VISITS, FEWEST_LANDMARKS, MOST_LANDMARKS = 1_000_000, 5, 500
# Sparse samples of so many numbers are made dense to be measured.
DENSE_MAX = 4_000_000
# Places whose links are measured, where the graph's distances are not lengths.
MEASURED_PLACES = 2_000


@dataclass(frozen=True)
class Measure:
    """A number about the embedding, and what a reader needs to judge it."""

    name: str
    value: float | None  # None where it cannot be had: `note` says why
    text: str  # the number as people write it
    how_to_read: str
    standard_error: float | None = None  # None where nothing was left to chance
    note: str = ""
    of_pca: float | None = None  # the same of as many principal components; None where they cannot be had


def measures(result: Embedding, X: Any = None) -> tuple[Measure, ...]:
    """All measures of an embedding against its samples; X=None takes those that the embedding keeps."""
    samples, Y = samples_of(result, X), drawn_coordinates(result)
    is_embedded: BoolArray = np.asarray(np.isfinite(Y).all(axis=1))
    Y = Y[is_embedded]
    if not isinstance(samples, str):
        samples = samples[is_embedded]
    linear = (
        Y if isinstance(samples, str) else leading_coordinates(InputScaling.fit(samples).transform(samples), Y.shape[1])
    )
    return (
        *_of_ranks(result, samples, Y, linear),
        *_of_paths(result, samples, Y, linear, _cut_pairs(result, is_embedded)),
        _of_rebuilding(result, is_embedded),
        _of_gap(result),
        _of_residuals(result),
    )


def better_by_pca(found: Sequence[Measure]) -> list[str]:
    """What to say where PCA has fewer strangers among neighbors and loses fewer of them; else nothing."""
    judged = [one for one in found if one.name in {"trustworthiness", "continuity"}]
    told = [
        f"{one.name} {written(one.of_pca)} against {one.text}"
        for one in judged
        # As it is written; and beyond what chance may do, where samples were drawn.
        if one.value is not None
        and one.of_pca is not None
        and round(one.of_pca, 3) > round(one.value + 2 * (one.standard_error or 0.0), 3)
    ]
    sentence = (
        f"PCA keeps neighborhoods better here: {', '.join(told)}. A linear projection may be all that this data needs, "
        "or other settings suit it better."
    )
    return [sentence] if len(told) == 2 else []


def drawn_coordinates(result: Embedding) -> FloatArray:
    """Chart or rescaled coordinates in the units of the walk, (n, d): what is drawn, within the range of float64."""
    return result.core.rescaled.Y[result.distinct.inverse]


def samples_of(result: Embedding, X: Any = None) -> FloatArray | str:
    """Dense samples, a row each; or why there are none."""
    if isinstance(result.core.X, Distances) and (X is None or result.settings.metric == PRECOMPUTED):
        return "only distances between samples are known, no coordinates"
    if X is None:
        X = result.core.X[result.distinct.inverse]
    if issparse(X):
        if math.prod(X.shape) > DENSE_MAX:
            return f"the samples are sparse, and {X.shape[0]} x {X.shape[1]} numbers too many to measure"
        X = X.toarray()
    return np.asarray(X, dtype=np.float64)


READ_TRUST = (
    "Of samples drawn close together, are they close in the data? 1 means all of them are; about 0.5 is what chance "
    "gives. Strangers from far away cost more."
)
READ_CONTINUITY = (
    "Of samples close in the data, are they drawn close together? 1 means all of them are; about 0.5 is what chance "
    "gives. Low with high trustworthiness: the picture was torn."
)
READ_KEPT = (
    "The share of a sample's nearest neighbors in the data that are its nearest neighbors in the picture too: 1 is "
    "all, and chance gives {chance}. Few pictures of many-dimensional data come near 1."
)


def _of_ranks(result: Embedding, X: FloatArray | str, Y: FloatArray, linear: FloatArray) -> Iterator[Measure]:
    n = len(Y)
    k = min(result.settings.n_neighbors, (n - 1) // 2)
    how = {"trustworthiness": READ_TRUST, "continuity": READ_CONTINUITY}
    how["preservation"] = READ_KEPT.format(chance=f"{k / (n - 1):.2g}" if n > 1 and k > 0 else "next to none")
    why = X if isinstance(X, str) else f"too few embedded samples, {n}" if k < 1 or n < 3 else ""
    if not why and not isinstance(X, str):
        seconds = n * ((COUNTING if k <= MOST_COUNTED else SORTING) + FEATURE * X.shape[1])
        n_ranked = min(n, max(FEWEST_RANKED, int(RANK_SECONDS / seconds)))
        try:
            found, of_pca = (
                rank_quality(X, one, k, n_sampled=n_ranked, n_jobs=result.settings.n_jobs) for one in (Y, linear)
            )
        except HNEError as error:
            why = str(error)
        else:
            on = "" if found.is_exact else f", on {n_ranked} samples drawn at random"
            for name, text in how.items():
                spread = None if found.is_exact else getattr(found, f"{name}_standard_error")
                note = f"{k} neighbors, Euclidean{on}."
                yield measured(name, getattr(found, name), text, note, spread, getattr(of_pca, name))
            return
    for name, text in how.items():
        yield missing(name, text, why, "Not measured, nor is PCA")


READ_RANKS = (
    "Compares all distances in the picture with the lengths of paths through the data from neighbor to neighbor: 1 "
    "means that what is farther along the data is drawn farther apart, 0 that the two have nothing in common."
)
READ_VARIANCE = (
    "The same with lengths instead of their order: the share of the drawn distances that path lengths do not explain, "
    "0 to 1."
)


def _cut_pairs(result: Embedding, is_embedded: BoolArray) -> IndexArray:
    """Pairs of embedded samples, numbered among themselves, whose edge was cut; other paths would take them."""
    pairs = result.short_circuits if result.is_cut else result.short_circuits[:0]
    numbers = np.cumsum(is_embedded) - 1
    renumbered: IndexArray = numbers[pairs[is_embedded[pairs].all(axis=1)]]
    return renumbered


def _of_paths(
    result: Embedding, X: FloatArray | str, Y: FloatArray, linear: FloatArray, cut: IndexArray
) -> Iterator[Measure]:
    how = {"geodesic rank correlation": READ_RANKS, "residual variance": READ_VARIANCE}
    n, k = len(Y), min(result.settings.n_neighbors, result.distinct.n_places - 1)
    why = X if isinstance(X, str) else ""
    if not isinstance(X, str):
        m = min(n, int(np.clip(PATH_VISITS // max(n, 1), FEWEST_LANDMARKS, MOST_LANDMARKS)))
        try:
            found, of_pca = geodesic_qualities(X, (Y, linear), k, m, 0, result.settings.n_jobs, cut)
        except HNEError as error:
            why = str(error)
        else:
            starts = "" if m == n else f" from {m} samples drawn at random"
            pieces = f"; {found.share_connected:.1%} of the pairs have a path" if found.share_connected < 1 else ""
            without = " without the short circuits" if len(cut) else ""
            note = f"{found.n_pairs} pairs{starts}, paths over {k} neighbors{without}{pieces}."
            for name, one, other in (
                ("geodesic rank correlation", found.rank_correlation, of_pca.rank_correlation),
                ("residual variance", found.residual_variance, of_pca.residual_variance),
            ):
                yield measured(name, one, how[name], note, of_pca=other)
            return
    for name, text in how.items():
        yield missing(name, text, why, "Not measured, nor is PCA")


def _of_rebuilding(result: Embedding, is_embedded: BoolArray) -> Measure:
    itself = (
        "Samples take part in rebuilding themselves (include_self=True), which makes the number much smaller"
        if result.settings.include_self
        else "Samples are left out of their own outer layer (include_self=False)"
    )
    how = (
        "How far a sample is from what its neighbors' neighbors make of it, in units of the mean distance to a "
        "neighbor: 0 is rebuilt exactly. It tells how well the data suit the method, not how good the picture is."
    )
    errors = result.reconstruction_errors[is_embedded]
    errors, link = errors[np.isfinite(errors)], mean_link(result)
    if not len(errors) or not 0 < link < math.inf:
        return missing("relative reconstruction error", how, "no sample has neighbors at a measurable distance")
    return measured("relative reconstruction error", float(errors.mean()) / link, how, f"{itself}.")


def mean_link(result: Embedding) -> float:
    """Mean distance to a neighbor, in the units of the data; NaN where nobody has any."""
    core, graph = result.core, result.core.graph
    if result.settings.metric in {"euclidean", PRECOMPUTED} or isinstance(core.X, Distances):
        lengths = graph.distances[graph.indices >= 0]
    else:
        lengths = _link_lengths(core.X, graph)
    return float(result.units.restore_lengths(lengths.mean())) if lengths.size else math.nan


def _link_lengths(X: Any, graph: NeighborGraph) -> FloatArray:
    """Euclidean lengths of the links of some places, evenly drawn."""
    n = graph.n_samples
    rows = np.unique(np.linspace(0, n - 1, min(n, MEASURED_PLACES)).astype(np.intp))
    lengths = [lengths_between(X, X[row : row + 1], graph.indices[row : row + 1]) for row in rows]
    return np.concatenate(lengths)[graph.indices[rows] >= 0]


def _of_gap(result: Embedding) -> Measure:
    pairs, d = result.eigenpairs, result.settings.n_components
    how = (
        "How many times the first unused eigenvalue is as large as the last used one. Far above 1, the coordinates "
        "stand apart from the rest; near 1, the next coordinate is about as good as the last one shown."
    )
    if result.chart is not None:
        how = (
            f"How many times eigenvalue {d + 1} is as large as eigenvalue {d}. Far above 1, the first {d} stand apart "
            "from the rest; near 1, they do not, and a chart finds its coordinates among more of them."
        )
    if pairs is None:
        return missing("eigenvalue gap", how, "the largest piece is too small for eigenvectors")
    gap = pairs.gap(d)
    if math.isnan(gap):
        return missing("eigenvalue gap", how, "there is no next eigenvalue, or the last one is zero")
    return measured("eigenvalue gap", gap, how, _largest_piece(result))


def _of_residuals(result: Embedding) -> Measure:
    how = (
        "Whether the coordinates are what they should be, the bottom eigenvectors: the largest residual of one, "
        "measured on itself. 1e-8 and less is exact for all purposes; it says nothing about whether they suit the data."
    )
    if result.chart is not None:
        how = (
            "Whether what the chart is made of is what it should be, the bottom eigenvectors: the largest residual of "
            "one, measured on itself. The last of many need not be exact: 1e-5 and less is enough for a chart. It says "
            "nothing about whether they suit the data."
        )
    if result.eigenpairs is None:
        return missing("eigenvector residual", how, "the largest piece is too small for eigenvectors")
    note = f"{_largest_piece(result)}{result.eigenpairs.certificate}."
    return measured("eigenvector residual", float(result.eigenpairs.residuals.max()), how, note)


def _largest_piece(result: Embedding) -> str:
    return "Of the largest piece. " if len(result.core.parts) > 1 else ""


def measured(
    name: str, value: float, how: str, note: str = "", error: float | None = None, of_pca: float | None = None
) -> Measure:
    """A number as people write it, with how to read it."""
    return Measure(name, value, written(value), how, error, note, of_pca)


def written(value: float) -> str:
    """A number as people write it."""
    return f"{value:.3f}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.1e}"


def missing(name: str, how: str, why: str, what: str = "Not measured") -> Measure:
    """A number that cannot be had, with the reason."""
    return Measure(name, None, "not measured", how, None, f"{what}: {why.rstrip('.')}.")
