"""Eigenvectors of the pieces -> Rescaled: each a chart or rescaled, in the lengths of its samples, side by side.

A chart is a map of more eigenvectors than coordinates that keeps lengths. The second coordinate of a long band is not
among the first two eigenvectors, and those of clustered samples mostly tell clusters apart, which become points. All of
it is in the span of the bottom twenty. Near a surface, the map keeps the lengths of near pairs and unfolds; elsewhere,
where local lengths fit into no plane, those of ways along the graph. How closely to follow them depends on the samples:
some pictures are drawn, and ranks of neighbors choose.
"""

import logging
import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hne._runtime.threads import limit_blas_threads
from hne.core.chart.lengths import Pairs, Ratios, listed_pairs, near_pairs, polish, unfold
from hne.core.chart.ways import Net, Picture, Ways, candidate_pictures, farthest_first
from hne.core.eigen.certificate import EigenPairs
from hne.core.eigenpairs import PieceEmbeddings
from hne.core.neighbors.edges import Edges, edges_of
from hne.core.pieces.arrange import arrange_at_scale, piece_centers, principal_coordinates
from hne.core.records import (
    ALONG_GRAPH,
    UNFOLDED,
    Chart,
    Embedding,
    FloatArray,
    IndexArray,
    NeighborGraph,
    Pieces,
    Rescaled,
)
from hne.core.samples.kinds import Samples, take
from hne.core.short_circuits.cut import lengths_of_pairs
from hne.core.tangent.frames import drawn_rows, frame_neighbors
from hne.core.tangent.score import LocalGeometry
from hne.exceptions import refuse
from hne.settings import NEAR_SURFACE, Settings

logger = logging.getLogger("hne")

# Share of the local variance in tangent planes below which nobody tries to unfold; from there to `NEAR_SURFACE`, and
# where lengths are kept worse than this, other pictures are drawn and ranks of neighbors decide. Rolls, S-curves, peaks
# and severed spheres that come out right keep them to .019; punctured spheres, for which planes have no room, to .03.
FAR_FROM_SURFACE, POORLY_KEPT = 0.8, 0.02
# Trustworthiness and continuity, added, by which another picture than along the graph must be better: less, 120 rows of
# ranks do not tell.
UNSURE = 0.005
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
# Samples whose distances from the landmarks give a picture its size.
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


def rescaled_coordinates(
    X: Samples,
    graph: NeighborGraph,
    cut: IndexArray,
    solved: PieceEmbeddings,
    pieces: Pieces,
    flat_share: float,
    settings: Settings,
    n_threads: int,
    geometry: LocalGeometry | None = None,
) -> Rescaled:
    """The embedding with the lengths of X: a chart of each piece, or its eigenvectors times one matrix A.

    Lengths, angles and aspect ratios hold within a piece, as far as the surface can be flattened; how pieces lie to
    each other is a layout. `cut` are the edges that the graph has lost; `geometry` is that of all samples or of a
    piece, where it was made before.
    """

    def draw(rows: IndexArray, pairs: EigenPairs | None) -> Rescaled:
        d = settings.n_components
        if pairs is None or len(rows) <= frame_neighbors(d) + 1:
            # No larger than a tangent frame, or than a point, it is its own tangent plane.
            return Rescaled(principal_coordinates(X, rows, d), (None,), (None,))
        is_whole = len(rows) == X.shape[0]
        samples = X if is_whole else take(X, rows)
        edges = cut if is_whole else np.searchsorted(rows, cut[np.isin(cut, rows).all(axis=1)])
        piece = Piece(samples, graph if is_whole else graph.among(rows), edges, pairs.vectors, n_threads)
        known = geometry
        if known is None or not np.array_equal(known.rows, rows):
            known = LocalGeometry.of(samples, settings, n_threads)
        if settings.coordinates != "chart":
            return _rescale(piece, pairs.leading(d), settings, known)
        if not len(piece.near_pairs.first):
            return Rescaled(principal_coordinates(X, rows, d), (None,), (None,))
        Y, chart = chart_of(piece, flat_share, d, known)
        return Rescaled(Y, (chart.B,), (chart,))

    with limit_blas_threads(1):
        if len(solved.eigenpairs) == 1 and not np.isnan(solved.Y).any():
            return draw(np.arange(len(solved.Y)), solved.eigenpairs[0])
        order = np.argsort(pieces.labels, kind="stable")
        members = np.split(order, np.cumsum(pieces.sizes)[:-1])[: len(solved.eigenpairs)]
        drawn = [draw(rows, pairs) for rows, pairs in zip(members, solved.eigenpairs, strict=True)]
        Y = np.full_like(solved.Y, np.nan)
        centers = piece_centers(X, pieces, settings.n_components)[: len(members)]
        Y[np.concatenate(members)] = arrange_at_scale([one.Y for one in drawn], centers)
    matrices, charts = tuple(one.matrices[0] for one in drawn), tuple(one.charts[0] for one in drawn)
    return Rescaled(Y, matrices, charts, drawn[0].is_refused)


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


