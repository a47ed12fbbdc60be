"""Fit -> Assessment: what is measured of an embedding, of its largest piece, held against where good ends.

Limits were calibrated on 2300 embeddings of 38 data sets with known charts (Swiss rolls of 300 to 2000 samples even,
uneven, noisy and holed, S-curves, twin peaks, severed spheres, sphere caps, strips, cubes in 8-D; three variants, k
from 4 to 12, reg from 1e-7 to 1e-2). Good: affine error under .05; bad: over .15. `benchmarks/verdicts.py` measures on
other seeds.
"""

import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from hne._kernels import own_shares
from hne._runtime.progress import mute_progress
from hne._runtime.threads import begun, limit_blas_threads, thread_count
from hne.core.eigen.certificate import UNSETTLED, EigenPairs, is_settled
from hne.core.pieces.bridges import Bridges, find_bridges
from hne.core.records import LANDMARKS, UNFOLDED, Chart, Core, FloatArray, NeighborGraph
from hne.core.samples.kinds import Samples, is_complete
from hne.core.tangent.frames import Dimension, Frames, drawn_rows, is_measurable, nearest_of_rows
from hne.core.tangent.score import (
    LocalGeometry,
    TangentScore,
    collapsed_share,
    filled_share,
    local_geometry,
    repeated_share,
)
from hne.core.trust.verdict import CERTAIN, SCREEN, Assessment, Finding, finding, praise, verdict_against
from hne.exceptions import HNEError
from hne.settings import Settings

logger = logging.getLogger("hne")

Result = TypeVar("Result")

# Share of |J_i| that makes a sample mostly its own.
SELF_WEIGHT = 0.5
# Share of samples from which ties are told of, and samples that it is measured on, which tell .03 to .008: digits at
# k = 6 .03, where another choice turned the plane by .5 rad; iris .2 to .3, a lattice .12 to 1; a roll rounded to a
# hundredth of its size .01, measured values none.
TIES_NOTED, TIED_ROWS = 0.02, 500
# Samples from which on bridges take longer than a thread does to begin, milliseconds.
SLOW_BRIDGES = 4000

# Scores above the first are doubtful, above the second bad. Flagged at .1: 10 % of the good and 97 % of the bad (at
# .107, 7 and 97 %; at .123, 4 and 90 %). Above .09 fewer than half are right, which nobody should be told to believe.
# Told to be bad: 1 % of the good, 64 % of the bad. Below the third, nine in ten are right; to the first, two in three.
SCORE_DOUBTFUL, SCORE_BAD, SCORE_SURE = 0.09, 0.16, 0.05
# Noise, the share of local variance off the tangent planes, raises the score of good embeddings too, and with it these
# limits; beyond this it is another dimension rather than noise: noisy surfaces have .11 at most.
MOST_NOISE = 0.11

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
# Share of the samples outside the largest piece from which that is more than a few strays; of samples that are mostly
# their own, which is worth telling; and short circuits that were kept, from how many on they count.
PIECES_SHARE, SELF_SHARE, CIRCUITS_COUNT = 0.05, 0.5, 3
# The next eigenvalue over the last wanted one, below which the last coordinate is one of several as good.
GAP_NOTED = 1.05
# Eigenvalues below are rounding: those of a roll of a million samples are 1e-15, those of parts that hang together by
# nothing 1e-20 and less.
EIGENVALUE_ROUNDING = 1e-18

GRAVITY = {"bad": 0, "doubtful": 1, "good": 2}
CHOOSE = "Try n_neighbors='auto', reg='auto', variant='auto'"
# Instead of an advice to choose to who did.
CHOSEN = "No setting that was tried is better: scale or leave out features, take more samples, or another n_components"


