"""Measures -> findings -> level and verdict, in plain words."""

import math
from collections.abc import Iterator
from dataclasses import replace

from hne.core.records import LANDMARKS, UNFOLDED, UNSETTLED, Chart, NeighborGraph, Settings, is_settled
from hne.core.trust.limits import (
    CHART_SCORE,
    CIRCUITS_COUNT,
    COLLAPSED_SHARE,
    CROWDED_SHARE,
    DIMENSION_NEAR,
    DIMENSIONS_A_DECADE,
    EIGENVALUE_ROUNDING,
    FLAT_BENT,
    FLAT_STRESS,
    GAP_NOTED,
    HINGE_BENT,
    HINGE_STRESS,
    MOST_NOISE,
    NARROW,
    NARROW_STRESS,
    PIECES_SHARE,
    REPEATED,
    SCORE_BAD,
    SCORE_DOUBTFUL,
    SCORE_NOISE,
    SCORE_SURE,
    SELF_SHARE,
    STRAINED_BENT,
    STRAINED_SCORE,
    STRAINED_STRESS,
    TIES_NOTED,
)
from hne.core.trust.measures import Measures, Shape
from hne.core.trust.record import CERTAIN, Finding

GRAVITY = {"bad": 0, "doubtful": 1, "good": 2}
# What limits that were calibrated on surfaces say.
CALIBRATED = frozenset({"score", "stress"})
OPENINGS = {"bad": "Do not believe it", "doubtful": "Believe it with care"}
CHOOSE = "Try n_neighbors='auto', reg='auto', variant='auto'"
# Dimensions of a picture.
SCREEN = 2
# Instead of the same advice to who took it.
CHOSEN = "No setting that was tried is better: scale or leave out features, take more samples, or another n_components"


def judged(found: Measures, settings: Settings, *, is_chosen: bool) -> tuple[str, str, tuple[Finding, ...]]:
    """Level, verdict and findings, the gravest first."""
    reason = why_unknown(found, settings.n_components)
    findings = sorted(_findings(found, settings), key=lambda finding: GRAVITY[finding.level])
    if is_chosen:
        findings = [replace(one, advice=CHOSEN) if "'auto'" in one.advice else one for one in findings]
    counting = [one for one in findings if one.level != "good" and (not reason or one.kind in CERTAIN)]
    if reason:
        # What was calibrated elsewhere says nothing here, and other findings are only to be known.
        said = [one for one in findings if one.kind not in CALIBRATED]
        findings = [one if one.kind in CERTAIN else replace(one, level="good") for one in said]
        findings.append(Finding("unknown", "good", reason))
    if counting:
        gravest = counting[0]
        advice = f"; {gravest.advice[0].lower()}{gravest.advice[1:]}" if gravest.advice else ""
        return gravest.level, f"{OPENINGS[gravest.level]}: {gravest.text}{advice}.", tuple(findings)
    if reason:
        return "unknown", f"Cannot be judged: {reason}.", tuple(findings)
    return "good", _praise(found, settings.n_components), tuple(findings)


def why_unknown(found: Measures, d: int) -> str:
    """Why limits that were calibrated on surfaces say nothing here; empty where they do."""
    if found.shape is None:
        return "there are too few samples or known distances, or no neighborhood has so many dimensions"
    own = max(d, _dimension(found, d))
    if not found.shape.is_flat(own):
        return _near_no_surface(found.shape, own, d)
    told = found.dimension
    if told is None:
        return "there are too few samples to tell how many dimensions they have"
    if not told.is_agreed and min(abs(told.by_likelihood - d), abs(told.by_two_nearest - d)) > DIMENSION_NEAR:
        return f"the samples' own dimension is not clear, {told}"
    if told.dimension < d <= SCREEN:
        return (
            f"the samples seem to have {_counted(told.dimension, 'dimension')} and the embedding {d}; only closed "
            "curves fill one more than they have"
        )
    return ""


def _near_no_surface(shape: Shape, own: int, d: int) -> str:
    if own > d:
        return f"the samples have {_counted(own, 'dimension')}, more than the {d} in which they are to keep their shape"
    return (
        f"around a sample {_counted(d, 'direction')} hold only {shape.explained(d):.0%} of the variance, as in images "
        "and wherever samples are near no surface, where even perfect embeddings score as badly as wrong ones"
    )


def _praise(found: Measures, d: int) -> str:
    assert found.shape is not None  # noqa: S101
    if _is_laid_flat(found, d) and found.chart is not None:
        return f"Can be believed: the chart keeps the lengths between near samples (stress {found.chart.stress:.2g})."
    score, limit = found.shape.score.score, score_limit(found.shape, _score_from(found), d)
    kept = f"(score {score:.4f}, good below {limit:.4f})"
    if score > score_limit(found.shape, SCORE_SURE, d):
        return f"Can probably be believed: neighborhoods keep most of their shape {kept}."
    return f"Can be believed: neighborhoods keep their shape {kept}."


