"""What a user is told of an embedding: the error for a graph in pieces, warnings of what is wrong, and advice.

Warnings are for what nobody would want: an eigenvector that is one of many, neighbors that were missed, a collapse.
What the data is like, in pieces or of another dimension, and what might be better, is advice: logged, and in `trust_`.
"""

import math
import warnings

import numpy as np

from hne._runtime.progress import advise
from hne.core.records import (
    UNSETTLED,
    Chart,
    EigenPairs,
    Embedding,
    FloatArray,
    NeighborGraph,
    Pieces,
    Settings,
    UniqueSamples,
    is_settled,
)
from hne.exceptions import (
    CloseEigenvaluesWarning,
    DisconnectedGraphError,
    HNEWarning,
    InputError,
    LandmarkWarning,
    NeighborRecallWarning,
    UntrustworthyWarning,
    caller_stacklevel,
)

# A category of warnings, or None for advice, and what is said.
Notice = tuple[type[HNEWarning] | None, str]

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


def check_connected(pieces: Pieces, distinct: UniqueSamples, settings: Settings) -> None:
    """Raise for a graph in several pieces, where that is what the user wants."""
    if pieces.count > 1 and settings.pieces == "raise":
        msg = (
            f"pieces='raise' needs a connected neighbor graph, got {_counted(pieces, distinct, settings)}. "
            f"{_advice(settings)}, or choose pieces='separate' or 'largest'."
        )
        raise DisconnectedGraphError(msg)


def check_lengths(result: Embedding) -> None:
    """Raise for coordinates in the lengths of X that are larger than any number of their kind."""
    kind, units = np.dtype(result.dtype), result.units
    drawn = float(np.nanmax(np.abs(result.core.rescaled.Y), initial=0.0))
    if not result.settings.in_lengths or units.restore_lengths(np.array(drawn)) <= np.finfo(kind).max:
        return
    size = math.log10(drawn) - math.log10(units.scale)
    msg = (
        f"coordinates='{result.settings.coordinates}' needs an X whose lengths {kind} holds, got coordinates of "
        f"about 1e+{size:.0f}. Divide X by {10.0 ** (math.ceil(size) - FAR_BELOW[kind.name]):.0e}, or choose "
        "coordinates='eigenvectors'."
    )
    raise InputError(msg)


def emit_warnings(result: Embedding) -> None:
    """Warn of what is wrong with the embedding, and log what is worth knowing."""
    for category, message in notices(result):
        if category is None:
            advise(message)
        else:
            warnings.warn(message, category, stacklevel=caller_stacklevel())


def notices(result: Embedding) -> list[Notice]:
    """What makes the embedding less than it seems: warnings, and advice."""
    found: list[Notice] = []
    if result.core.graph.recall < LOW_RECALL:
        found.append((NeighborRecallWarning, _low_recall(result.core.graph)))
    if result.core.pieces.count > 1:
        found.append((None, _in_pieces(result)))
    # A chart is made of eigenvectors of which the last are some of many.
    elif (
        result.settings.coordinates != "chart"
        and result.eigenpairs is not None
        and not result.eigenpairs.certificate.is_resolved
    ):
        pairs, proof = result.eigenpairs, result.eigenpairs.certificate
        told = _close_eigenvalues(pairs.values, pairs.next_value, f" ({proof.resolution:.1e})")
        found.append((CloseEigenvaluesWarning, told))
    found += [(LandmarkWarning, told) for told in _of_landmarks(result)[:1]]
    return found + _of_trust(result)


def _of_landmarks(result: Embedding) -> list[str]:
    """What is told of pieces whose eigenvectors are on their way and whose charts do not make up for it."""
    parts = result.core.parts
    charts = result.core.rescaled.charts or (None,) * len(parts)
    return [
        _unsettled(pairs, chart, result.settings)
        for pairs, chart in zip(parts, charts, strict=True)
        if pairs is not None and not is_settled(pairs, chart)
    ]


def _unsettled(pairs: EigenPairs, chart: Chart | None, settings: Settings) -> str:
    m, moved, d = settings.n_landmarks, pairs.certificate.last_move, len(pairs.values)
    if chart is not None:
        return (
            f"n_landmarks={m} should leave a chart that keeps the lengths between near samples, got one with a stress "
            f"of {chart.stress:.1e}, of eigenvectors that the last refinement moved by {moved:.1e} rad. Raise "
            "n_landmarks, unless the samples are noisy or near no surface."
        )
    if moved > UNSETTLED:
        return (
            f"n_landmarks={m} should leave an embedding at rest, got one that the last refinement moved by {moved:.1e} "
            "rad, and the eigenvectors may be far away. Raise n_landmarks."
        )
    return (
        f"n_landmarks={m} should leave eigenvalues far below the next, got {pairs.values[-1]:.1e} and "
        f"{pairs.next_value:.1e} for numbers {d} and {d + 1}: nothing tells that the embedding is near the "
        "eigenvectors. Raise n_landmarks."
    )


def _of_trust(result: Embedding) -> list[Notice]:
    """What its trust says: nothing where it has not been measured."""
    found: list[Notice] = []
    if result.trust is None:
        return found
    if result.trust.level == "bad":
        # Limits of scores were calibrated on other samples: what lies beyond them need not be wrong.
        category = UntrustworthyWarning if result.trust.is_certainly_bad else None
        found.append((category, f"{result.trust.verdict} See trust_."))
    told, d = result.trust.dimension, result.settings.n_components
    # Two are what screens have: who asks for them knows.
    is_told = any(finding.kind == "dimension" for finding in result.trust.findings)
    if is_told and not told.dimension > d == SCREEN:
        message = (
            f"n_components should be the samples' own dimension, {told}, got {d}. Try n_components={told.dimension}."
        )
        found.append((None, message))
    return found


def _in_pieces(result: Embedding) -> str:
    counted = _counted(result.core.pieces, result.distinct, result.settings)
    return (
        f"the neighbor graph has {counted}: {TREATMENT[result.settings.pieces]}. See piece_labels_. "
        f"{_advice(result.settings)}."
    )


def _counted(pieces: Pieces, distinct: UniqueSamples, settings: Settings) -> str:
    """Number of pieces, sizes of the largest with all copies, and how many are no larger than a neighborhood."""
    with_copies = np.bincount(pieces.labels[distinct.inverse], minlength=pieces.count)
    sizes = ", ".join(str(size) for size in with_copies[:5]) + (", ..." if pieces.count > 5 else "")
    n_small = int((pieces.sizes <= settings.n_neighbors).sum())
    isolated = f", {n_small} of them isolated (at most {settings.n_neighbors} samples)" if n_small else ""
    return f"{pieces.count} pieces (of {sizes} samples){isolated}"


def _advice(settings: Settings) -> str:
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
