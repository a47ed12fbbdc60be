"""Eigenvectors of the connected components -> Charts: coordinates that preserve distances, components side by side.

A chart is a map of more eigenvectors than coordinates that preserves distances. The second coordinate of a long band is
not among the first two eigenvectors; it is in the span of the bottom twenty. The map unfolds the surface: distances of
near pairs are kept and the variance is largest. Where they cannot be kept (spheres, peaks), the chart is the one that
preserves most neighborhoods: unfolded, with shortest-path distances along the graph kept, or the first eigenvectors,
which open a punctured sphere. Samples far from any surface of d dimensions (curves and rings, or a chart that is asked
for) are not unfolded: their shortest-path distances are kept.
"""

import logging
import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hne._runtime.threads import limit_blas_threads
from hne.core.chart.lengths import Pairs, Ratios, listed_pairs, near_pairs, polish, unfold
from hne.core.chart.ways import Net, Ways, draw_along_graph, farthest_first
from hne.core.eigen.certificate import EigenPairs
from hne.core.eigenpairs import PieceEmbeddings
from hne.core.neighbors.edges import Edges, edges_of
from hne.core.pieces.arrange import arrange_at_scale, piece_centers, principal_coordinates
from hne.core.records import (
    ALONG_GRAPH,
    FIRST_EIGENVECTORS,
    UNFOLDED,
    Chart,
    Charts,
    Embedding,
    FloatArray,
    IndexArray,
    NeighborGraph,
    Pieces,
)
from hne.core.samples.kinds import Samples, take
from hne.core.short_circuits.cut import lengths_of_pairs
from hne.core.tangent.frames import drawn_rows, frame_neighbors
from hne.core.tangent.score import LocalGeometry
from hne.exceptions import refuse
from hne.settings import NEAR_SURFACE, Settings

logger = logging.getLogger("hne")

# Stress of an unfolding above which the chart along the graph is tried. Rolls, S-curves, peaks and severed spheres that
# come out right have up to 0.019; punctured spheres, for which planes have no room, 0.03.
POORLY_KEPT = 0.02
# Edges that were cut are put back where the chart draws them shorter than one of these, in their lengths, and keeps
# lengths as well with them: right edges across a thin arm. Wrong ones are drawn 3 to 10 times as long, and the stress
# with them is 5 times as large and more.
CLOSABLE, AS_WELL = (4.0, 2.5, 1.8), 1.05
# What is unfolded in no more dimensions than it is drawn in needs no other start. Of 348 unfoldings of surfaces, those
# with less than this share of the last of them in the next had 4 % more stress than from the first eigenvectors at
# most; those with more than .2 up to seven times as much.
IN_SPACE = 0.01
# Samples above which a chart is fitted to lists of neighbors as they are, without a look at the whole graph.
MANY_SAMPLES = 1_000_000
# Samples whose distances from the landmarks determine the scale of a chart along the graph.
SCALED = 1000
TINY = 1e-300
# Samples may be drawn so many times as far from the center as the longest way along their graph.
WIDER = 1.5
# Decimal exponents of sizes that leave room for what is computed from them.
FAR_BELOW = {"float64": 300, "float32": 30}


@dataclass(frozen=True)
class Piece:
    """What the coordinates of a piece are made of, its samples numbered anew."""

    X: Samples
    graph: NeighborGraph
    cut: IndexArray  # (c, 2), edges that were cut within it
    vectors: FloatArray  # (n, m)
    n_threads: int = 1

    @property
    def is_huge(self) -> bool:
        """Whether all its edges are more than anybody wants to hold."""
        return self.graph.n_samples > MANY_SAMPLES

    @cached_property
    def edges(self) -> Edges:
        """All pairs of neighbors."""
        return edges_of(self.graph)

    @cached_property
    def net(self) -> Net:
        """Lengths of all edges; of those whose length nobody knows, that of the longest."""
        lengths = lengths_of_pairs(self.X, self.edges.smaller, self.edges.larger)
        lengths = np.where(np.isnan(lengths), np.nanmax(lengths), lengths)
        starts, columns, numbers = self.edges.entries(np.ones(len(self.edges), dtype=bool))
        return Net(starts, columns, lengths[numbers])

    @cached_property
    def ways(self) -> Ways:
        """Shortest ways along the graph from some landmarks."""
        return farthest_first(self.net, self.n_threads)

    @cached_property
    def longest_way(self) -> float:
        """How far it is along the graph from the first sample, which hardly matters, to one of its ends; or inf."""
        return np.inf if self.is_huge else float(self.net.ways_from(np.zeros(1, dtype=np.intp)).max())

    @cached_property
    def near_pairs(self) -> Pairs:
        """Pairs within two hops; none where all its samples are at one place, as far as squares of lengths tell."""
        return listed_pairs(self.X, self.graph.indices) if self.is_huge else near_pairs(self.X, self.edges)


