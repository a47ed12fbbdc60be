"""Weights, Pieces -> Y: each piece embedded on its own and laid beside the others, or all joined to one.

And Embedding -> Scree: the bottom eigenvalues of its largest piece, those of its coordinates and some beyond. A
coordinate is worth having where its eigenvalue stands out from the next; where the used ones end within a slope, more
coordinates, or fewer, are as good.
"""

import logging
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from hne._runtime.progress import track
from hne._runtime.threads import limit_blas_threads, thread_count
from hne.core.eigen.alignment import alignment
from hne.core.eigen.certificate import EigenPairs
from hne.core.eigen.costs import Sizes, dissection, has_room
from hne.core.eigen.solve import bottom_eigenpairs
from hne.core.landmarks import landmark_eigenpairs
from hne.core.parameters import check_integer
from hne.core.pieces.arrange import arrange_pieces, piece_centers, principal_coordinates
from hne.core.records import BoolArray, Embedding, FloatArray, Pieces, Weights, nearest_landmarks
from hne.core.samples.kinds import Samples, is_dense
from hne.exceptions import EigenSolverError, TooLargeError
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
            if has_eigenpairs(n, settings):
                # Nobody else rebuilds the members of a piece.
                numbers[rows] = np.arange(n)
                W, J = (
                    csr_array((part.data, numbers[part.indices], part.indptr), shape=(n, n))
                    for part in (weights.W[rows], weights.J[rows])
                )
                n_landmarks = share_of_landmarks(n, n_embedded, settings)
                samples = X[rows] if is_dense(X) else None
                of_piece = Weights(W, J)
                pairs = _solve(of_piece, _with_room(settings, n), n_landmarks, samples, n_threads)
            eigenpairs.append(pairs)
            coordinates.append(principal_coordinates(X, rows, d) if pairs is None else pairs.leading(d))
        Y = np.full((len(order), d), np.nan)
        centers = piece_centers(X, pieces, d)[: len(members)]
        Y[np.concatenate(members)] = arrange_pieces(coordinates, centers)
    return PieceEmbeddings(Y, tuple(eigenpairs))


def solve_eigenpairs(result: Embedding) -> EigenPairs | None:
    """Compute the bottom eigenpairs of the largest connected component of a layout; None if it is too small."""
    pieces = "join" if result.settings.pieces == "join" else "largest"
    settings = replace(result.settings, coordinates="eigenvectors", pieces=pieces, n_landmarks=None)
    core, n_threads = result.core, thread_count(settings.n_jobs)
    size = len(core.Y) if pieces == "join" else int(core.pieces.sizes[0])
    if core.pieces.count > 1 and pieces == "largest" and not has_eigenpairs(size, settings):
        return None
    # A solver that is given for the fit may not be possible here; a layout does not need it.
    settings = _with_room(settings, size)
    with limit_blas_threads(n_threads):
        return embedded_pieces(core.X, core.weights, core.pieces, settings, n_threads).eigenpairs[0]


def has_eigenpairs(size: int, settings: Settings) -> bool:
    """Return whether a connected component has an eigenvector beyond those that are wanted."""
    return size >= settings.n_components + 2


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


# Predicted operations of a factorization up to which eigenvalues are solved for anew: ten take 1.0 s on a Swiss roll of
# 16 000 samples (8e8 operations), 0.8 s on a cube in 5 dimensions of 2 000 (6e8), 1.3 s on a Gaussian in 10 dimensions
# of 2 000 (1e9), on 2 cores; at 3e9 it is 4 s.
MAX_OPERATIONS = 1e9


