"""Weights, Pieces -> Y: each piece embedded on its own and laid beside the others, or all joined to one."""

import logging
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from hne._runtime.progress import track
from hne._runtime.threads import limit_blas_threads
from hne.core.eigen.alignment import alignment
from hne.core.eigen.certificate import EigenPairs
from hne.core.eigen.costs import has_room
from hne.core.eigen.solve import bottom_eigenpairs
from hne.core.landmarks import landmark_eigenpairs
from hne.core.pieces.arrange import arrange_pieces
from hne.core.principal import piece_centers, principal_coordinates
from hne.core.records import FloatArray, Pieces, Weights, nearest_landmarks
from hne.core.samples.kinds import Samples, is_dense
from hne.settings import Settings

logger = logging.getLogger("hne")


@dataclass(frozen=True)
class PieceEmbeddings:
    """Coordinates of all samples, and the eigenpairs of each embedded piece, None for those too small."""

    Y: FloatArray
    eigenpairs: tuple[EigenPairs | None, ...]

    def __str__(self) -> str:
        solved = [pairs for pairs in self.eigenpairs if pairs is not None]
        if len(self.eigenpairs) == 1 and solved:
            return str(solved[0])
        return f"{len(solved)} pieces solved, {len(self.eigenpairs) - len(solved)} too small for it"


def embedded_pieces(
    X: Samples, weights: Weights, pieces: Pieces, settings: Settings, n_threads: int
) -> PieceEmbeddings:
    """Embed all at once, each piece on its own, or the largest alone, as the settings say, and lay them out."""
    d = settings.n_components
    if pieces.count == 1 or settings.pieces == "join":
        whole = _solve(weights, settings, settings.n_landmarks, X, n_threads)
        return PieceEmbeddings(whole.leading(d), (whole,))
    order = np.argsort(pieces.labels, kind="stable")
    members = np.split(order, np.cumsum(pieces.sizes)[:-1])
    members = members[:1] if settings.pieces == "largest" else members
    n_embedded = sum(map(len, members))
    numbers = np.empty(len(order), dtype=weights.W.indices.dtype)
    eigenpairs: list[EigenPairs | None] = []
    coordinates = []
    # Held over all of them: to set it for each of thousands of pieces takes as long as to solve it.
    with limit_blas_threads(1):
        for rows in track("pieces", members, len(members)):
            pairs, n = None, len(rows)
            # Fewer samples have no next eigenvector to tell the last one from.
            if n >= d + 2:
                # Nobody else rebuilds the members of a piece.
                numbers[rows] = np.arange(n)
                W, J = (
                    csr_array((part.data, numbers[part.indices], part.indptr), shape=(n, n))
                    for part in (weights.W[rows], weights.J[rows])
                )
                n_landmarks = share_of_landmarks(n, n_embedded, settings)
                samples = X[rows] if is_dense(X) else None
                of_piece = Weights(W, J, weights.kernel)
                pairs = _solve(of_piece, _with_room(settings, n), n_landmarks, samples, n_threads)
            eigenpairs.append(pairs)
            coordinates.append(principal_coordinates(X, rows, d) if pairs is None else pairs.leading(d))
        Y = np.full((len(order), d), np.nan)
        centers = piece_centers(X, pieces, d)[: len(members)]
        Y[np.concatenate(members)] = arrange_pieces(coordinates, centers)
    return PieceEmbeddings(Y, tuple(eigenpairs))


def _solve(weights: Weights, settings: Settings, n_landmarks: int | None, X: Samples, n_threads: int) -> EigenPairs:
    problem = alignment(weights, settings.gamma)
    if n_landmarks is not None:
        return landmark_eigenpairs(problem, settings, n_landmarks, X, n_threads)
    return bottom_eigenpairs(problem, settings, n_threads, X if is_dense(X) else None)


def share_of_landmarks(size: int, n_samples: int, settings: Settings) -> int | None:
    """Landmarks of a piece: its share, and enough; None for a piece no larger than all landmarks, solved exactly."""
    if settings.n_landmarks is None or size <= settings.n_landmarks:
        return None
    return max(round(settings.n_landmarks * size / n_samples), nearest_landmarks(settings.n_components) + 1)


def _with_room(settings: Settings, size: int) -> Settings:
    """The settings, or those with the dense solver for a piece that is too small for another."""
    solver = settings.eigen_solver
    if solver == "auto" or has_room(size, settings.n_eigenvectors(size), solver):
        return settings
    logger.info("eigenpairs: a piece of %d samples is too small for the %s solver, dense takes over", size, solver)
    return replace(settings, eigen_solver="dense")
