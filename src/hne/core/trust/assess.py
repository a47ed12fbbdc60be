"""Fit -> Assessment: what was measured of an embedding, held against where good ends.

Limits were calibrated on 2300 embeddings of 38 data sets with known charts (Swiss rolls of 300 to 2000 samples even,
uneven, noisy and holed, S-curves, twin peaks, severed spheres, sphere caps, strips, cubes in 8-D; three variants, k
from 4 to 12, reg from 1e-7 to 1e-2). Good: affine error under .05; bad: over .15. `benchmarks/verdicts.py` measures on
other seeds.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hne._runtime.threads import limit_blas_threads, thread_count
from hne.core.eigen.certificate import UNSETTLED, is_settled
from hne.core.records import LANDMARKS, UNFOLDED, Chart, Core, NeighborGraph
from hne.core.tangent.score import LocalGeometry
from hne.core.trust.measures import TIES_NOTED, Measures, Shape, measures
from hne.core.trust.record import CERTAIN, Assessment, Finding
from hne.core.trust.verdict import finding, praise, verdict_against
from hne.settings import Settings

# Scores above the limit are doubtful, above the other bad; noise, the share of local variance off the tangent planes,
# raises the score of good embeddings too. Flagged at .1: 10 % of the good and 97 % of the bad (at .107, 7 and 97 %; at
# .123, 4 and 90 %). Above .09 fewer than half are right, which nobody should be told to believe. Told to be bad: 1 % of
# the good, 64 % of the bad.
SCORE_DOUBTFUL, SCORE_BAD, SCORE_NOISE = 0.09, 0.16, 1.0
# Noise beyond this is another dimension rather than noise: noisy surfaces have .11 at most.
MOST_NOISE = 0.11
# Below this, nine in ten embeddings are right; from there to the limit, two in three.
SCORE_SURE = 0.05

# Charts that are unfolded, calibrated on 1 100 embeddings of 24 data sets (rolls of 150 to 2 000 samples with noise up
# to 1, holes, S-curves of 60 and 100, bands, peaks, spheres, caps, cubes, a roll with 47 columns of noise). Stress is
# that of near pairs; bent the eigenvalue of P behind the last coordinate, in that one's. Below both of the first, a
# chart is the surface laid flat, whatever the score says of neighborhoods that reach across folds.
FLAT_STRESS, FLAT_BENT = 0.003, 0.08
# Little stress and much left over: parts hang together by a hinge. Curved surfaces, bent too, have more stress.
HINGE_STRESS, HINGE_BENT = 0.014, 0.175
# A band so narrow, its last spread in its first, squared, is right only with little stress.
NARROW, NARROW_STRESS = 0.01, 0.004
# Scores above, with noise as below, are doubtful; and above the second, where there are stress and something left over.
CHART_SCORE, STRAINED_SCORE, STRAINED_STRESS, STRAINED_BENT = 0.055, 0.04, 0.008, 0.09

# The calibration carries over to samples on a surface or near one (`Frames.is_flat`), and where one of the estimators
# of the dimension is this near to the number of coordinates.
DIMENSION_NEAR = 0.6
# Dimensions that can be told for each factor of ten in the number of samples: Eckmann and Ruelle 1992.
DIMENSIONS_A_DECADE = 2.0
# A coordinate repeats others where they tell so much of it. Good embeddings: .36 at most. Harmonics: .95.
REPEATED = 0.8
# An embedding has collapsed where so many neighborhoods have and its samples crowd in a part of its range: rings are
# narrow everywhere, and right. Digits at k = 6 (a line and strays) .65 and .3, iris (two lines) .99 and .05, clusters
# on threads .7 to 1 and .07 to .5; rings of images .72 and .71, Swiss rolls 0 and .9, Gaussians 0 and .64.
COLLAPSED_SHARE, CROWDED_SHARE = 0.5, 0.45
# Share of the samples outside the largest piece from which that is more than a few strays.
PIECES_SHARE = 0.05
# Share of samples that are mostly their own which is worth telling.
SELF_SHARE = 0.5
# The next eigenvalue over the last wanted one, below which the last coordinate is one of several as good.
GAP_NOTED = 1.05
# Short circuits that were kept, from how many on they count.
CIRCUITS_COUNT = 3
# Eigenvalues below are rounding: those of a roll of a million samples are 1e-15, those of parts that hang together by
# nothing 1e-20 and less.
EIGENVALUE_ROUNDING = 1e-18

GRAVITY = {"bad": 0, "doubtful": 1, "good": 2}
# What limits that were calibrated on surfaces say.
CALIBRATED = frozenset({"score", "stress"})
# Dimensions of a picture.
SCREEN = 2
CHOOSE = "Try n_neighbors='auto', reg='auto', variant='auto'"
# Instead of an advice to choose to who did.
CHOSEN = "No setting that was tried is better: scale or leave out features, take more samples, or another n_components"


def assess(
    fit: Core,
    settings: Settings,
    n_threads: int | None = None,
    *,
    geometry: LocalGeometry | None = None,
    is_chosen: bool = False,
) -> Assessment:
    """How far the embedding of places can be believed; pairs of its record are pairs of places.

    `is_chosen` says that the settings were, which is then no advice any more; `geometry` is that of the largest piece,
    where it was made before.
    """
    with limit_blas_threads(1):
        measured = measures(fit, settings, n_threads or thread_count(settings.n_jobs), geometry)
    d, shape = settings.n_components, measured.shape
    reason = _why_unknown(measured, d)
    findings = sorted(_findings(measured, settings, is_chosen), key=lambda one: GRAVITY[one.level])
    if reason is not None:
        # What was calibrated elsewhere says nothing here, and other findings are only to be known.
        known = (one for one in findings if one.kind not in CALIBRATED)
        findings = [one if one.kind in CERTAIN else replace(one, level="good") for one in known]
        findings.append(reason)
    decisive = next((one for one in findings if one.level != "good"), reason)
    return Assessment(
        level="good" if decisive is None else "unknown" if decisive is reason else decisive.level,
        verdict=_praise(measured, d) if decisive is None else verdict_against(decisive),
        findings=tuple(findings),
        score=None if shape is None else shape.score,
        eigenvalue_gap=measured.eigenvalue_gap,
        repeated_share=measured.repeated_share,
        self_share=measured.self_share,
        n_pieces=fit.pieces.count,
        n_thin_links=len(measured.thin.pairs),
        short_circuits=fit.short_circuits,
        dimension=measured.dimension,
        collapsed_share=math.nan if shape is None else shape.collapsed_share,
    )


def _why_unknown(measured: Measures, d: int) -> Finding | None:  # noqa: PLR0911, a line a reason
    """Why limits that were calibrated on surfaces say nothing here; None where they do."""

    def unknown(reason: str, **values: Any) -> Finding:
        return finding("unknown", "good", reason=reason, n_components=d, **values)

    shape, estimate = measured.shape, measured.dimension
    if shape is None:
        return unknown("not measured")
    dimension = max(d, _agreed_dimension(measured, d))
    if not shape.frames.is_flat(dimension):
        if dimension > d:
            return unknown("more dimensions", dimension=dimension)
        return unknown("no surface", share=shape.explained(d))
    if estimate is None:
        return unknown("no dimension")
    if (
        not estimate.is_agreed
        and min(abs(estimate.by_likelihood - d), abs(estimate.by_two_nearest - d)) > DIMENSION_NEAR
    ):
        return unknown("unclear dimension", dimension=estimate)
    if estimate.dimension < d <= SCREEN:
        return unknown("closed curve", dimension=estimate.dimension)
    return None


def _praise(measured: Measures, d: int) -> str:
    assert measured.shape is not None  # noqa: S101
    if measured.chart is not None and _is_laid_flat(measured.chart, d):
        return praise(stress=measured.chart.stress)
    score, limit = measured.shape.score.score, _score_limit(measured, d)
    return praise(score, limit, is_sure=not score > _with_noise(SCORE_SURE, measured.shape, d))


def _with_noise(limit: float, shape: Shape, d: int) -> float:
    """The limit for samples as noisy as these."""
    return limit + SCORE_NOISE * min(1 - shape.explained(d), MOST_NOISE)


def _score_limit(measured: Measures, d: int) -> float:
    """The score from which an embedding is doubtful."""
    assert measured.shape is not None  # noqa: S101
    return _with_noise(SCORE_DOUBTFUL if measured.chart is None else CHART_SCORE, measured.shape, d)


def _is_laid_flat(chart: Chart | None, d: int) -> bool:
    """Whether a chart keeps near lengths so well that nothing else need be asked."""
    return (
        chart is not None and chart.route == UNFOLDED and chart.stress <= FLAT_STRESS and _bent(chart, d) <= FLAT_BENT
    )


def _bent(chart: Chart, d: int) -> float:
    """What is left over behind the last coordinate, in its own spread squared: 0 of a surface that lies flat."""
    kept = float(chart.spectrum[d - 1])
    return float(chart.spectrum[d]) / kept if len(chart.spectrum) > d and kept > 0 else 0.0


def _agreed_dimension(measured: Measures, d: int) -> int:
    """The samples' own dimension where that is agreed, by enough samples, or else that of the embedding."""
    estimate = measured.dimension
    if estimate is None or not estimate.is_agreed:
        return d
    return estimate.dimension if estimate.dimension <= DIMENSIONS_A_DECADE * math.log10(measured.n_rows) else d