def draw_charts(
    X: Samples,
    graph: NeighborGraph,
    cut: IndexArray,
    solved: PieceEmbeddings,
    pieces: Pieces,
    flat_share: float,
    settings: Settings,
    n_threads: int,
    geometry: LocalGeometry | None = None,
) -> Charts:
    """Draw a chart of each connected component, side by side.

    Distances, angles and aspect ratios hold within a component, as far as the surface can be flattened; the positions
    of components relative to each other are arbitrary. `cut` are the edges that were removed from the graph; `geometry`
    is that of all samples or of a component, where it was computed before.
    """

    def draw(rows: IndexArray, pairs: EigenPairs | None) -> tuple[FloatArray, Chart | None]:
        d = settings.n_components
        if pairs is None or len(rows) <= frame_neighbors(d) + 1:
            # No larger than a tangent frame, or than a point, it is its own tangent plane.
            return principal_coordinates(X, rows, d), None
        is_whole = len(rows) == X.shape[0]
        samples = X if is_whole else take(X, rows)
        edges = cut if is_whole else np.searchsorted(rows, cut[np.isin(cut, rows).all(axis=1)])
        piece = Piece(samples, graph if is_whole else graph.among(rows), edges, pairs.vectors, n_threads)
        known = geometry
        if known is None or not np.array_equal(known.rows, rows):
            known = LocalGeometry.of(samples, settings, n_threads)
        if not len(piece.near_pairs.first):
            return principal_coordinates(X, rows, d), None
        return chart_of(piece, flat_share, d, known)

    with limit_blas_threads(1):
        if len(solved.eigenpairs) == 1 and not np.isnan(solved.Y).any():
            Y, chart = draw(np.arange(len(solved.Y)), solved.eigenpairs[0])
            return Charts(Y, (chart,))
        order = np.argsort(pieces.labels, kind="stable")
        members = np.split(order, np.cumsum(pieces.sizes)[:-1])[: len(solved.eigenpairs)]
        drawn = [draw(rows, pairs) for rows, pairs in zip(members, solved.eigenpairs, strict=True)]
        Y = np.full_like(solved.Y, np.nan)
        centers = piece_centers(X, pieces, settings.n_components)[: len(members)]
        Y[np.concatenate(members)] = arrange_at_scale([part for part, _ in drawn], centers)
    return Charts(Y, tuple(chart for _, chart in drawn))


def check_scale(result: Embedding) -> None:
    """Raise for coordinates in the scale of X that are larger than any number of their dtype."""
    kind, coordinates = np.dtype(result.dtype), result.settings.coordinates
    drawn = float(np.nanmax(np.abs(result.core.Y), initial=0.0))
    if not result.settings.in_lengths or result.units.restore_lengths(np.array(drawn)) <= np.finfo(kind).max:
        return
    size = math.log10(drawn) - math.log10(result.units.scale)
    unit = f"{10.0 ** (math.ceil(size) - FAR_BELOW[kind.name]):.0e}"
    remedy = f"Divide X by {unit}, or choose coordinates='eigenvectors'"
    rule = f"needs an X whose lengths {kind} holds"
    refuse(f"coordinates='{coordinates}'", rule, f"coordinates of about 1e+{size:.0f}", remedy)


