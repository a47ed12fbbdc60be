"""Findings -> Assessment, sentences and warnings: every word that is said of how far an embedding can be believed.

Warnings are for what nobody would want: an eigenvector that is one of many, neighbors that were missed, a collapse.
What the data is like, in pieces or of another dimension, and what might be better, is advice: logged, and in `trust_`.
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hne._runtime.progress import advise
from hne.core.eigen.certificate import UNSETTLED, EigenPairs, is_settled
from hne.core.pieces.split import count_pieces, join_remedy
from hne.core.records import Chart, Embedding, FloatArray, IndexArray, NeighborGraph
from hne.core.tangent.frames import Dimension
from hne.core.tangent.score import TangentScore
from hne.exceptions import (
    CloseEigenvaluesWarning,
    HNEWarning,
    LandmarkWarning,
    NeighborRecallWarning,
    UntrustworthyWarning,
    caller_stacklevel,
)
from hne.settings import Settings

# How far an embedding can be believed, the best first; "unknown" where nothing that was calibrated carries over.
LEVELS = ("good", "doubtful", "bad", "unknown")
# Findings that speak for themselves, on whatever samples: the others count only where their limits were calibrated.
CERTAIN = frozenset({"collapsed", "repeated", "pieces", "bridges", "gap", "landmarks"})
OPENINGS = {"bad": "Do not believe it", "doubtful": "Believe it with care"}
# Share of true neighbors below which a user is told: one neighbor in ten is wrong.
LOW_RECALL = 0.9
# Dimensions of a picture.
SCREEN = 2
# What became of the pieces.
TREATMENT = {
    "separate": "each is embedded on its own and laid beside the others, so that directions and distances between "
    "pieces mean little",
    "join": "they are joined by the shortest links between them, which decide how the pieces lie to each other",
    "largest": "only the largest is embedded, and the others get NaN (see is_embedded_)",
}
TREATMENT_IN_LAYOUT = "all are laid out together, and distances between them are not meaningful"


@dataclass(frozen=True)
class Finding:
    """One thing that speaks against an embedding, or that you should know about it.

    Attributes
    ----------
    kind : str
        What it is about: "score", "repeated", "collapsed", "pieces", "bridges", "short circuits", "dimension",
        "stress", "self", "gap", "landmarks", "ties", or "unknown" for why no verdict is given.
    level : str
        How grave it is: "bad", "doubtful", or "good" for what is only to be known.
    values : mapping of str to object
        The numbers of its sentence by name; a "reason" where a kind has several.
    remedy : str
        What to do about it; empty where there is nothing to do.
    text : str
        What was found, as a sentence without its period.

    See Also
    --------
    hne.core.trust.verdict.Assessment : Holds the findings of a fit.
    """

    kind: str
    level: str
    values: Mapping[str, Any]
    remedy: str = ""
    text: str = ""


@dataclass(frozen=True, repr=False, eq=False)
class Assessment:
    """How far an embedding can be trusted, measured without knowing the truth.

    Limits were calibrated on surfaces: of most tables and images the level is "unknown".

    Attributes
    ----------
    level : str
        "good", "doubtful", "bad", or "unknown" where nothing that was calibrated carries over.
    verdict : str
        One sentence: can it be trusted, why, and what to do if not.
    findings : tuple of Finding
        What speaks against it, the gravest first.
    score : TangentScore or None
        What it loses of small neighborhoods, lower is better; None where that cannot be measured.
    eigenvalue_gap : float
        The next eigenvalue over the last wanted one. Near 1, the last coordinate is one of several equally good ones.
    repeated_share : float
        Largest share of a coordinate that is a smooth function of the others. Near 1, it tells nothing new.
    self_share : float
        Share of samples that are rebuilt mostly by themselves.
    n_pieces, n_bridges : int
        Pieces (connected components) of the neighbor graph, and edges by which alone parts of it hang together.
    short_circuits : ndarray of shape (n_edges, 2)
        Pairs of samples that are near in X and far along the surface, the worst first.
    dimension : Dimension or None
        Estimate of the samples' own dimension.
    collapsed_share : float
        Share of neighborhoods that shrink to points or lines.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : Has it as `trust_`, and the sentence as `verdict_`.
    hne.metrics.tangent_score : The score of any embedding.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> trust = HNE().fit(make_swiss_roll(300, random_state=0).X).trust_
    >>> trust.level, trust.n_pieces, trust.dimension.dimension
    ('good', 1, 2)
    """

    level: str
    verdict: str
    findings: tuple[Finding, ...]
    score: TangentScore | None
    eigenvalue_gap: float
    repeated_share: float
    self_share: float
    n_pieces: int
    n_bridges: int
    short_circuits: IndexArray
    dimension: Dimension | None
    collapsed_share: float = math.nan

    @property
    def decisive(self) -> Finding | None:
        """The finding that the verdict states; None where nothing speaks against it."""
        if self.level == "unknown":
            return next((one for one in self.findings if one.kind == "unknown"), None)
        return next((one for one in self.findings if one.level == self.level != "good"), None)

    @property
    def summary(self) -> str:
        """The level and the score, in a few words."""
        return self.level if self.score is None else f"{self.level}, score {self.score.score:.4f}"

    def of_samples(self, first: IndexArray) -> "Assessment":
        """The same with pairs of samples instead of places: `first` is a sample at each place."""
        return replace(self, short_circuits=np.sort(first[self.short_circuits], axis=1))

    def __str__(self) -> str:
        return f"{self.level}: {self.verdict}"

    __repr__ = __str__


def finding(kind: str, level: str, remedy: str = "", **values: Any) -> Finding:
    """A finding with its sentence."""
    return Finding(kind, level, values, remedy, _sentence(kind, values))


def verdict_against(finding: Finding) -> str:
    """The verdict where this finding decides."""
    if finding.kind == "unknown":
        return f"Cannot be judged: {finding.text}."
    remedy = f"; {finding.remedy[0].lower()}{finding.remedy[1:]}" if finding.remedy else ""
    return f"{OPENINGS[finding.level]}: {finding.text}{remedy}."


def praise(score: float = 0.0, limit: float = 0.0, *, is_sure: bool = True, stress: float | None = None) -> str:
    """The verdict where nothing speaks against it: by the stress of a chart, or by the score."""
    if stress is not None:
        return f"Can be believed: the chart keeps the lengths between near samples (stress {stress:.2g})."
    kept = f"(score {score:.4f}, good below {limit:.4f})"
    if is_sure:
        return f"Can be believed: neighborhoods keep their shape {kept}."
    return f"Can probably be believed: neighborhoods keep most of their shape {kept}."


def _sentence(kind: str, values: Mapping[str, Any]) -> str:  # noqa: C901, PLR0911, PLR0912, a line a kind
    """What a finding says."""
    v, d = values, values.get("n_components", 0)
    have = f"the samples have {_counted(values.get('dimension', 0), 'dimension')}"
    match kind, values.get("reason", ""):
        case "collapsed", _:
            tiny = f" (the first eigenvalue, {v['eigenvalue']:.0e}, is rounding)" if "eigenvalue" in v else ""
            cause = f", and {v['n_hanging']} samples hang by a single one" if "n_hanging" in v else ""
            return f"it has collapsed: {v['share']:.0%} of the neighborhoods shrink to points or lines{tiny}{cause}"
        case "dimension", _:
            return f"{have}, and the embedding {d}"
        case "gap", "unresolved":
            return f"eigenvalues {d} and {d + 1} cannot be told apart, so that it is one of many that are equally good"
        case "gap", _:
            return f"the next eigenvalue is only {v['gap'] - 1:.1%} larger than the last one that is shown"
        case "landmarks", reason:
            how = " and not solved to the end" if reason == "settled" else ", too few as it seems"
            what = "it" if v["n_eigenvectors"] is None else f"the span of its {v['n_eigenvectors']} eigenvectors"
            return f"it was found on landmarks{how}: the last refinement moved {what} by {v['last_move']:.1e} rad"
        case "pieces", _:
            return f"the neighbor graph is in {v['n_pieces']} pieces, and how they lie to each other is not known"
        case "repeated", "superfluous":
            return f"{have}, and of {d} coordinates one repeats the others"
        case "repeated", _:
            return f"a coordinate repeats the others: they tell {v['share']:.0%} of it"
        case "score", _:
            return f"neighborhoods lose their shape (score {v['score']:.4f}, good below {v['limit']:.4f})"
        case "self", _:
            return f"{v['share']:.0%} of the samples are rebuilt mostly by themselves"
        case "short circuits", _:
            edges = f"{v['n_edges']} {'edge seems' if v['n_edges'] == 1 else 'edges seem'}"
            return f"{edges} to lead across gaps, between samples that are far along the surface"
        case "stress", "hinge":
            kept = f"near lengths are kept (stress {v['stress']:.2g})"
            return f"{kept}, and yet it could bend: parts hang together by a hinge"
        case "stress", "narrow":
            return f"it is a narrow band whose lengths are not kept well (stress {v['stress']:.2g})"
        case "stress", _:
            needed = f"more than {_counted(d, 'coordinate')} are needed"
            return f"near lengths are not kept (stress {v['stress']:.2g}), and {needed}"
        case "bridges", "hanging":
            return f"{v['n_hanging']} samples hang by a single one, and how they lie to the others is not known"
        case "bridges", _:
            links = "one link is" if v["n_links"] == 1 else f"{v['n_links']} links are"
            return f"{links} all that holds parts together"
        case "ties", _:
            return f"for {v['share']:.0%} of the samples, the last neighbor is one of several that are as near"
        # Why limits that were calibrated on surfaces say nothing.
        case "unknown", "not measured":
            return "there are too few samples or known distances, or no neighborhood has so many dimensions"
        case "unknown", "layout":
            kept = f"trustworthiness {v['trustworthiness']:.3f}, continuity {v['continuity']:.3f}"
            return f"a layout preserves neighborhoods ({kept}) and groups, not distances, densities or sizes of groups"
        case "unknown", "more dimensions":
            return f"{have}, more than the {d} in which they are to keep their shape"
        case "unknown", "no surface":
            held = f"{_counted(d, 'direction')} hold only {v['share']:.0%} of the variance"
            where = "as in images and wherever samples are near no surface"
            return f"around a sample {held}, {where}, where even perfect embeddings score as badly as wrong ones"
        case "unknown", "no dimension":
            return "there are too few samples to tell how many dimensions they have"
        case "unknown", "unclear dimension":
            return f"the samples' own dimension is not clear, {v['dimension']}"
        case "unknown", "closed curve":
            seem = f"the samples seem to have {_counted(v['dimension'], 'dimension')} and the embedding {d}"
            return f"{seem}; only closed curves fill one more than they have"
    raise ValueError(kind)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


@dataclass(frozen=True)
class Notice:
    """What a user is told: a warning, or advice where it has no category."""

    kind: str  # "recall", "pieces", "eigenvalues", "landmarks", "verdict" or "dimension"
    message: str
    category: type[HNEWarning] | None = None


def emit_warnings(notices: Iterable[Notice]) -> None:
    """Warn of what is wrong with an embedding, and log what is worth knowing."""
    for notice in notices:
        if notice.category is None:
            advise(notice.message)
        else:
            warnings.warn(notice.message, notice.category, stacklevel=caller_stacklevel())


def embedding_warnings(result: Embedding) -> Iterator[Notice]:
    """What makes the embedding less than it seems: warnings, and advice."""
    core, settings, pairs = result.core, result.settings, result.eigenpairs
    yield from recall_warnings(core.graph)
    if core.pieces.count > 1:
        count, treatment = count_pieces(core.pieces, result.distinct, settings), TREATMENT[settings.pieces]
        if settings.coordinates == "layout" and settings.pieces == "separate":
            treatment = TREATMENT_IN_LAYOUT
        message = f"the neighbor graph has {count}: {treatment}. See piece_labels_. {join_remedy(settings)}."
        yield Notice("pieces", message)
    # A chart is made of eigenvectors of which the last are some of many.
    elif settings.coordinates == "eigenvectors" and pairs is not None and not pairs.certificate.is_resolved:
        yield close_eigenvalues(pairs.values, pairs.next_value, f" ({pairs.certificate.resolution:.1e})")
    charts = core.charts or (None,) * len(core.eigenpairs)
    for part, chart in zip(core.eigenpairs, charts, strict=True):
        if part is not None and not is_settled(part, chart):
            yield Notice("landmarks", _unsettled(part, chart, settings), LandmarkWarning)
            break
    trust, d = result.trust, settings.n_components
    if trust is None:
        return
    if trust.level == "bad":
        # Limits of scores were calibrated on other samples: what lies beyond them need not be wrong.
        is_certain = any(one.level == "bad" and one.kind in CERTAIN for one in trust.findings)
        yield Notice("verdict", f"{trust.verdict} See trust_.", UntrustworthyWarning if is_certain else None)
    estimate = trust.dimension
    # Two are what screens have: who asks for them knows.
    if any(one.kind == "dimension" for one in trust.findings) and not estimate.dimension > d == SCREEN:
        remedy = f"Try n_components={estimate.dimension}."
        yield Notice("dimension", f"n_components should be the samples' own dimension, {estimate}, got {d}. {remedy}")


def _unsettled(pairs: EigenPairs, chart: Chart | None, settings: Settings) -> str:
    """What is told of a piece whose eigenvectors are on their way and whose chart does not make up for it."""
    moved, d = pairs.certificate.last_move, len(pairs.values)
    if chart is not None:
        rule = "a chart that keeps the lengths between near samples"
        got = f"one with a stress of {chart.stress:.1e}, of eigenvectors that the last refinement moved by {moved:.1e}"
        got, remedy = f"{got} rad", ", unless the samples are noisy or near no surface"
    elif moved > UNSETTLED:
        rule, remedy = "an embedding at rest", ""
        got = f"one that the last refinement moved by {moved:.1e} rad, and the eigenvectors may be far away"
    else:
        rule, remedy = "eigenvalues far below the next", ""
        got = f"{pairs.values[-1]:.1e} and {pairs.next_value:.1e} for numbers {d} and {d + 1}"
        got = f"{got}: nothing tells that the embedding is near the eigenvectors"
    return f"n_landmarks={settings.n_landmarks} should leave {rule}, got {got}. Raise n_landmarks{remedy}."


def recall_warnings(graph: NeighborGraph) -> Iterator[Notice]:
    """A warning where approximate search has missed many neighbors."""
    if graph.recall < LOW_RECALL:
        rule = f"approximate search should find at least {LOW_RECALL:.0%} of the true neighbors"
        got = f"{graph.recall:.1%} on a sample of rows: the data is of too high a dimension for it"
        message = f"{rule}, got {got}. Reduce the features (PCA), or pass neighbors='exact'."
        yield Notice("recall", message, NeighborRecallWarning)


def close_eigenvalues(values: FloatArray, next_value: float, resolution: str = "") -> Notice:
    """The warning that the last wanted eigenvector could as well be another."""
    d = len(values)
    message = (
        f"eigenvalues {d} and {d + 1} after the constant one, {values[-1]:.2e} and {next_value:.2e}, are "
        f"closer than float64 tells apart{resolution}: the embedding is one of many that are equally "
        f"good. Choose n_components={d + 1} or another n_neighbors, or raise reg."
    )
    return Notice("eigenvalues", message, CloseEigenvaluesWarning)