def _estimated_dimension(measured: Measures, d: int) -> int:
    """The samples' own dimension, agreed or not."""
    return d if measured.dimension is None else measured.dimension.dimension


def _findings(measured: Measures, settings: Settings, is_chosen: bool) -> Iterator[Finding]:
    """All that speaks against the embedding, or that its reader should know."""
    d, pairs = settings.n_components, measured.pairs
    yield from _of_dimension(measured, d)
    # What is wrong with the graph shows in the shape as well: of both, the cause is told.
    yield from _of_graph(measured, settings)
    if measured.shape is not None:
        yield from _of_shape(measured, measured.shape, settings, is_chosen)
    # A chart is made of eigenvectors of which the last are some of many.
    if measured.chart is None and pairs is not None and not pairs.certificate.is_resolved:
        remedy = f"Choose n_components={d + 1}, another n_neighbors, or a larger reg"
        yield finding("gap", "doubtful", remedy, reason="unresolved", n_components=d)
    elif measured.chart is None and measured.eigenvalue_gap < GAP_NOTED:
        yield finding("gap", "good", f"Look at n_components={d + 1} as well", gap=measured.eigenvalue_gap)
    if pairs is not None and pairs.solver == LANDMARKS:
        yield _of_landmarks(measured, settings)
    if measured.self_share > SELF_SHARE:
        remedy = "Pass include_self=False for reconstruction errors that say more"
        yield finding("self", "good", remedy, share=measured.self_share)