@dataclass(frozen=True)
class Measures:
    """All that is known of an embedding; NaN and None for what cannot be."""

    fit: Core
    d: int
    pairs: EigenPairs | None  # of the largest piece
    chart: Chart | None
    frames: Frames | None  # and with them, what they tell of the embedding
    score: TangentScore | None
    collapsed_share: float
    filled_share: float  # how evenly samples fill the range of their coordinates
    dimension: Dimension | None
    eigenvalue_gap: float
    repeated_share: float
    self_share: float
    thin: Bridges
    n_rows: int  # samples of the part that was measured
    is_layout: bool
    tied_share: float  # of samples whose last neighbor is one of several that are as near

    def limit(self, score: float) -> float:
        """The limit of scores for samples as noisy as these."""
        return score if self.frames is None else score + min(1 - self.frames.explained(self.d), MOST_NOISE)

    @property
    def doubtful_score(self) -> float:
        """The score from which an embedding is doubtful."""
        return self.limit(SCORE_DOUBTFUL if self.chart is None else CHART_SCORE)

    @property
    def agreed_dimension(self) -> int:
        """The samples' own dimension where that is agreed, by enough samples, or else that of the embedding."""
        if self.dimension is None or not self.dimension.is_agreed:
            return self.d
        estimate = self.dimension.dimension
        return estimate if estimate <= DIMENSIONS_A_DECADE * math.log10(self.n_rows) else self.d

    @property
    def bent(self) -> float:
        """What a chart leaves over behind the last coordinate, in its own spread squared: 0 of what lies flat."""
        spectrum = np.zeros(0) if self.chart is None else self.chart.spectrum
        has_more = len(spectrum) > self.d and spectrum[self.d - 1] > 0
        return float(spectrum[self.d]) / float(spectrum[self.d - 1]) if has_more else 0.0

    @property
    def is_laid_flat(self) -> bool:
        """Whether a chart keeps near lengths so well that nothing else need be asked."""
        is_kept = self.chart is not None and self.chart.route == UNFOLDED and self.chart.stress <= FLAT_STRESS
        return is_kept and self.bent <= FLAT_BENT

    @property
    def is_hanging(self) -> bool:
        """Whether more than a few strays hang by one sample."""
        return self.thin.n_hanging > PIECES_SHARE * int(self.fit.pieces.sizes.sum())


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
    reason = _why_unknown(measured)
    findings = sorted(_findings(measured, settings, is_chosen), key=lambda one: GRAVITY[one.level])
    if reason is not None:
        # What was calibrated on surfaces says nothing here, and other findings are only to be known.
        known = (one for one in findings if one.kind not in {"score", "stress"})
        # A layout shows groups and separate components; neither is a fault of it.
        counts = frozenset() if measured.is_layout else CERTAIN
        findings = [one if one.kind in counts else replace(one, level="good") for one in known]
        findings.append(reason)
    decisive, score = next((one for one in findings if one.level != "good"), reason), measured.score
    if decisive is not None:
        verdict = verdict_against(decisive)
    elif measured.chart is not None and measured.is_laid_flat:
        verdict = praise(stress=measured.chart.stress)
    else:
        loss = math.nan if score is None else score.score
        verdict = praise(loss, measured.doubtful_score, is_sure=not loss > measured.limit(SCORE_SURE))
    return Assessment(
        level="good" if decisive is None else "unknown" if decisive is reason else decisive.level,
        verdict=verdict,
        findings=tuple(findings),
        score=score,
        eigenvalue_gap=measured.eigenvalue_gap,
        repeated_share=measured.repeated_share,
        self_share=measured.self_share,
        n_pieces=fit.pieces.count,
        n_bridges=len(measured.thin.pairs),
        short_circuits=fit.short_circuits,
        dimension=measured.dimension,
        collapsed_share=measured.collapsed_share,
    )


def measures(fit: Core, settings: Settings, n_threads: int, geometry: LocalGeometry | None = None) -> Measures:
    """Measure the embedding of places; `geometry` is that of the largest piece, where it was made before."""
    geometry = local_geometry(fit.X, fit.pieces, settings, n_threads) if geometry is None else geometry
    rows, d = geometry.rows, settings.n_components
    pairs, chart = fit.eigenpairs[0] if fit.eigenpairs else None, fit.charts[0] if fit.charts else None
    is_layout = settings.coordinates == "layout"
    # Charts and layouts are measured as they are, eigenvectors on their own, in which none is longer than another.
    drawn = fit.Y[rows] if chart is not None or is_layout else None if pairs is None else pairs.leading(d)
    thin = begun(lambda: find_bridges(fit.graph), n_threads if fit.graph.n_samples >= SLOW_BRIDGES else 1)
    dimension, shape = None, None
    if drawn is not None and is_measurable(len(rows), d):
        around = geometry.by_distances()
        dimension = _attempted("dimension", lambda: around.dimension)
        shape = _attempted("shape", lambda: _shape(around, drawn))
    frames, score, collapsed, filled = shape or (None, None, math.nan, math.nan)
    J, own = fit.weights.J, np.empty(fit.weights.J.shape[0])
    own_shares(J.indptr.astype(J.indices.dtype, copy=False), J.indices, J.data, own)
    return Measures(
        fit=fit,
        d=d,
        pairs=pairs,
        chart=chart,
        frames=frames,
        score=score,
        collapsed_share=collapsed,
        filled_share=filled,
        dimension=dimension,
        eigenvalue_gap=math.nan if pairs is None else pairs.gap(d),
        repeated_share=math.nan if drawn is None else repeated_share(drawn),
        self_share=float(np.mean(own > SELF_WEIGHT)) if len(own) else math.nan,
        thin=thin(),
        n_rows=len(rows),
        is_layout=is_layout,
        tied_share=_attempted("ties", lambda: tied_share(fit.X, fit.graph, settings, n_threads)) or 0.0,
    )