def chart_of(piece: Piece, flat_share: float, d: int, geometry: LocalGeometry) -> tuple[FloatArray, Chart]:
    """Coordinates (n, d) of a component in the scale of X, along their principal axes, and how they were found.

    `flat_share` is the tangent variance ratio of the samples.
    """
    is_near = not flat_share < NEAR_SURFACE
    if is_near:
        unfolding = unfolded_chart(piece, d)
        unfolded = piece.vectors @ unfolding.B
        is_wide = np.sqrt(((unfolded - unfolded.mean(axis=0)) ** 2).sum(axis=1).max()) > WIDER * piece.longest_way
        if not is_wide and unfolding.stress <= POORLY_KEPT:
            return _along_axes(unfolded, unfolding)
    # The matrix (d, d) by which the first eigenvectors have the distances of near pairs.
    first_map, _ = unfold(Ratios(piece.near_pairs, piece.vectors[:, :d]), d)
    candidates = [(ALONG_GRAPH, Y) for Y in draw_along_graph(piece.vectors, piece.ways, first_map)]
    if is_near:
        candidates += [(FIRST_EIGENVECTORS, piece.vectors[:, :d] @ first_map)]
        candidates = candidates if is_wide else [(UNFOLDED, unfolded), *candidates]
    kept = [sum(geometry.ranks.kept(Y)) for _, Y in candidates]
    scores = (f"{score:.4f} {route}" for score, (route, _) in zip(kept, candidates, strict=True))
    logger.info("chart: trustworthiness plus continuity, %s", ", ".join(scores))
    route, best = candidates[int(np.argmax(kept))]
    return _along_axes(best, unfolding) if route == UNFOLDED else _along_axes(*_at_scale(piece, best, route))


def unfolded_chart(piece: Piece, d: int) -> Chart:
    """The chart that keeps the lengths of near pairs, with those edges put back that it can close."""
    chart = _unfold_best(piece.vectors, piece.near_pairs, d)
    if not len(piece.cut) or piece.is_huge:
        return chart
    one, other = piece.cut.T
    drawn = np.linalg.norm((piece.vectors[one] - piece.vectors[other]) @ chart.B, axis=1)
    times = drawn / lengths_of_pairs(piece.X, one, other)
    for count in dict.fromkeys(np.count_nonzero(times < closable) for closable in CLOSABLE):
        if not count:
            break
        closed = piece.cut[np.argsort(times, kind="stable")[:count]]
        mended = _unfold_best(piece.vectors, near_pairs(piece.X, piece.edges.with_pairs(closed)), d)
        if mended.stress <= AS_WELL * chart.stress:
            logger.info("chart: %d of %d edges that were cut are put back", count, len(piece.cut))
            return replace(mended, n_put_back=int(count))
    return chart


def _unfold_best(vectors: FloatArray, pairs: Pairs, d: int) -> Chart:
    """Unfold all eigenvectors; where that takes more than d dimensions, the first d alone too; keep what is best."""
    ratios, m = Ratios(pairs, vectors), vectors.shape[1]
    few = ratios.few
    first, _ = unfold(Ratios(few.pairs, vectors[:, :d]), d)
    B, spectrum = unfold(few, d, first)
    starts = [B]
    if m > d and spectrum[d] > IN_SPACE * spectrum[d - 1]:
        starts.append(np.pad(first, ((0, m - d), (0, 0))))
    # Chosen by a few of the pairs, and then drawn by all.
    B, _ = min((polish(few, start) for start in starts), key=lambda polished: polished[1])
    B, stress = polish(ratios, B)
    return Chart(UNFOLDED, B, stress, spectrum)


def _at_scale(piece: Piece, Y: FloatArray, route: str) -> tuple[FloatArray, Chart]:
    """Scale a chart that is not unfolded to the distances of X, with what it keeps."""
    some = np.meshgrid(piece.ways.landmarks, drawn_rows(len(Y), SCALED), indexing="ij")
    one, other = (ends.ravel() for ends in some)
    lengths, drawn = lengths_of_pairs(piece.X, one, other), lengths_of_pairs(Y, one, other)
    known = np.isfinite(lengths)
    # With this factor distances in Y from the landmarks are nearest to those in X.
    Y = Y * float((lengths * drawn)[known].sum() / max(float((drawn[known] ** 2).sum()), TINY))
    _, spectrum = unfold(Ratios(piece.near_pairs, piece.vectors), Y.shape[1])
    times = piece.near_pairs.times(Y)
    stress = float(np.mean((times * (times.sum() / max(float((times**2).sum()), TINY)) - 1) ** 2))
    B = piece.vectors.T @ (Y - Y.mean(axis=0))
    return Y, Chart(route, B, stress, spectrum, piece.ways.stress(Y))


def _along_axes(Y: FloatArray, chart: Chart) -> tuple[FloatArray, Chart]:
    """The same along its principal axes and around zero, the largest entry of each column positive."""
    Y = Y - Y.mean(axis=0)
    _, _, axes = np.linalg.svd(np.linalg.qr(Y, mode="r"))
    turned = Y @ axes.T
    farthest = np.take_along_axis(turned, np.abs(turned).argmax(axis=0)[None], axis=0)
    signs = np.where(farthest < 0, -1.0, 1.0)
    return turned * signs, replace(chart, B=chart.B @ axes.T * signs)