def score_limit(shape: Shape, limit: float, d: int) -> float:
    """The limit for samples as noisy as these."""
    return limit + SCORE_NOISE * min(1 - shape.explained(d), MOST_NOISE)


def _findings(found: Measures, settings: Settings) -> Iterator[Finding]:
    """All that speaks against the embedding, or that its reader should know."""
    d = settings.n_components
    yield from _of_dimension(found, d)
    # What is wrong with the graph shows in the shape as well: of both, the cause is told.
    yield from _of_graph(found, settings)
    if found.shape is not None:
        yield from _of_shape(found, found.shape, settings)
    if found.chart is not None:
        # A chart is made of eigenvectors of which the last are some of many.
        pass
    elif found.pairs is not None and not found.pairs.certificate.is_resolved:
        text = f"eigenvalues {d} and {d + 1} cannot be told apart, so that it is one of many that are equally good"
        yield Finding("gap", "doubtful", text, f"Choose n_components={d + 1}, another n_neighbors, or a larger reg")
    elif found.eigenvalue_gap < GAP_NOTED:
        text = f"the next eigenvalue is only {found.eigenvalue_gap - 1:.1%} larger than the last one that is shown"
        yield Finding("gap", "good", text, f"Look at n_components={d + 1} as well")
    yield from _of_landmarks(found, settings)
    if found.self_share > SELF_SHARE:
        text = f"{found.self_share:.0%} of the samples are rebuilt mostly by themselves"
        yield Finding("self", "good", text, "Pass include_self=False for reconstruction errors that say more")


def _of_landmarks(found: Measures, settings: Settings) -> Iterator[Finding]:
    pairs, chart = found.pairs, found.chart
    if pairs is not None and pairs.solver == LANDMARKS:
        settled, moved = is_settled(pairs, chart), pairs.certificate.last_move
        it = "it" if chart is None else f"the span of its {len(pairs.values)} eigenvectors"
        text = f"it was found on landmarks and not solved to the end: the last refinement moved {it} by {moved:.1e} rad"
        if not settled:
            text = f"it was found on landmarks, too few as it seems: the last refinement moved {it} by {moved:.1e} rad"
        level = "good" if settled else "bad" if moved > UNSETTLED and chart is None else "doubtful"
        yield Finding("landmarks", level, text, _more_landmarks(settings))


def _more_landmarks(settings: Settings) -> str:
    return f"Raise n_landmarks (now {settings.n_landmarks}), or lower reg (now {settings.reg:g})"


def _of_shape(found: Measures, shape: Shape, settings: Settings) -> Iterator[Finding]:
    d = settings.n_components
    if shape.collapsed_share > COLLAPSED_SHARE and shape.filled_share < CROWDED_SHARE:
        text = f"it has collapsed: {shape.collapsed_share:.0%} of the neighborhoods shrink to points or lines"
        least = math.nan if found.pairs is None else float(found.pairs.values[0])
        tiny = f" (the first eigenvalue, {least:.0e}, is rounding)" if least < EIGENVALUE_ROUNDING else ""
        cause = f", and {found.thin.n_hanging} samples hang by a single one" if _hangs(found) else ""
        advice = "Try a larger n_neighbors and reg, or n_neighbors='auto'"
        yield Finding("collapsed", "bad", text + tiny + cause, advice)
    score, limit = shape.score.score, score_limit(shape, _score_from(found), d)
    if found.repeated_share > REPEATED and d <= _told(found, d):
        # A crescent's coordinates tell much of each other, too: its neighborhoods keep their shape.
        level = "bad" if shape.is_flat(d) and score > limit else "doubtful"
        text = f"a coordinate repeats the others: they tell {found.repeated_share:.0%} of it"
        yield Finding("repeated", level, text, "Try a smaller reg, or reg='auto' and n_neighbors='auto'")
    yield from _of_chart(found, score, d)
    if score > limit and not _is_laid_flat(found, d):
        # In fewer dimensions than samples have, nothing keeps its shape: that is to be known, not to be warned of.
        is_bad = score > score_limit(shape, SCORE_BAD, d) and d >= _dimension(found, d)
        text = f"neighborhoods lose their shape (score {score:.4f}, good below {limit:.4f})"
        advice = CHOOSE if settings.n_landmarks is None else _more_landmarks(settings)
        yield Finding("score", "bad" if is_bad else "doubtful", text, advice)
    n_circuits = len(found.short_circuits)
    if n_circuits and settings.short_circuits == "keep":
        level = "doubtful" if n_circuits >= CIRCUITS_COUNT else "good"
        edges = "edge seems" if n_circuits == 1 else "edges seem"
        text = f"{n_circuits} {edges} to lead across gaps, between samples that are far along the surface"
        yield Finding("short circuits", level, text, "Pass short_circuits='cut', or look at the pairs")


def _score_from(found: Measures) -> float:
    """The score from which an embedding without noise is doubtful."""
    return SCORE_DOUBTFUL if found.chart is None else CHART_SCORE


