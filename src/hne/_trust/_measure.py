"""What a walk made -> Measures: the numbers that a verdict is read off, of the largest piece where there are more."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from hne._dimension import Dimension
from hne._parts import Parts, leading
from hne._samples import Distances, Samples
from hne._thin import ThinLinks, thin_links
from hne._trust._limits import FEW_SAMPLES, MANY_FEATURES, SELF_WEIGHT
from hne._trust._shape import collapsed_share, filled_share, repeated_share
from hne._trust._ties import tied_share
from hne._types import (
    PRECOMPUTED,
    Chart,
    EigenPairs,
    FloatArray,
    IndexArray,
    NeighborGraph,
    Pieces,
    Rescaled,
    Settings,
    Weights,
)
from hne._yardstick import Frames, TangentScore, Yardstick, dimension_of, is_measurable, yardstick
from hne.exceptions import HNEError

logger = logging.getLogger("hne")

Result = TypeVar("Result")

NAN = float("nan")


@dataclass(frozen=True)
class Shape:
    """What tangent frames tell of an embedding."""

    score: TangentScore
    collapsed_share: float
    filled_share: float  # how evenly samples fill the range of their coordinates
    frames: Frames

    def explained(self, dimension: int) -> float:
        """Share of the local variance that lies in so many directions."""
        return float(self.frames.shares[:dimension].sum())

    def is_flat(self, dimension: int) -> bool:
        """Whether the samples lie on a surface of that dimension, or near it: what limits were calibrated on."""
        return self.frames.is_flat(dimension)


@dataclass(frozen=True)
class Measures:
    """All that is known of an embedding; NaN and None for what cannot be."""

    shape: Shape | None
    pairs: EigenPairs | None
    chart: Chart | None
    is_refused: bool  # whether a rescaling would have been larger than the samples
    eigenvalue_gap: float
    repeated_share: float
    self_share: float
    pieces: Pieces
    thin: ThinLinks
    short_circuits: IndexArray
    dimension: Dimension | None
    n_rows: int  # samples of the part that was measured
    tied_share: float = 0.0  # of samples whose last neighbor is one of several that are as near


def measures(
    X: Samples,
    graph: NeighborGraph,
    pieces: Pieces,
    weights: Weights,
    parts: Parts,
    rescaled: Rescaled,
    circuits: IndexArray,
    settings: Settings,
    n_threads: int,
) -> Measures:
    """Measure the embedding of places; `circuits` are the short circuits, found or cut."""
    is_whole = pieces.count == 1 or settings.pieces == "join"
    rows = np.arange(X.shape[0]) if is_whole else np.flatnonzero(pieces.labels == 0)
    own = X if is_whole else X[rows].among(rows) if isinstance(X, Distances) else X[rows]
    pairs = parts.parts[0]
    dimension, shape = None, None
    # A chart is judged by itself, eigenvectors in their own coordinates, in which none is longer than another.
    chart = rescaled.charts[0] if rescaled.charts else None
    drawn = None if pairs is None else rescaled.Y[rows] if chart is not None else leading(pairs, settings.n_components)
    if pairs is not None and is_measurable(len(rows), settings.n_components):
        near, by = _with_distances(own, settings)
        dimension = _attempted("dimension", dimension_of, near, by.metric, by.metric_params, n_threads)
        shape = _attempted("shape", _shape, near, rescaled.Y[rows], drawn, by, n_threads)
    return Measures(
        shape=shape,
        pairs=pairs,
        chart=chart,
        is_refused=rescaled.is_refused,
        eigenvalue_gap=NAN if pairs is None else pairs.gap(settings.n_components),
        repeated_share=NAN if drawn is None else repeated_share(drawn),
        self_share=_self_share(weights),
        pieces=pieces,
        thin=thin_links(graph),
        short_circuits=circuits,
        dimension=dimension,
        n_rows=len(rows),
        tied_share=_attempted("ties", tied_share, X, graph, settings, n_threads) or 0.0,
    )


def _shape(X: Samples, Y: FloatArray, drawn: FloatArray, settings: Settings, n_threads: int) -> Shape | None:
    """None where not all distances are known, for ranks would be guesses, and where no neighborhood fills a plane."""
    if isinstance(X, Distances) and not X.is_complete:
        return None
    rule: Yardstick = yardstick(X, settings.n_components, settings.metric, settings.metric_params, n_threads)
    frames = rule.frames
    if not len(frames.members) or not (frames.S[:, -1] > 0).any():
        return None
    return Shape(
        score=rule.measure(Y),
        collapsed_share=collapsed_share(frames.members, drawn),
        filled_share=filled_share(drawn),
        frames=frames,
    )


def _attempted(what: str, function: Callable[..., Result], *arguments: Any) -> Result | None:
    """What the function makes, or None: no embedding is lost because it cannot be judged."""
    try:
        return function(*arguments)
    except (HNEError, np.linalg.LinAlgError, MemoryError) as error:
        logger.info("trust: %s not measured, %s", what, error)
        return None


def _with_distances(X: Samples, settings: Settings) -> tuple[Samples, Settings]:
    """The samples, or where they are few with many features their distances, which are searched many times."""
    is_plain = isinstance(X, np.ndarray) and isinstance(settings.metric, str) and settings.metric == "euclidean"
    if not is_plain or len(X) > FEW_SAMPLES or X.shape[1] < MANY_FEATURES:
        return X, settings
    centered = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", centered, centered)
    away = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2 * (centered @ centered.T), 0.0))
    away = np.maximum(away, away.T)
    np.fill_diagonal(away, 0.0)
    return Distances(away), replace(settings, metric=PRECOMPUTED, metric_params=None)


def _self_share(weights: Weights) -> float:
    """Share of samples whose own weight is more than half of all in their outer layer."""
    total = abs(weights.J).sum(axis=1)
    if not len(total):
        return NAN
    return float(np.mean(np.abs(weights.J.diagonal()) > SELF_WEIGHT * total))
