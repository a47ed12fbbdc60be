"""Eigenvectors of a piece, its graph -> Chart: the map of more eigenvectors than coordinates that keeps lengths.

The second coordinate of a long band is not among the first two eigenvectors, and those of clustered samples mostly tell
clusters apart, which become points. All of it is in the span of the bottom twenty. Near a surface, the map keeps the
lengths of near pairs and unfolds; elsewhere, where local lengths fit into no plane, those of ways along the graph. How
closely to follow them depends on the samples: some pictures are drawn, and ranks of neighbors choose.
"""

import logging
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from hne.core.chart.stress import Picture, Ways, farthest_first, longest_way, pictures_of
from hne.core.chart.unfolding import polished, stress_of, unfolded
from hne.core.neighbors.edges import Edges, edges_of
from hne.core.records import ALONG_GRAPH, UNFOLDED, Chart, FloatArray, IndexArray, NeighborGraph, Settings, SparseMatrix
from hne.core.samples.kinds import Samples
from hne.core.short_circuits.steepness import lengths_of_pairs
from hne.core.tangent.score import ranks_of
from hne.settings import NEAR_SURFACE

# Pairs that a chart is fitted to: of more, so many at random. With 60 000 the error of a roll of 3 000 with noise is
# 1.34e-3, with 15 000 1.39e-3, in a sixth of the time.
MAX_PAIRS = 20_000
# Pairs within two hops that a sample begins, about, on surfaces with ten neighbors.
PAIRS_A_SAMPLE = 8
# Squares of shorter lengths are not told from zero, and those of differences in units of them end float64.
SHORTEST = 1e-150
# Pairs so many times as short as most are near-copies: of them, eigenvectors tell less than they are wrong by, and in
# units of their distance that would outweigh all else.
NEAR_COPIES = 1e-3


@dataclass(frozen=True)
class Pairs:
    """Pairs of different samples with their distances, all positive."""

    first: IndexArray  # (p,)
    second: IndexArray  # (p,)
    lengths: FloatArray  # (p,), in the coordinates

    def __len__(self) -> int:
        return len(self.first)

    def ratios(self, vectors: FloatArray) -> FloatArray:
        """Differences of vectors in units of the distance of each pair, (p, m)."""
        differences: FloatArray = (vectors[self.first] - vectors[self.second]) / self.lengths[:, None]
        return differences