def _bent(chart: Chart, d: int) -> float:
    """What is left over behind the last coordinate, in its own spread squared: 0 of a surface that lies flat."""
    kept = float(chart.spectrum[d - 1])
    return float(chart.spectrum[d]) / kept if len(chart.spectrum) > d and kept > 0 else 0.0


def _is_laid_flat(found: Measures, d: int) -> bool:
    """Whether a chart keeps near lengths so well that nothing else need be asked."""
    chart = found.chart
    if chart is None or chart.route != UNFOLDED:
        return False
    return chart.stress <= FLAT_STRESS and _bent(chart, d) <= FLAT_BENT


def _of_chart(found: Measures, score: float, d: int) -> Iterator[Finding]:
    """What the stress of a chart says, and what it leaves over."""
    chart = found.chart
    if found.is_refused:
        text = "a rescaling would have drawn it larger than the samples are, and was refused"
        yield Finding("size", "doubtful", text, "Choose coordinates='chart'")
    if chart is None:
        return
    bent, stress, is_unfolded = _bent(chart, d), chart.stress, chart.route == UNFOLDED
    if is_unfolded and stress <= HINGE_STRESS and bent > HINGE_BENT:
        text = f"near lengths are kept (stress {stress:.2g}), and yet it could bend: parts hang together by a hinge"
        yield Finding("stress", "doubtful", text, "Raise n_neighbors, or look where it is thin")
    elif is_unfolded and chart.spectrum[d - 1] < NARROW * chart.spectrum[0] and stress > NARROW_STRESS:
        text = f"it is a narrow band whose lengths are not kept well (stress {stress:.2g})"
        yield Finding("stress", "doubtful", text, "Take more samples, or believe its longest coordinate alone")
    elif stress > STRAINED_STRESS and bent > STRAINED_BENT and score > STRAINED_SCORE:
        text = f"near lengths are not kept (stress {stress:.2g}), and more than {_counted(d, 'coordinate')} are needed"
        yield Finding("stress", "doubtful", text, f"{CHOOSE}, or n_components={d + 1}")


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _dimension(found: Measures, d: int) -> int:
    """The samples' own dimension where that is agreed, by enough samples, or else that of the embedding."""
    told = found.dimension
    is_sure = told is not None and told.is_agreed and told.dimension <= DIMENSIONS_A_DECADE * math.log10(found.n_rows)
    return told.dimension if told is not None and is_sure else d


def _told(found: Measures, d: int) -> int:
    """The samples' own dimension, agreed or not."""
    return d if found.dimension is None else found.dimension.dimension


def _of_dimension(found: Measures, d: int) -> Iterator[Finding]:
    own, told = _dimension(found, d), _told(found, d)
    repeats = found.repeated_share > REPEATED
    if told < d and repeats:
        text = f"the samples have {_counted(told, 'dimension')}, and of {d} coordinates one repeats the others"
        yield Finding("repeated", "doubtful", text, f"Try n_components={told}")
    # A closed curve fills one coordinate more than it has dimensions: a ring is drawn in two, which screens have.
    if own > d or own < d - 1 or (own < d and (repeats or d > SCREEN)):
        # Two are what screens have: who asks for them knows.
        level = "good" if own > d == SCREEN else "doubtful"
        text = f"the samples have {_counted(own, 'dimension')}, and the embedding {d}"
        yield Finding("dimension", level, text, f"Try n_components={own}")


def _more_links(settings: Settings) -> str:
    given, k = settings.neighbors, settings.n_neighbors
    if isinstance(given, NeighborGraph) and given.n_others <= k:
        return "Add links to the given graph"
    return f"Raise n_neighbors (now {k})"


def _hangs(found: Measures) -> bool:
    """Whether more than a few strays hang by one sample."""
    return found.thin.n_hanging > PIECES_SHARE * int(found.pieces.sizes.sum())


def _of_graph(found: Measures, settings: Settings) -> Iterator[Finding]:
    pieces = found.pieces
    if pieces.count > 1:
        outside = 1 - pieces.sizes[0] / pieces.sizes.sum()
        level = "doubtful" if outside > PIECES_SHARE else "good"
        text = f"the neighbor graph is in {pieces.count} pieces, and how they lie to each other is not known"
        yield Finding("pieces", level, text, f"{_more_links(settings)} where they belong together")
    n_thin, hanging = len(found.thin.pairs), found.thin.n_hanging
    if n_thin:
        links = "one link is" if n_thin == 1 else f"{n_thin} links are"
        text = f"{links} all that holds parts together"
        level = "good"
        if _hangs(found):
            # Two parts turn about a sample that they share: how they lie to each other is as little known as of pieces.
            level = "doubtful"
            text = f"{hanging} samples hang by a single one, and how they lie to the others is not known"
        yield Finding("thin links", level, text, f"{_more_links(settings)} if that is an accident")
    if found.tied_share > TIES_NOTED:
        text = f"for {found.tied_share:.0%} of the samples, the last neighbor is one of several that are as near"
        yield Finding("ties", "good", text, "Compare it with another n_neighbors: what both show does not hang on ties")