@dataclass(frozen=True)
class Scree:
    """Eigenvalues of the largest piece after the constant one, ascending; empty where it is too small for any."""

    values: FloatArray
    n_used: int  # the first so many are those of the coordinates, or as many as a chart has coordinates
    is_short: bool  # whether only those that the fit knew are here, and the piece has more
    n_charted: int = 0  # eigenvectors that a chart is made of, the first of all; 0 where coordinates are no chart

    @property
    def is_used(self) -> BoolArray:
        """Which of the values belong to coordinates, or would without a chart."""
        return np.arange(len(self.values)) < self.n_used

    @property
    def gap(self) -> float:
        """The next eigenvalue over the last one used: 1 for none at all, inf without a next, NaN without any."""
        if not self.n_used:
            return float("nan")
        if len(self.values) <= self.n_used:
            return float("inf")
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.values[self.n_used] / self.values[self.n_used - 1])

    def __str__(self) -> str:
        if self.n_charted:
            ratio = f"number {self.n_used + 1} is {self.gap:.3g} times the one before"
            return f"{len(self.values)} eigenvalues, {self.n_charted} in the chart, {ratio}"
        return f"{len(self.values)} eigenvalues, {self.n_used} used, the next {self.gap:.3g} times the last of them"


def scree(result: Embedding, count: int = 10) -> Scree:
    """Find the bottom eigenvalues of the largest piece of an embedding, after the constant one.

    Parameters
    ----------
    result : Embedding
        What `embed` gave.
    count : int, default=10
        How many, at most as the piece has, at least as many as there are coordinates and the next. More than the fit
        knows are solved for anew, by the solver that "auto" takes, in a second or so.

    Returns
    -------
    Scree
        The values, which of them the embedding uses, and the gap behind these. Of pieces that take longer to solve,
        some 15 000 samples of a surface and 2 000 in ten dimensions, only those that are known (`is_short`).

    Examples
    --------
    >>> import numpy as np
    >>> from hne import embed
    >>>
    >>> values = scree(embed(np.outer(np.arange(20.0), [3.0, 4.0]), n_neighbors=2, n_components=1), 4)
    >>> values.values.shape, values.is_used
    ((4,), array([ True, False, False, False]))
    """
    count = check_integer("count", count, 1, "Try count=10")
    pairs = solve_eigenpairs(result) if result.settings.coordinates == "layout" else result.eigenpairs
    if pairs is None:
        return Scree(np.empty(0), 0, is_short=False)
    known = np.append(pairs.values, [pairs.next_value] if np.isfinite(pairs.next_value) else [])
    d, (size, n_solved) = result.settings.n_components, pairs.vectors.shape
    wanted = min(max(count, d + 1), size - 1)
    more = known if wanted <= len(known) else _more(result, wanted, known)
    # The fit's own stay; its next one was still on its way, and comes from the longer solve where there is one.
    values = np.append(pairs.values, more[n_solved:])[:wanted]
    return Scree(values, d, len(values) < wanted, n_solved if result.chart is not None else 0)


def _more(result: Embedding, count: int, known: FloatArray) -> FloatArray:
    """So many eigenvalues by another solve, or the known ones where that takes long or fails."""
    settings = replace(result.settings, n_components=count, coordinates="eigenvectors", eigen_solver="auto")
    if settings.n_landmarks is not None:
        # Others would be exact, and not of the same kind as those of the fit.
        return known
    X, weights, labels = result.core.X, result.core.weights, result.core.pieces.labels
    # The piece that was solved first: all, where pieces were joined. Nothing links its members to others.
    members = np.arange(len(labels)) if settings.pieces == "join" else np.flatnonzero(labels == 0)
    W, J = (matrix[members][:, members].tocsr() for matrix in (weights.W, weights.J))
    piece, n_threads = alignment(Weights(W, J), settings.gamma), thread_count(settings.n_jobs)
    _, operations = dissection(Sizes.of(piece, count))
    if operations > MAX_OPERATIONS:
        logger.info("scree: %.1e operations for %d eigenvalues, only those of the fit are shown", operations, count)
        return known
    try:
        with limit_blas_threads(n_threads):
            return bottom_eigenpairs(piece, settings, n_threads, X[members] if is_dense(X) else None).values
    except (EigenSolverError, TooLargeError) as error:
        logger.warning("scree: only the eigenvalues of the fit are shown. %s", error)
        return known