def near_pairs(X: Samples, edges: Edges) -> Pairs:
    """Pairs within two hops in the graph, or some of them where they are many, in order."""
    n = edges.n_samples
    starts, columns, _ = edges.entries(np.ones(len(edges), dtype=bool))
    adjacency = csr_array((np.ones(len(columns), dtype=np.int32), columns, starts), shape=(n, n))
    draw = np.random.RandomState(0)
    rows = np.arange(n)
    # Drawn by samples first, so that no more than is needed is made of large graphs.
    if n * PAIRS_A_SAMPLE > 2 * MAX_PAIRS:
        rows = np.sort(draw.choice(n, 2 * MAX_PAIRS // PAIRS_A_SAMPLE, replace=False))
    within = csr_array(adjacency[rows] + adjacency[rows] @ adjacency)
    first = np.repeat(rows, np.diff(within.indptr))
    second = within.indices.astype(np.intp)
    # A pair whose other end is not drawn is seen from here alone; else from its smaller end.
    is_drawn = np.zeros(n, dtype=bool)
    is_drawn[rows] = True
    once = (first < second) | ~is_drawn[second]
    once &= first != second
    first, second = first[once], second[once]
    order = np.lexsort((second, first))
    if len(order) > MAX_PAIRS:
        order = order[np.sort(draw.choice(len(order), MAX_PAIRS, replace=False))]
    first, second = first[order], second[order]
    return _apart(X, first, second)


def listed_pairs(X: Samples, lists: IndexArray) -> Pairs:
    """The same for more samples than edges are made of: some of those that a sample or its neighbors list."""
    n, k = lists.shape
    draw = np.random.RandomState(0)
    rows = np.sort(draw.choice(n, min(n, 2 * MAX_PAIRS // PAIRS_A_SAMPLE), replace=False))
    near = lists[rows]
    far = np.where((near >= 0)[:, :, None], lists[near], -1).reshape(len(rows), k * k)
    first, second = np.repeat(rows, k + k * k), np.column_stack([near, far]).ravel()
    known = (second >= 0) & (second != first)
    codes = np.unique(first[known] * n + second[known])
    if len(codes) > MAX_PAIRS:
        codes = np.sort(draw.choice(codes, MAX_PAIRS, replace=False))
    return _apart(X, *np.divmod(codes, n))


def _apart(X: Samples, first: IndexArray, second: IndexArray) -> Pairs:
    """Those pairs whose distance is known and not next to zero, nor to that of others."""
    lengths = lengths_of_pairs(X, first, second)
    apart = lengths > SHORTEST
    if apart.any():
        apart &= lengths > NEAR_COPIES * np.median(lengths[apart])
    return Pairs(first[apart], second[apart], lengths[apart])


logger = logging.getLogger("hne")

# Share of the local variance in tangent planes below which nobody tries to unfold; from there to `NEAR_SURFACE`, and
# where lengths are kept worse than this, other pictures are drawn and ranks of neighbors decide. Rolls, S-curves, peaks
# and severed spheres that come out right keep them to .019; punctured spheres, for which planes have no room, to .03.
FAR_FROM_SURFACE, POORLY_KEPT = 0.8, 0.02
# Trustworthiness and continuity, added, by which another picture than along the graph must be better: less, 120 rows of
# ranks do not tell.
UNSURE = 0.005
# Edges that were cut are put back where the chart draws them shorter than one of these, in their lengths, and with them
# it keeps lengths as well as without: right edges across a thin arm beside a hole. Wrong ones are drawn 3 to 10 times
# as long; with them, the stress is 5 times as large and more.
CLOSABLE, AS_WELL = (4.0, 2.5, 1.8), 1.05
# Samples above which a chart is fitted to lists of neighbors as they are, without a look at the whole graph.
MANY_SAMPLES = 1_000_000
# Samples whose distances from the landmarks give a picture its size.
SCALED = 1000
TINY = 1e-300
# A picture may be so many times as wide as the longest way along the graph.
WIDER = 1.5


@dataclass(frozen=True)
class Piece:
    """What a chart is made of: the samples of one piece, numbered anew."""

    X: Samples
    graph: NeighborGraph
    cut: IndexArray  # (c, 2), edges that were cut within it
    vectors: FloatArray  # (n, m)

    @property
    def is_huge(self) -> bool:
        """Whether all its edges are more than anybody wants to hold."""
        return self.graph.n_samples > MANY_SAMPLES

    @cached_property
    def edges(self) -> Edges:
        """All pairs of neighbors."""
        return edges_of(self.graph)

    @cached_property
    def lengths(self) -> SparseMatrix:
        """Lengths of all edges; of those whose length nobody knows, that of the longest."""
        lengths = lengths_of_pairs(self.X, self.edges.smaller, self.edges.larger)
        lengths = np.where(np.isnan(lengths), np.nanmax(lengths), lengths)
        return self.edges.matrix(lengths, np.ones(len(self.edges), dtype=bool))

    @cached_property
    def ways(self) -> Ways:
        """Shortest ways along the graph from some landmarks."""
        return farthest_first(self.lengths)

    def longest_way(self) -> float:
        """How far it is along the graph to one of its ends; infinitely far where nobody looks."""
        return np.inf if self.is_huge else longest_way(self.lengths)[1]

    @cached_property
    def near_pairs(self) -> Pairs:
        """Pairs within two hops; none where all its samples are at one place, as far as squares of lengths tell."""
        return listed_pairs(self.X, self.graph.indices) if self.is_huge else near_pairs(self.X, self.edges)

    def near_pairs_with(self, closed: IndexArray) -> Pairs:
        """The same with these edges put back."""
        return near_pairs(self.X, self.edges.with_pairs(closed))


def chart_of(piece: Piece, flat_share: float, settings: Settings, n_threads: int) -> tuple[FloatArray, Chart]:
    """Coordinates (n, d) of a piece in the lengths of X, along their principal axes, and how they were found.

    `flat_share` is the share of the local variance of the samples that lies in tangent planes.
    """
    d = settings.n_components
    longest = piece.longest_way()
    unfolding = None if flat_share < FAR_FROM_SURFACE else _unfolding(piece, d)
    if unfolding is not None and _radius(unfolding[0]) > WIDER * longest:
        unfolding = None
    if unfolding is not None and flat_share >= NEAR_SURFACE and unfolding[1].stress <= POORLY_KEPT:
        return _along_axes(*unfolding)
    pictures = [] if unfolding is None else [Picture(UNFOLDED, unfolding[0])]
    pictures += pictures_of(piece.X, piece.vectors, piece.lengths, piece.ways, _first_map(piece, d))
    ranks = ranks_of(piece.X, settings.metric, settings.metric_params, n_threads)
    kept = [sum(ranks.kept(picture.Y)) for picture in pictures]
    told = (f"{score:.4f} {picture.route}" for score, picture in zip(kept, pictures, strict=True))
    logger.info("chart: ranks kept, %s", ", ".join(told))
    worth = [score - _handicap(picture) for score, picture in zip(kept, pictures, strict=True)]
    best = pictures[int(np.argmax(worth))]
    return _along_axes(*(unfolding if unfolding is not None and best.route == UNFOLDED else _sized(piece, best, d)))


def _unfolding(piece: Piece, d: int) -> tuple[FloatArray, Chart]:
    """The chart that keeps the lengths of near pairs, with those edges put back that it can close."""
    chart = _unfolded(piece.vectors, piece.near_pairs, d)
    if not len(piece.cut) or piece.is_huge:
        return piece.vectors @ chart.B, chart
    one, other = piece.cut.T
    drawn = np.linalg.norm((piece.vectors[one] - piece.vectors[other]) @ chart.B, axis=1)
    times = drawn / lengths_of_pairs(piece.X, one, other)
    for count in dict.fromkeys(np.count_nonzero(times < closable) for closable in CLOSABLE):
        if not count:
            break
        closed = piece.cut[np.argsort(times, kind="stable")[:count]]
        mended = _unfolded(piece.vectors, piece.near_pairs_with(closed), d)
        if mended.stress <= AS_WELL * chart.stress:
            logger.info("chart: %d of %d edges that were cut are put back", count, len(piece.cut))
            chart = replace(mended, n_put_back=int(count))
            break
    return piece.vectors @ chart.B, chart


def _unfolded(vectors: FloatArray, pairs: Pairs, d: int) -> Chart:
    """Unfold all eigenvectors, and the first d alone, which is the embedding rescaled; keep what keeps lengths best."""
    ratios = pairs.ratios(vectors)
    maps, spectrum = [], np.empty(0)
    for columns in dict.fromkeys((vectors.shape[1], d)):
        B, values = unfolded(ratios[:, :columns], d)
        spectrum = values if columns == vectors.shape[1] else spectrum
        maps.append(polished(ratios, np.pad(B, ((0, vectors.shape[1] - columns), (0, 0)))))
    stresses = [stress_of(ratios @ B) for B in maps]
    best = int(np.argmin(stresses))
    return Chart(UNFOLDED, maps[best], stresses[best], spectrum)


def _handicap(picture: Picture) -> float:
    """What a picture must keep more of ranks than others: those that crowd come last."""
    return 2.0 * picture.is_crowded + UNSURE * (picture.route not in {UNFOLDED, ALONG_GRAPH})


def _first_map(piece: Piece, d: int) -> FloatArray:
    """The matrix (d, d) by which the first eigenvectors have the lengths of near pairs."""
    B, _ = unfolded(piece.near_pairs.ratios(piece.vectors[:, :d]), d)
    return B


def _sized(piece: Piece, picture: Picture, d: int) -> tuple[FloatArray, Chart]:
    """A picture in the size that the samples have, for ways lead around corners; with what it keeps."""
    Y = picture.Y * _scale(piece.X, picture.Y, piece.ways.landmarks)
    _, spectrum = unfolded(piece.near_pairs.ratios(piece.vectors), d)
    images = piece.near_pairs.ratios(Y)
    lengths = np.sqrt(np.einsum("ij,ij->i", images, images))
    images *= lengths.sum() / max(float((lengths**2).sum()), TINY)
    B = piece.vectors.T @ (Y - Y.mean(axis=0))
    return Y, Chart(picture.route, B, stress_of(images), spectrum, piece.ways.stress(Y))


def _scale(X: Samples, Y: FloatArray, landmarks: IndexArray) -> float:
    """The factor with which distances in Y from the landmarks are nearest to those in X."""
    n = len(Y)
    some = np.arange(n) if n <= SCALED else np.sort(np.random.RandomState(0).choice(n, SCALED, replace=False))
    one, other = (ends.ravel() for ends in np.meshgrid(landmarks, some, indexing="ij"))
    given = lengths_of_pairs(X, one, other)
    drawn = np.linalg.norm(Y[one] - Y[other], axis=1)
    known = np.isfinite(given)
    return float((given * drawn)[known].sum() / max(float((drawn[known] ** 2).sum()), TINY))


def _radius(Y: FloatArray) -> float:
    """The largest distance from the center."""
    return float(np.sqrt(((Y - Y.mean(axis=0)) ** 2).sum(axis=1).max()))


def _along_axes(Y: FloatArray, chart: Chart) -> tuple[FloatArray, Chart]:
    """The same along its principal axes and around zero, the largest entry of each column positive."""
    Y = Y - Y.mean(axis=0)
    _, _, axes = np.linalg.svd(np.linalg.qr(Y, mode="r"))
    turned = Y @ axes.T
    farthest = np.take_along_axis(turned, np.abs(turned).argmax(axis=0)[None], axis=0)
    signs = np.where(farthest < 0, -1.0, 1.0)
    return turned * signs, replace(chart, B=chart.B @ axes.T * signs)
