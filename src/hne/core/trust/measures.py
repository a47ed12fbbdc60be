"""Fit -> Measures: the numbers that a verdict is read off, of the largest piece where there are more."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy.spatial import cKDTree

from hne._runtime.progress import mute_progress
from hne.core.eigen.certificate import EigenPairs
from hne.core.neighbors.graph import nearest_by
from hne.core.pieces.bridges import Bridges, find_bridges
from hne.core.records import Chart, Core, FloatArray, IndexArray, NeighborGraph, Weights
from hne.core.samples.kinds import Distances, Samples, is_complete, is_dense
from hne.core.tangent.dimension import Dimension
from hne.core.tangent.frames import Frames, is_measurable
from hne.core.tangent.score import LocalGeometry, TangentScore, local_geometry
from hne.exceptions import HNEError
from hne.settings import PRECOMPUTED, Settings

logger = logging.getLogger("hne")

Result = TypeVar("Result")

# Neighbors that a coordinate is told by, and samples that are looked at.
TELLING_NEIGHBORS, TELLING_ROWS = 8, 2000
# A neighborhood has collapsed where its narrowest side is less than this share of what even samples would have.
COLLAPSED_SIDE = 0.1
# Bins by which it is told how samples fill their range, and samples for each.
MOST_BINS, SAMPLES_A_BIN = 50, 4
# Share of |J_i| that makes a sample mostly its own.
SELF_WEIGHT = 0.5
# Share of samples from which ties are told of: digits at k = 6 .03, where another choice among them turned the plane by
# .5 rad; iris .2 to .3, a lattice .12 to 1; a roll rounded to a hundredth of its size .01, measured values none.
# Samples that it is measured on: 500 tell .03 to .008.
TIES_NOTED, TIED_ROWS = 0.02, 500
# So few samples with so many features are measured by all their distances, made once by products: a third of the time.
FEW_SAMPLES, MANY_FEATURES = 3000, 100


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


@dataclass(frozen=True)
class Measures:
    """All that is known of an embedding; NaN and None for what cannot be."""

    fit: Core
    pairs: EigenPairs | None  # of the largest piece
    chart: Chart | None
    shape: Shape | None
    dimension: Dimension | None
    eigenvalue_gap: float
    repeated_share: float
    self_share: float
    thin: Bridges
    n_rows: int  # samples of the part that was measured
    tied_share: float = 0.0  # of samples whose last neighbor is one of several that are as near


def measures(fit: Core, settings: Settings, n_threads: int, geometry: LocalGeometry | None = None) -> Measures:
    """Measure the embedding of places; `geometry` is that of the largest piece, where it was made before."""
    geometry = local_geometry(fit.X, fit.pieces, settings, n_threads) if geometry is None else geometry
    rows, d = geometry.rows, settings.n_components
    pairs, rescaled = fit.parts[0], fit.rescaled
    dimension, shape = None, None
    # A chart is judged by itself, eigenvectors in their own coordinates, in which none is longer than another.
    chart = rescaled.charts[0] if rescaled.charts else None
    drawn = None if pairs is None else rescaled.Y[rows] if chart is not None else pairs.leading(d)
    if drawn is not None and is_measurable(len(rows), d):
        geometry = _with_distances(geometry)
        dimension = _attempted("dimension", lambda: geometry.dimension)
        shape = _attempted("shape", lambda: _shape(geometry, rescaled.Y[rows], drawn))
    return Measures(
        fit=fit,
        pairs=pairs,
        chart=chart,
        shape=shape,
        dimension=dimension,
        eigenvalue_gap=math.nan if pairs is None else pairs.gap(d),
        repeated_share=math.nan if drawn is None else repeated_share(drawn),
        self_share=_self_share(fit.weights),
        thin=find_bridges(fit.graph),
        n_rows=len(rows),
        tied_share=_attempted("ties", lambda: tied_share(fit.X, fit.graph, settings, n_threads)) or 0.0,
    )


def _shape(geometry: LocalGeometry, Y: FloatArray, drawn: FloatArray) -> Shape | None:
    """None where not all distances are known, for ranks would be guesses, and where no neighborhood fills a plane."""
    if not is_complete(geometry.X):
        return None
    frames = geometry.frames
    if not len(frames.members) or not (frames.S[:, -1] > 0).any():
        return None
    return Shape(geometry.scorer.measure(Y), collapsed_share(frames.members, drawn), filled_share(drawn), frames)


def _attempted(what: str, measure: Callable[[], Result]) -> Result | None:
    """What is measured, or None: no embedding is lost because it cannot be judged."""
    try:
        return measure()
    except (HNEError, np.linalg.LinAlgError, MemoryError) as error:
        logger.info("trust: %s not measured, %s", what, error)
        return None


def _with_distances(geometry: LocalGeometry) -> LocalGeometry:
    """The same, or where samples are few with many features that of their distances, which are searched many times."""
    X, metric = geometry.X, geometry.metric
    is_plain = is_dense(X) and isinstance(metric, str) and metric == "euclidean"
    if not is_plain or len(X) > FEW_SAMPLES or X.shape[1] < MANY_FEATURES:
        return geometry
    centered = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", centered, centered)
    away = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2 * (centered @ centered.T), 0.0))
    away = np.maximum(away, away.T)
    np.fill_diagonal(away, 0.0)
    return replace(geometry, X=Distances(away), metric=PRECOMPUTED, metric_params=None)


def _self_share(weights: Weights) -> float:
    """Share of samples whose own weight is more than half of all in their outer layer."""
    total = abs(weights.J).sum(axis=1)
    if not len(total):
        return math.nan
    return float(np.mean(np.abs(weights.J.diagonal()) > SELF_WEIGHT * total))


def collapsed_share(members: IndexArray, Y: FloatArray) -> float:
    """Share of neighborhoods (a, m) with one side far shorter than m of n evenly spread samples would have.

    Sides are measured where all coordinates have the same spread: in that of n samples, the side is (m / n)^(1/d).
    """
    (n, d), m = Y.shape, members.shape[1]
    spread = Y.std(axis=0)
    local = (Y / np.where(spread > 0, spread, 1.0))[members]
    sides = np.linalg.svd(local - local.mean(axis=1, keepdims=True), compute_uv=False)[:, -1] / math.sqrt(m)
    return float(np.mean(sides < COLLAPSED_SIDE * (m / n) ** (1 / d)))


def filled_share(Y: FloatArray) -> float:
    """How evenly the samples fill the range of the coordinate that they fill least: 1 where all bins hold as many.

    exp(entropy) of a histogram over its number of bins; a normal distribution fills .6.
    """
    bins = int(np.clip(len(Y) // SAMPLES_A_BIN, 2, MOST_BINS))
    shares = []
    for coordinate in Y.T:
        lowest, widest = coordinate.min(), np.ptp(coordinate)
        # Not np.histogram: a range of 1e-300 is one for it, too.
        at = np.minimum(((coordinate - lowest) / (widest if widest > 0 else 1.0) * bins).astype(np.intp), bins - 1)
        held = np.bincount(at, minlength=bins) / len(Y)
        held = held[held > 0]
        shares.append(float(np.exp(-(held * np.log(held)).sum())) / bins)
    return min(shares)


def repeated_share(Y: FloatArray) -> float:
    """Largest share of a coordinate's variance that the others tell, each sample told by those around it, not itself.

    0 for a single coordinate, NaN where there are too few samples.
    """
    n, d = Y.shape
    if d == 1:
        return 0.0
    if n < 3 * TELLING_NEIGHBORS:
        return math.nan
    if n > TELLING_ROWS:
        Y = Y[np.sort(np.random.RandomState(0).choice(n, TELLING_ROWS, replace=False))]
    spread = Y.std(axis=0)
    Y = (Y - Y.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    shares = [_told(np.delete(Y, column, axis=1), Y[:, column]) for column in range(d)]
    return max(0.0, *shares)


def _told(others: FloatArray, coordinate: FloatArray) -> float:
    """Share of the variance of a coordinate that the means of those around tell."""
    near = cKDTree(others).query(others, k=TELLING_NEIGHBORS + 1)[1]
    is_other = near != np.arange(len(others))[:, None]
    # Of places that coincide, a sample may be missing from its own list.
    is_other[is_other.all(axis=1), -1] = False
    means = coordinate[near[is_other].reshape(len(others), -1)].mean(axis=1)
    return 1.0 - float(((coordinate - means) ** 2).mean())


def tied_share(X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> float:
    """Share of samples with another that is as near as their last neighbor and was left out.

    Measured on some of them, and only where neighbors tie at all: 0 where they do not, and in a graph that was given.
    """
    n, k = X.shape[0], settings.n_neighbors
    if graph.method == "given" or n <= k + 1 or (k > 1 and _listed_ties(graph) <= TIES_NOTED):
        return 0.0
    rows = np.arange(n) if n <= TIED_ROWS else np.sort(np.random.RandomState(0).choice(n, TIED_ROWS, replace=False))
    targets = X if len(rows) == n else X[rows]
    with mute_progress():
        _, lengths, _ = nearest_by(settings.metric, settings.metric_params, X, targets, k + 1, rows, n_threads)
    if lengths.shape[1] <= k:
        return 0.0
    share = float(np.mean(np.isfinite(lengths[:, k]) & (lengths[:, k] == lengths[:, k - 1])))
    if share > TIES_NOTED:
        logger.info("neighbors: for %.0f%% of the samples, the last is one of several that are as near", 100 * share)
    return share


def _listed_ties(graph: NeighborGraph) -> float:
    """Share of samples of whom two neighbors are as near as each other."""
    lengths = np.asarray(graph.distances)
    return float(np.mean(((lengths[:, 1:] == lengths[:, :-1]) & np.isfinite(lengths[:, 1:])).any(axis=1)))