def _rescale(piece: Piece, vectors: FloatArray, settings: Settings, geometry: LocalGeometry) -> Rescaled:
    """Eigenvectors times the matrix that gives them the lengths of X, no larger than the samples are."""
    if not len(geometry.frames.members):
        if settings.in_lengths:
            rule = f"needs the distances among the {frame_neighbors(settings.n_components)} nearest samples of a sample"
            remedy = "Store more, or choose coordinates='eigenvectors'"
            refuse(f"coordinates='{settings.coordinates}'", rule, "a graph that has them of none", remedy)
        return Rescaled(vectors, (None,), (None,))
    A, _ = geometry.frames.correction(vectors)
    Y = vectors @ A
    radius, longest = float(np.sqrt((Y**2).sum(axis=1).max())), piece.longest_way
    if radius <= WIDER * longest or not longest > 0:
        return Rescaled(Y, (A,), (None,))
    logger.warning("lengths: a rescaling would draw samples %.0f times as large as they are", radius / longest)
    A = A * (longest / radius)
    return Rescaled(vectors @ A, (A,), (None,), is_refused=True)


def chart_of(piece: Piece, flat_share: float, d: int, geometry: LocalGeometry) -> tuple[FloatArray, Chart]:
    """Coordinates (n, d) of a piece in the lengths of X, along their principal axes, and how they were found.

    `flat_share` is the share of the local variance of the samples that lies in tangent planes.
    """
    unfolding, pictures = None, []
    if not flat_share < FAR_FROM_SURFACE:
        unfolding = unfolded_chart(piece, d)
        Y = piece.vectors @ unfolding.B
        if np.sqrt(((Y - Y.mean(axis=0)) ** 2).sum(axis=1).max()) > WIDER * piece.longest_way:
            unfolding = None
        elif flat_share >= NEAR_SURFACE and unfolding.stress <= POORLY_KEPT:
            return _along_axes(Y, unfolding)
        else:
            pictures.append(Picture(UNFOLDED, Y))
    # The matrix (d, d) by which the first eigenvectors have the lengths of near pairs.
    first_map, _ = unfold(Ratios(piece.near_pairs, piece.vectors[:, :d]), d)
    pictures += candidate_pictures(piece.X, piece.vectors, piece.net, piece.ways, first_map, piece.n_threads)
    kept = [sum(geometry.ranks.kept(picture.Y)) for picture in pictures]
    scores = (f"{score:.4f} {picture.route}" for score, picture in zip(kept, pictures, strict=True))
    logger.info("chart: ranks kept, %s", ", ".join(scores))
    # Those that crowd come last, and some must keep more of ranks than others.
    handicaps = [2.0 * one.is_crowded + UNSURE * (one.route not in {UNFOLDED, ALONG_GRAPH}) for one in pictures]
    best = pictures[int(np.argmax(np.subtract(kept, handicaps)))]
    if unfolding is not None and best.route == UNFOLDED:
        return _along_axes(best.Y, unfolding)
    return _along_axes(*_at_scale(piece, best, d))


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


def _at_scale(piece: Piece, picture: Picture, d: int) -> tuple[FloatArray, Chart]:
    """A picture in the size that the samples have, for ways lead around corners; with what it keeps."""
    some = np.meshgrid(piece.ways.landmarks, drawn_rows(len(picture.Y), SCALED), indexing="ij")
    one, other = (ends.ravel() for ends in some)
    lengths, drawn = lengths_of_pairs(piece.X, one, other), lengths_of_pairs(picture.Y, one, other)
    known = np.isfinite(lengths)
    # With this factor distances in Y from the landmarks are nearest to those in X.
    Y = picture.Y * float((lengths * drawn)[known].sum() / max(float((drawn[known] ** 2).sum()), TINY))
    _, spectrum = unfold(Ratios(piece.near_pairs, piece.vectors), d)
    times = piece.near_pairs.times(Y)
    stress = float(np.mean((times * (times.sum() / max(float((times**2).sum()), TINY)) - 1) ** 2))
    B = piece.vectors.T @ (Y - Y.mean(axis=0))
    return Y, Chart(picture.route, B, stress, spectrum, piece.ways.stress(Y))


def _along_axes(Y: FloatArray, chart: Chart) -> tuple[FloatArray, Chart]:
    """The same along its principal axes and around zero, the largest entry of each column positive."""
    Y = Y - Y.mean(axis=0)
    _, _, axes = np.linalg.svd(np.linalg.qr(Y, mode="r"))
    turned = Y @ axes.T
    farthest = np.take_along_axis(turned, np.abs(turned).argmax(axis=0)[None], axis=0)
    signs = np.where(farthest < 0, -1.0, 1.0)
    return turned * signs, replace(chart, B=chart.B @ axes.T * signs)
