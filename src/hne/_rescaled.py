"""Eigenvectors of the pieces -> Rescaled: each in the lengths of its samples, laid side by side."""

import numpy as np

from hne._layout import lay_out_at_scale
from hne._parts import Parts
from hne._principal import piece_centers, principal_coordinates
from hne._samples import Distances, Samples
from hne._threads import library_threads
from hne._types import EigenPairs, FloatArray, IndexArray, Pieces, Rescaled, Settings
from hne._yardstick import frame_neighbors, frames_of
from hne.exceptions import InputError


def rescaled_coordinates(X: Samples, parts: Parts, pieces: Pieces, settings: Settings, n_threads: int) -> Rescaled:
    """The embedding with the lengths of X: eigenvectors of each piece times one matrix A.

    Lengths, angles and aspect ratios hold within a piece, as far as the surface can be flattened; how pieces lie to
    each other is a layout.
    """
    with library_threads(1):
        if len(parts.parts) == 1 and not np.isnan(parts.Y).any():
            Y, A = _of_piece(X, np.arange(len(parts.Y)), parts.parts[0], settings, n_threads)
            return Rescaled(Y, (A,))
        order = np.argsort(pieces.labels, kind="stable")
        members = np.split(order, np.cumsum(pieces.sizes)[:-1])[: len(parts.parts)]
        found = [
            _of_piece(X, rows, pairs, settings, n_threads) for rows, pairs in zip(members, parts.parts, strict=True)
        ]
        Y = np.full_like(parts.Y, np.nan)
        centers = piece_centers(X, pieces, settings.n_components)[: len(members)]
        Y[np.concatenate(members)] = lay_out_at_scale([piece for piece, _ in found], centers)
        return Rescaled(Y, tuple(A for _, A in found))


def _of_piece(
    X: Samples, rows: IndexArray, pairs: EigenPairs | None, settings: Settings, n_threads: int
) -> tuple[FloatArray, FloatArray | None]:
    """Rescaled coordinates of a piece, and their A; one no larger than a tangent frame is its own tangent plane."""
    d = settings.n_components
    if pairs is None or len(rows) <= frame_neighbors(d) + 1:
        return principal_coordinates(X, rows, d), None
    own = X if len(rows) == X.shape[0] else X[rows].among(rows) if isinstance(X, Distances) else X[rows]
    frames = frames_of(own, d, settings.metric, settings.metric_params, n_threads)
    if not len(frames.rows):
        if settings.in_lengths:
            msg = (
                f"coordinates='{settings.coordinates}' needs the distances among the {frame_neighbors(d)} nearest "
                "samples of a sample, got a graph that has them of none. Store more, or choose "
                "coordinates='eigenvectors'."
            )
            raise InputError(msg)
        return pairs.vectors, None
    A, _ = frames.correction(pairs.vectors)
    return pairs.vectors @ A, A