def _of_dimension(measured: Measures, d: int) -> Iterator[Finding]:
    agreed, estimate = _agreed_dimension(measured, d), _estimated_dimension(measured, d)
    repeats = measured.repeated_share > REPEATED
    if estimate < d and repeats:
        values = {"reason": "superfluous", "dimension": estimate, "n_components": d}
        yield finding("repeated", "doubtful", f"Try n_components={estimate}", **values)
    # A closed curve fills one coordinate more than it has dimensions: a ring is drawn in two, which screens have.
    if agreed > d or agreed < d - 1 or (agreed < d and (repeats or d > SCREEN)):
        # Two are what screens have: who asks for them knows.
        level = "good" if agreed > d == SCREEN else "doubtful"
        yield finding("dimension", level, f"Try n_components={agreed}", dimension=agreed, n_components=d)


def _of_graph(measured: Measures, settings: Settings) -> Iterator[Finding]:
    pieces, thin, k = measured.fit.pieces, measured.thin, settings.n_neighbors
    more = f"Raise n_neighbors (now {k})"
    if isinstance(settings.neighbors, NeighborGraph) and settings.neighbors.n_others <= k:
        more = "Add links to the given graph"
    if pieces.count > 1:
        outside = 1 - pieces.sizes[0] / pieces.sizes.sum()
        level = "doubtful" if outside > PIECES_SHARE else "good"
        yield finding("pieces", level, f"{more} where they belong together", n_pieces=pieces.count)
    if len(thin.pairs) and _hangs(measured):
        # Two parts turn about a sample that they share: how they lie to each other is as little known as of pieces.
        values = {"reason": "hanging", "n_links": len(thin.pairs), "n_hanging": thin.n_hanging}
        yield finding("thin links", "doubtful", f"{more} if that is an accident", **values)
    elif len(thin.pairs):
        yield finding("thin links", "good", f"{more} if that is an accident", n_links=len(thin.pairs))
    if measured.tied_share > TIES_NOTED:
        remedy = "Compare it with another n_neighbors: what both show does not hang on ties"
        yield finding("ties", "good", remedy, share=measured.tied_share)


