"""Eigenvectors of the pieces -> Rescaled: each a chart or rescaled, in the lengths of its samples, side by side."""

import logging

import numpy as np

from hne._runtime.threads import limit_blas_threads
from hne.core.chart.chart import Piece, chart_of
from hne.core.eigenpairs import PieceEmbeddings, leading
from hne.core.pieces.arrange import arrange_at_scale
from hne.core.principal import piece_centers, principal_coordinates
from hne.core.records import Chart, EigenPairs, FloatArray, IndexArray, NeighborGraph, Pieces, Rescaled, Settings
from hne.core.samples.kinds import Samples, take
from hne.core.tangent.frames import frame_neighbors, frames_of
from hne.exceptions import InputError

logger = logging.getLogger("hne")

# A rescaling may draw samples so many times as far from the center as the longest way along their graph.
WIDER = 1.5
# What became of a piece: its coordinates, their matrix, the chart, and whether a rescaling was refused.
Drawn = tuple[FloatArray, FloatArray | None, Chart | None, bool]


def rescaled_coordinates(
    X: Samples,
    graph: NeighborGraph,
    cut: IndexArray,
    parts: PieceEmbeddings,
    pieces: Pieces,
    flat_share: float,
    settings: Settings,
    n_threads: int,
) -> Rescaled:
    """The embedding with the lengths of X: a chart of each piece, or its eigenvectors times one matrix A.

    Lengths, angles and aspect ratios hold within a piece, as far as the surface can be flattened; how pieces lie to
    each other is a layout. `cut` are the edges that the graph has lost.
    """
    with limit_blas_threads(1):
        if len(parts.eigenpairs) == 1 and not np.isnan(parts.Y).any():
            drawn = _of_piece(
                X, graph, cut, np.arange(len(parts.Y)), parts.eigenpairs[0], flat_share, settings, n_threads
            )
            Y, A, chart, is_refused = drawn
            return Rescaled(Y, (A,), (chart,), is_refused)
        order = np.argsort(pieces.labels, kind="stable")
        members = np.split(order, np.cumsum(pieces.sizes)[:-1])[: len(parts.eigenpairs)]
        found = [
            _of_piece(X, graph, cut, rows, pairs, flat_share, settings, n_threads)
            for rows, pairs in zip(members, parts.eigenpairs, strict=True)
        ]
        Y = np.full_like(parts.Y, np.nan)
        centers = piece_centers(X, pieces, settings.n_components)[: len(members)]
        Y[np.concatenate(members)] = arrange_at_scale([piece for piece, *_ in found], centers)
        _, matrices, charts, refused = zip(*found, strict=True)
        return Rescaled(Y, matrices, charts, refused[0])


def _of_piece(
    X: Samples,
    graph: NeighborGraph,
    cut: IndexArray,
    rows: IndexArray,
    pairs: EigenPairs | None,
    flat_share: float,
    settings: Settings,
    n_threads: int,
) -> Drawn:
    """A piece in the lengths of X; one no larger than a tangent frame, or than a point, is its own tangent plane."""
    d = settings.n_components
    if pairs is None or len(rows) <= frame_neighbors(d) + 1:
        return principal_coordinates(X, rows, d), None, None, False
    if len(rows) < X.shape[0]:
        X = take(X, rows)
        graph = graph.among(rows)
        cut = cut[np.isin(cut, rows).all(axis=1)]
        cut = np.searchsorted(rows, cut)
    if settings.coordinates == "chart":
        piece = Piece(X, graph, cut, pairs.vectors)
        if not len(piece.near_pairs):
            return principal_coordinates(X, np.arange(len(rows)), d), None, None, False
        Y, chart = chart_of(piece, flat_share, settings, n_threads)
        return Y, chart.B, chart, False
    return _rescaled(X, graph, pairs, settings, n_threads)


def _rescaled(X: Samples, graph: NeighborGraph, pairs: EigenPairs, settings: Settings, n_threads: int) -> Drawn:
    """Eigenvectors times the matrix that gives them the lengths of X, no larger than the samples are."""
    d = settings.n_components
    vectors = leading(pairs, d)
    frames = frames_of(X, d, settings.metric, settings.metric_params, n_threads)
    if not len(frames.rows):
        if settings.in_lengths:
            msg = (
                f"coordinates='{settings.coordinates}' needs the distances among the {frame_neighbors(d)} nearest "
                "samples of a sample, got a graph that has them of none. Store more, or choose "
                "coordinates='eigenvectors'."
            )
            raise InputError(msg)
        return vectors, None, None, False
    A, _ = frames.correction(vectors)
    Y = vectors @ A
    longest = Piece(X, graph, np.empty((0, 2), dtype=np.intp), vectors).longest_way()
    radius = float(np.sqrt((Y**2).sum(axis=1).max()))
    if radius <= WIDER * longest or not longest > 0:
        return Y, A, None, False
    logger.warning("lengths: a rescaling would draw samples %.0f times as large as they are", radius / longest)
    A = A * (longest / radius)
    return vectors @ A, A, None, True
