"""What a user is told of an embedding: the error for a graph in pieces, warnings of what is wrong, and advice.

Warnings are for what nobody would want: an eigenvector that is one of many, neighbors that were missed, a collapse.
What the data is like, in pieces or of another dimension, and what might be better, is advice: logged, and in `trust_`.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hne._runtime.progress import advise
from hne.core.eigen.certificate import UNSETTLED, EigenPairs, is_settled
from hne.core.records import Chart, Embedding, FloatArray, NeighborGraph, Pieces, UniqueSamples
from hne.exceptions import (
    CloseEigenvaluesWarning,
    DisconnectedGraphError,
    HNEWarning,
    LandmarkWarning,
    NeighborRecallWarning,
    UntrustworthyWarning,
    caller_stacklevel,
    refuse,
)
from hne.settings import Settings

# Share of true neighbors below which a user is told: one neighbor in ten is wrong.
LOW_RECALL = 0.9
# Dimensions of a picture.
SCREEN = 2
# Decimal exponents of sizes that leave room for what is computed from them.
FAR_BELOW = {"float64": 300, "float32": 30}
# What became of the pieces.
TREATMENT = {
    "separate": "each is embedded on its own and laid beside the others, so that directions and distances between "
    "pieces mean little",
    "join": "they are joined by the shortest links between them, which decide how the pieces lie to each other",
    "largest": "only the largest is embedded, and the others get NaN (see is_embedded_)",
}


@dataclass(frozen=True)
class Notice:
    """What a user is told: a warning, or advice where it has no category."""

    kind: str  # "recall", "pieces", "eigenvalues", "landmarks", "verdict" or "dimension"
    message: str
    category: type[HNEWarning] | None = None


def check_connected(pieces: Pieces, distinct: UniqueSamples, settings: Settings) -> None:
    """Raise for a graph in several pieces, where that is what the user wants."""
    if pieces.count > 1 and settings.pieces == "raise":
        count, remedy = _count_pieces(pieces, distinct, settings), _join_remedy(settings)
        remedy = f"{remedy}, or choose pieces='separate' or 'largest'"
        refuse("pieces='raise'", "needs a connected neighbor graph", count, remedy, DisconnectedGraphError)


def check_lengths(result: Embedding) -> None:
    """Raise for coordinates in the lengths of X that are larger than any number of their kind."""
    kind, coordinates = np.dtype(result.dtype), result.settings.coordinates
    drawn = float(np.nanmax(np.abs(result.core.rescaled.Y), initial=0.0))
    if not result.settings.in_lengths or result.units.restore_lengths(np.array(drawn)) <= np.finfo(kind).max:
        return
    size = math.log10(drawn) - math.log10(result.units.scale)
    unit = f"{10.0 ** (math.ceil(size) - FAR_BELOW[kind.name]):.0e}"
    remedy = f"Divide X by {unit}, or choose coordinates='eigenvectors'"
    rule = f"needs an X whose lengths {kind} holds"
    refuse(f"coordinates='{coordinates}'", rule, f"coordinates of about 1e+{size:.0f}", remedy)


def emit_warnings(result: Embedding) -> None:
    """Warn of what is wrong with the embedding, and log what is worth knowing."""
    for notice in embedding_warnings(result):
        if notice.category is None:
            advise(notice.message)
        else:
            warnings.warn(notice.message, notice.category, stacklevel=caller_stacklevel())


def embedding_warnings(result: Embedding) -> Iterator[Notice]:
    """What makes the embedding less than it seems: warnings, and advice."""
    core, settings, pairs = result.core, result.settings, result.eigenpairs
    if core.graph.recall < LOW_RECALL:
        yield Notice("recall", _low_recall(core.graph), NeighborRecallWarning)
    if core.pieces.count > 1:
        count, treatment = _count_pieces(core.pieces, result.distinct, settings), TREATMENT[settings.pieces]
        message = f"the neighbor graph has {count}: {treatment}. See piece_labels_. {_join_remedy(settings)}."
        yield Notice("pieces", message)
    # A chart is made of eigenvectors of which the last are some of many.
    elif settings.coordinates != "chart" and pairs is not None and not pairs.certificate.is_resolved:
        message = _close_eigenvalues(pairs.values, pairs.next_value, f" ({pairs.certificate.resolution:.1e})")
        yield Notice("eigenvalues", message, CloseEigenvaluesWarning)
    charts = core.rescaled.charts or (None,) * len(core.parts)
    for part, chart in zip(core.parts, charts, strict=True):
        if part is not None and not is_settled(part, chart):
            yield Notice("landmarks", _unsettled(part, chart, settings), LandmarkWarning)
            break
    trust, d = result.trust, settings.n_components
    if trust is None:
        return
    if trust.level == "bad":
        # Limits of scores were calibrated on other samples: what lies beyond them need not be wrong.
        category = UntrustworthyWarning if trust.is_certainly_bad else None
        yield Notice("verdict", f"{trust.verdict} See trust_.", category)
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


def _count_pieces(pieces: Pieces, distinct: UniqueSamples, settings: Settings) -> str:
    """Number of pieces, sizes of the largest with all copies, and how many are no larger than a neighborhood."""
    with_copies = np.bincount(pieces.labels[distinct.inverse], minlength=pieces.count)
    sizes = ", ".join(str(size) for size in with_copies[:5]) + (", ..." if pieces.count > 5 else "")
    n_small = int((pieces.sizes <= settings.n_neighbors).sum())
    isolated = f", {n_small} of them isolated (at most {settings.n_neighbors} samples)" if n_small else ""
    return f"{pieces.count} pieces (of {sizes} samples){isolated}"


def _join_remedy(settings: Settings) -> str:
    if isinstance(settings.neighbors, NeighborGraph):
        return "Where they belong together, add links to the given graph"
    join = "" if settings.pieces == "join" else ", or pass pieces='join'"
    k = settings.n_neighbors
    return f"Where they belong together and are only sampled sparsely, raise n_neighbors (now {k}){join}"


def warn_of_recall(graph: NeighborGraph) -> None:
    """Warn where approximate search has missed many neighbors."""
    if graph.recall < LOW_RECALL:
        warnings.warn(_low_recall(graph), NeighborRecallWarning, stacklevel=caller_stacklevel())


def _low_recall(graph: NeighborGraph) -> str:
    return (
        f"approximate search should find at least {LOW_RECALL:.0%} of the true neighbors, got {graph.recall:.1%} on a "
        "sample of rows: the data is of too high a dimension for it. Reduce the features (PCA), or pass "
        "neighbors='exact'."
    )


def warn_of_close_eigenvalues(values: FloatArray, next_value: float) -> None:
    """Warn that the last wanted eigenvector could as well be another."""
    warnings.warn(_close_eigenvalues(values, next_value), CloseEigenvaluesWarning, stacklevel=caller_stacklevel())


def _close_eigenvalues(values: FloatArray, next_value: float, resolution: str = "") -> str:
    d = len(values)
    return (
        f"eigenvalues {d} and {d + 1} after the constant one, {values[-1]:.2e} and {next_value:.2e}, are "
        f"closer than float64 tells apart{resolution}: the embedding is one of many that are equally "
        f"good. Choose n_components={d + 1} or another n_neighbors, or raise reg."
    )