def _shape(geometry: LocalGeometry, drawn: FloatArray) -> tuple[Frames, TangentScore, float, float] | None:
    """None where not all distances are known, for ranks would be guesses, and where no neighborhood fills a plane."""
    if not is_complete(geometry.X) or not (geometry.frames.S[:, -1] > 0).any():
        return None
    members = geometry.frames.members
    return geometry.frames, geometry.scorer.measure(drawn), collapsed_share(members, drawn), filled_share(drawn)


def _attempted(what: str, measure: Callable[[], Result]) -> Result | None:
    """What is measured, or None: no embedding is lost because it cannot be judged."""
    try:
        return measure()
    except (HNEError, np.linalg.LinAlgError, MemoryError) as error:
        logger.info("trust: %s not measured, %s", what, error)
        return None


def tied_share(X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> float:
    """Share of samples with another that is as near as their last neighbor and was left out.

    Measured on some of them, and only where neighbors tie at all: 0 where they do not, and in a graph that was given.
    """
    n, k = X.shape[0], settings.n_neighbors
    if graph.method == "given" or n <= k + 1:
        return 0.0
    listed = np.asarray(graph.distances)
    is_tied = ((listed[:, 1:] == listed[:, :-1]) & np.isfinite(listed[:, 1:])).any(axis=1)
    if k > 1 and float(np.mean(is_tied)) <= TIES_NOTED:
        return 0.0
    by = settings.metric, settings.metric_params
    with mute_progress():
        _, lengths = nearest_of_rows(X, drawn_rows(n, TIED_ROWS), k + 1, *by, n_threads)
    if lengths.shape[1] <= k:
        return 0.0
    share = float(np.mean(np.isfinite(lengths[:, k]) & (lengths[:, k] == lengths[:, k - 1])))
    if share > TIES_NOTED:
        logger.info("neighbors: for %.0f%% of the samples, the last is one of several that are as near", 100 * share)
    return share


def _why_unknown(measured: Measures) -> Finding | None:  # noqa: PLR0911, a line a reason
    """Why limits that were calibrated on surfaces say nothing here; None where they do."""
    d, estimate, frames = measured.d, measured.dimension, measured.frames

    def unknown(reason: str, **values: Any) -> Finding:
        return finding("unknown", "good", reason=reason, n_components=d, **values)

    if frames is None:
        return unknown("not measured")
    if measured.is_layout and measured.score is not None:
        kept = {"trustworthiness": measured.score.trustworthiness, "continuity": measured.score.continuity}
        return unknown("layout", **kept)
    dimension = max(d, measured.agreed_dimension)
    if not frames.is_flat(dimension):
        if dimension > d:
            return unknown("more dimensions", dimension=dimension)
        return unknown("no surface", share=frames.explained(d))
    if estimate is None:
        return unknown("no dimension")
    off = min(abs(estimate.by_likelihood - d), abs(estimate.by_two_nearest - d))
    if not estimate.is_agreed and off > DIMENSION_NEAR:
        return unknown("unclear dimension", dimension=estimate)
    if estimate.dimension < d <= SCREEN:
        return unknown("closed curve", dimension=estimate.dimension)
    return None


def _findings(measured: Measures, settings: Settings, is_chosen: bool) -> Iterator[Finding]:
    """All that speaks against the embedding, or that its reader should know."""
    d, pairs, chart = measured.d, measured.pairs, measured.chart
    estimate, agreed = d if measured.dimension is None else measured.dimension.dimension, measured.agreed_dimension
    repeats = measured.repeated_share > REPEATED
    if estimate < d and repeats:
        values: dict[str, Any] = {"reason": "superfluous", "dimension": estimate, "n_components": d}
        yield finding("repeated", "doubtful", f"Try n_components={estimate}", **values)
    # A closed curve fills one coordinate more than it has dimensions: a ring is drawn in two, which screens have.
    if agreed > d or agreed < d - 1 or (agreed < d and (repeats or d > SCREEN)):
        # Two are what screens have: who asks for them knows.
        level = "good" if agreed > d == SCREEN else "doubtful"
        yield finding("dimension", level, f"Try n_components={agreed}", dimension=agreed, n_components=d)
    # What is wrong with the graph shows in the shape as well: of both, the cause is told.
    yield from _of_graph(measured, settings)
    if measured.score is not None and measured.frames is not None:
        yield from _of_shape(measured, measured.frames, measured.score.score, settings, is_chosen)
    # A chart is made of eigenvectors of which the last are some of many.
    if chart is None and pairs is not None and not pairs.certificate.is_resolved:
        remedy = f"Choose n_components={d + 1}, another n_neighbors, or a larger reg"
        yield finding("gap", "doubtful", remedy, reason="unresolved", n_components=d)
    elif chart is None and measured.eigenvalue_gap < GAP_NOTED:
        yield finding("gap", "good", f"Look at n_components={d + 1} as well", gap=measured.eigenvalue_gap)
    if pairs is not None and pairs.solver == LANDMARKS:
        move, is_at_rest = pairs.certificate.last_move, is_settled(pairs, chart)
        values = {"last_move": move, "n_eigenvectors": None if chart is None else len(pairs.values)}
        level = "good" if is_at_rest else "bad" if move > UNSETTLED and chart is None else "doubtful"
        reason = "settled" if is_at_rest else "too few"
        yield finding("landmarks", level, _more_landmarks(settings), reason=reason, **values)
    if measured.self_share > SELF_SHARE:
        remedy = "Pass include_self=False for reconstruction errors that say more"
        yield finding("self", "good", remedy, share=measured.self_share)


def _of_graph(measured: Measures, settings: Settings) -> Iterator[Finding]:
    pieces, thin, k = measured.fit.pieces, measured.thin, settings.n_neighbors
    more = f"Raise n_neighbors (now {k})"
    if isinstance(settings.neighbors, NeighborGraph) and settings.neighbors.n_others <= k:
        more = "Add links to the given graph"
    if pieces.count > 1:
        outside = 1 - pieces.sizes[0] / pieces.sizes.sum()
        level = "doubtful" if outside > PIECES_SHARE else "good"
        yield finding("pieces", level, f"{more} where they belong together", n_pieces=pieces.count)
    if len(thin.pairs) and measured.is_hanging:
        # Two parts turn about a sample that they share: how they lie to each other is as little known as of pieces.
        values = {"reason": "hanging", "n_links": len(thin.pairs), "n_hanging": thin.n_hanging}
        yield finding("bridges", "doubtful", f"{more} if that is an accident", **values)
    elif len(thin.pairs):
        yield finding("bridges", "good", f"{more} if that is an accident", n_links=len(thin.pairs))
    if measured.tied_share > TIES_NOTED:
        remedy = "Compare it with another n_neighbors: what both show does not hang on ties"
        yield finding("ties", "good", remedy, share=measured.tied_share)


def _more_landmarks(settings: Settings) -> str:
    return f"Raise n_landmarks (now {settings.n_landmarks}), or lower reg (now {settings.reg:g})"


def _of_shape(
    measured: Measures, frames: Frames, score: float, settings: Settings, is_chosen: bool
) -> Iterator[Finding]:
    d, limit, chart = measured.d, measured.doubtful_score, measured.chart
    if measured.collapsed_share > COLLAPSED_SHARE and measured.filled_share < CROWDED_SHARE:
        values: dict[str, float] = {"share": measured.collapsed_share}
        if measured.pairs is not None and measured.pairs.values[0] < EIGENVALUE_ROUNDING:
            values["eigenvalue"] = float(measured.pairs.values[0])
        if measured.is_hanging:
            values["n_hanging"] = measured.thin.n_hanging
        remedy = CHOSEN if is_chosen else "Try a larger n_neighbors and reg, or n_neighbors='auto'"
        yield finding("collapsed", "bad", remedy, **values)
    if measured.repeated_share > REPEATED and (measured.dimension is None or d <= measured.dimension.dimension):
        # A crescent's coordinates tell much of each other, too: its neighborhoods keep their shape.
        level = "bad" if frames.is_flat(d) and score > limit else "doubtful"
        remedy = CHOSEN if is_chosen else "Try a smaller reg, or reg='auto' and n_neighbors='auto'"
        yield finding("repeated", level, remedy, share=measured.repeated_share)
    if chart is not None:
        yield from _of_chart(chart, measured.bent, score, d, is_chosen)
    if score > limit and not measured.is_laid_flat:
        # In fewer dimensions than samples have, nothing keeps its shape: that is to be known, not to be warned of.
        is_bad = score > measured.limit(SCORE_BAD) and d >= measured.agreed_dimension
        remedy = _more_landmarks(settings) if settings.n_landmarks is not None else CHOSEN if is_chosen else CHOOSE
        yield finding("score", "bad" if is_bad else "doubtful", remedy, score=score, limit=limit)
    n_edges = len(measured.fit.short_circuits)
    if n_edges and settings.short_circuits == "keep":
        level = "doubtful" if n_edges >= CIRCUITS_COUNT else "good"
        yield finding("short circuits", level, "Pass short_circuits='cut', or look at the pairs", n_edges=n_edges)


def _of_chart(chart: Chart, bent: float, score: float, d: int, is_chosen: bool) -> Iterator[Finding]:
    """What the stress of a chart says, and what it leaves over."""
    stress, is_unfolded = chart.stress, chart.route == UNFOLDED
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