def _hangs(measured: Measures) -> bool:
    """Whether more than a few strays hang by one sample."""
    return measured.thin.n_hanging > PIECES_SHARE * int(measured.fit.pieces.sizes.sum())


def _of_landmarks(measured: Measures, settings: Settings) -> Finding:
    pairs, chart = measured.pairs, measured.chart
    assert pairs is not None  # noqa: S101
    move, is_at_rest = pairs.certificate.last_move, is_settled(pairs, chart)
    values = {"last_move": move, "n_eigenvectors": None if chart is None else len(pairs.values)}
    level = "good" if is_at_rest else "bad" if move > UNSETTLED and chart is None else "doubtful"
    reason = "settled" if is_at_rest else "too few"
    return finding("landmarks", level, _more_landmarks(settings), reason=reason, **values)


def _more_landmarks(settings: Settings) -> str:
    return f"Raise n_landmarks (now {settings.n_landmarks}), or lower reg (now {settings.reg:g})"


def _of_shape(measured: Measures, shape: Shape, settings: Settings, is_chosen: bool) -> Iterator[Finding]:
    d = settings.n_components
    if shape.collapsed_share > COLLAPSED_SHARE and shape.filled_share < CROWDED_SHARE:
        values: dict[str, float] = {"share": shape.collapsed_share}
        if measured.pairs is not None and measured.pairs.values[0] < EIGENVALUE_ROUNDING:
            values["eigenvalue"] = float(measured.pairs.values[0])
        if _hangs(measured):
            values["n_hanging"] = measured.thin.n_hanging
        remedy = CHOSEN if is_chosen else "Try a larger n_neighbors and reg, or n_neighbors='auto'"
        yield finding("collapsed", "bad", remedy, **values)
    score, limit = shape.score.score, _score_limit(measured, d)
    if measured.repeated_share > REPEATED and d <= _estimated_dimension(measured, d):
        # A crescent's coordinates tell much of each other, too: its neighborhoods keep their shape.
        level = "bad" if shape.frames.is_flat(d) and score > limit else "doubtful"
        remedy = CHOSEN if is_chosen else "Try a smaller reg, or reg='auto' and n_neighbors='auto'"
        yield finding("repeated", level, remedy, share=measured.repeated_share)
    if measured.fit.rescaled.is_refused:
        yield finding("size", "doubtful", "Choose coordinates='chart'")
    if measured.chart is not None:
        yield from _of_chart(measured.chart, score, d, is_chosen)
    if score > limit and not _is_laid_flat(measured.chart, d):
        # In fewer dimensions than samples have, nothing keeps its shape: that is to be known, not to be warned of.
        is_bad = score > _with_noise(SCORE_BAD, shape, d) and d >= _agreed_dimension(measured, d)
        remedy = _more_landmarks(settings) if settings.n_landmarks is not None else CHOSEN if is_chosen else CHOOSE
        yield finding("score", "bad" if is_bad else "doubtful", remedy, score=score, limit=limit)
    n_edges = len(measured.fit.short_circuits)
    if n_edges and settings.short_circuits == "keep":
        level = "doubtful" if n_edges >= CIRCUITS_COUNT else "good"
        yield finding("short circuits", level, "Pass short_circuits='cut', or look at the pairs", n_edges=n_edges)


def _of_chart(chart: Chart, score: float, d: int, is_chosen: bool) -> Iterator[Finding]:
    """What the stress of a chart says, and what it leaves over."""
    bent, stress, is_unfolded = _bent(chart, d), chart.stress, chart.route == UNFOLDED
    values = {"stress": stress, "n_components": d}
    if is_unfolded and stress <= HINGE_STRESS and bent > HINGE_BENT:
        remedy = "Raise n_neighbors, or look where it is thin"
        yield finding("stress", "doubtful", remedy, reason="hinge", **values)
    elif is_unfolded and chart.spectrum[d - 1] < NARROW * chart.spectrum[0] and stress > NARROW_STRESS:
        remedy = "Take more samples, or believe its longest coordinate alone"
        yield finding("stress", "doubtful", remedy, reason="narrow", **values)
    elif stress > STRAINED_STRESS and bent > STRAINED_BENT and score > STRAINED_SCORE:
        remedy = CHOSEN if is_chosen else f"{CHOOSE}, or n_components={d + 1}"
        yield finding("stress", "doubtful", remedy, reason="strained", **values)
