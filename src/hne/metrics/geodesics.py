"""X, Y -> whether distances in Y are those along the manifold: shortest paths through the neighbor graph of X."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from hne._runtime.docstrings import described_as_in
from hne._runtime.progress import track
from hne._runtime.random import random_generator
from hne._runtime.threads import thread_count
from hne.core.neighbors.graph import knn_graph
from hne.core.parameters import check_integer, check_settings
from hne.core.records import FloatArray, IndexArray, NeighborGraph, SparseMatrix, UniqueSamples, index_kind
from hne.core.samples.canonical import InputScaling, unique_samples
from hne.exceptions import DisconnectedGraphWarning, refuse
from hne.metrics.errors import check_different, check_embedded, tangent_score

# Paths start from all samples up to the first number, two seconds; of more, from the second unless told.
MAX_LANDMARKS, DEFAULT_LANDMARKS = 2_000, 200
# Pairs that are compared at most: ranks need them all in memory, 40 bytes each.
MAX_PAIRS = MAX_LANDMARKS**2
# Lengths of the paths from a block of landmarks, in memory at once; and landmarks a block, a second of 50 000 samples.
BLOCK_BYTES, MAX_BLOCK = 2**25, 32
NO_PAIRS = np.empty((0, 2), dtype=np.intp)


@dataclass(frozen=True)
class GeodesicQuality:
    """How distances in Y agree with lengths of shortest paths along X, from `geodesic_quality`.

    Attributes
    ----------
    residual_variance : float
        1 - r^2 of the two: 0 for proportional distances, 1 for nothing in common.
    rank_correlation : float
        Spearman's correlation: 1 where longer paths are longer distances, 0 for nothing in common.
    n_landmarks : int
        Number of samples that paths start from.
    n_pairs : int
        Number of pairs of samples that were compared.
    share_connected : float
        Share of the pairs looked at that have a path. Below 1, the neighbor graph is in pieces.
    n_neighbors : int
        Neighbors of each sample in the graph.
    search : str
        How the neighbors were found: "tree", "brute" and so on.

    See Also
    --------
    hne.metrics.geodesic_quality : The function that measures it.

    Examples
    --------
    >>> from hne.metrics import geodesic_quality
    >>> quality = geodesic_quality([[0.0], [1.0], [2.0]], [[0.0], [1.0], [2.0]], n_neighbors=1)
    >>> quality.n_pairs, quality.share_connected
    (3, 1.0)
    """

    residual_variance: float
    rank_correlation: float
    n_landmarks: int
    n_pairs: int
    share_connected: float
    n_neighbors: int
    search: str

    def __str__(self) -> str:
        return (
            f"residual variance {self.residual_variance:.4f}, rank correlation {self.rank_correlation:.4f} "
            f"({self.n_pairs} pairs from {self.n_landmarks} samples, {self.share_connected:.1%} connected)"
        )


@described_as_in(tangent_score)
def geodesic_quality(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 10,
    *,
    n_landmarks: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> GeodesicQuality:
    """Compare distances in Y with lengths of shortest paths through the neighbor graph of X.

    Both numbers judge the large structure, as ranks of neighbors judge the small one. The residual variance asks for
    true lengths: 0 is an isometric unrolling, and eigenvectors, whose columns all have the same length, have some even
    if they are perfect. The rank correlation asks for the order alone. An embedding on one point has 1 and 0.

    Parameters
    ----------
    n_neighbors : int, default=10
        Edges of each sample in the graph. Too few leave it in pieces, too many take short cuts between sheets.
    n_landmarks : int or None, default=None
        Number of samples that paths start from, drawn at random, 2 000 at most. More give steadier numbers and take
        longer. Paths end at all samples, or at as many as make four million pairs. None takes all samples up to
        2 000, beyond that 200.
    random_state : int, RandomState or None, default=0
        Seed of the draws; None draws other samples each time.

    Returns
    -------
    GeodesicQuality
        Residual variance and rank correlation, and what they were measured on.

    See Also
    --------
    hne.metrics.residual_variance : The first number alone.
    hne.metrics.geodesic_rank_correlation : The second number alone.
    hne.metrics.rank_quality : Whether neighbors stay neighbors.

    Notes
    -----
    The measures trust the graph: where an edge links two sheets of a surface, paths take the short cut, and a good
    unrolling looks bad. Pairs without a path are left out, and `share_connected` tells how many have one. Copies of a
    sample are one node of the graph.

    Examples
    --------
    >>> from hne.metrics import geodesic_quality
    >>> corner = [[0.0, 2.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    >>> straight = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> print(geodesic_quality(corner, straight, n_neighbors=1))
    residual variance 0.0000, rank correlation 1.0000 (10 pairs from 5 samples, 100.0% connected)
    """
    (quality,) = geodesic_qualities(X, (Y,), n_neighbors, n_landmarks, random_state, n_jobs)
    return quality


def geodesic_qualities(
    X: ArrayLike,
    embeddings: Sequence[ArrayLike],
    n_neighbors: int,
    n_landmarks: int | None,
    random_state: Any,
    n_jobs: Any,
    cut: IndexArray | None = None,
) -> tuple[GeodesicQuality, ...]:
    """`geodesic_quality` of several embeddings of the same samples, whose graph and paths are found once.

    `cut` are pairs of samples, (p, 2), whose edge no path takes.
    """
    checked = [check_embedded(X, Y) for Y in embeddings]
    samples, Ys = checked[0][0], [InputScaling.fit(Y).transform(Y) for _, Y in checked]
    k = check_integer("n_neighbors", n_neighbors, 1, "Try n_neighbors=10")
    settings = check_settings({"random_state": random_state, "n_jobs": n_jobs})
    n = len(Ys[0])
    m = n if n <= MAX_LANDMARKS else DEFAULT_LANDMARKS
    if n_landmarks is not None:
        m = check_integer("n_landmarks", n_landmarks, 1, "Pass None to have it chosen")
        if m > min(n, MAX_LANDMARKS):
            refuse("n_landmarks", f"must be at most {MAX_LANDMARKS} and n_samples={n}", str(m), "Pass None or fewer")
    samples = InputScaling.fit(samples).transform(samples)
    distinct = unique_samples(samples)
    check_different(distinct.n_places, k)
    n_threads = thread_count(settings.n_jobs)
    graph = knn_graph(samples[distinct.index], k, n_threads, random_state=settings.random_state)
    drawn = random_generator(settings.random_state, is_draw=True).permutation(n)
    # The landmarks come first among the targets: a pair of two of them is then met twice, and counted once.
    targets = drawn[: MAX_PAIRS // m]
    links = _links(graph, NO_PAIRS if cut is None else distinct.inverse[cut])
    paths, distances, n_asked = _compared(links, Ys, distinct, drawn[:m], targets)
    if not len(paths) or (paths == paths[0]).all():
        got = f"{len(paths)} pairs, all of one length" if len(paths) else "none"
        refuse("X", "must have paths of different lengths between samples", got, f"Raise n_neighbors (now {k})")
    path_ranks = _ranks(paths)
    return tuple(
        GeodesicQuality(
            residual_variance=1 - _correlation(paths, lengths) ** 2,
            rank_correlation=_correlation(path_ranks, _ranks(lengths)),
            n_landmarks=m,
            n_pairs=len(paths),
            share_connected=len(paths) / n_asked,
            n_neighbors=k,
            search=graph.method,
        )
        for lengths in distances
    )


@described_as_in(geodesic_quality)
def residual_variance(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 10,
    *,
    n_landmarks: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    r"""Return 1 - r^2 of distances in Y and along X: 0 is an isometric unrolling, 1 nothing in common.

    Returns
    -------
    float
        The residual variance, from 0 to 1.

    Warns
    -----
    DisconnectedGraphWarning
        The neighbor graph is in pieces: how these lie to each other is not judged.

    See Also
    --------
    hne.metrics.geodesic_quality : The same, and the rank correlation, in one pass and without the warning.
    hne.metrics.geodesic_rank_correlation : The same for the order of distances, whatever their units.

    Notes
    -----
    With Pearson's correlation r between the lengths :math:`g_{ij}` of shortest paths through the neighbor graph and the
    distances in the embedding, over all pairs with a path [1]_,

    .. math:: 1 - r^2\bigl(g_{ij}, \|y_i - y_j\|\bigr) .

    References
    ----------
    .. [1] Tenenbaum, de Silva and Langford, "A global geometric framework for nonlinear dimensionality reduction",
       Science 290 (2000) 2319-2323.

    Examples
    --------
    >>> from hne.metrics import residual_variance
    >>> residual_variance([[0.0], [1.0], [2.0], [3.0]], [[0.0], [2.0], [4.0], [6.0]], n_neighbors=1)
    0.0
    """
    quality = geodesic_quality(X, Y, n_neighbors, n_landmarks=n_landmarks, random_state=random_state, n_jobs=n_jobs)
    _warn_of_pieces(quality)
    return quality.residual_variance


@described_as_in(geodesic_quality)
def geodesic_rank_correlation(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 10,
    *,
    n_landmarks: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    r"""Rank correlation (Spearman's) of distances in Y and along X: 1 is the same order, 0 nothing in common.

    Returns
    -------
    float
        The rank correlation, from -1 to 1.

    Warns
    -----
    DisconnectedGraphWarning
        The neighbor graph is in pieces: how these lie to each other is not judged.

    See Also
    --------
    hne.metrics.geodesic_quality : The same, and the residual variance, in one pass and without the warning.
    hne.metrics.residual_variance : The same for lengths instead of their order.

    Notes
    -----
    With Pearson's correlation r, the lengths :math:`g_{ij}` of shortest paths through the neighbor graph, and ranks
    over all pairs with a path, equal values sharing the mean of theirs,

    .. math:: \rho = r\bigl(\operatorname{rank} g_{ij}, \operatorname{rank} \|y_i - y_j\|\bigr) .

    Examples
    --------
    >>> from hne.metrics import geodesic_rank_correlation
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [8.0]]
    >>> print(f"{geodesic_rank_correlation(X, Y, n_neighbors=1):.3f}")  # of ranks 1.5, 1.5, 3 and 1, 2, 3
    0.866
    """
    quality = geodesic_quality(X, Y, n_neighbors, n_landmarks=n_landmarks, random_state=random_state, n_jobs=n_jobs)
    _warn_of_pieces(quality)
    return quality.rank_correlation


def _links(graph: NeighborGraph, cut: IndexArray) -> SparseMatrix:
    """Lengths of the links of the graph but those that were cut, walked in either direction.

    -1 stands for a neighbor that was not found.
    """
    n, present = graph.n_samples, graph.indices >= 0
    if len(cut):
        rows = np.arange(n)[:, None]
        codes = np.minimum(rows, graph.indices) * n + np.maximum(rows, graph.indices)
        present &= ~np.isin(codes, cut.min(axis=1) * n + cut.max(axis=1))
    ends = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    kind = index_kind(ends[-1])
    parts = (graph.distances[present], graph.indices[present].astype(kind), ends.astype(kind))
    links = csr_array(parts, shape=(n, n))
    return csr_array(links.maximum(links.T))


def _compared(
    links: SparseMatrix, Ys: Sequence[FloatArray], distinct: UniqueSamples, landmarks: IndexArray, targets: IndexArray
) -> tuple[FloatArray, list[FloatArray], int]:
    """Lengths of paths and distances in each Y of the pairs with a path, and the number of all pairs looked at."""
    block = int(np.clip(BLOCK_BYTES // (8 * distinct.n_places), 1, MAX_BLOCK))
    starts = range(0, len(landmarks), block)
    paths, n_asked = [], 0
    distances: list[list[FloatArray]] = [[] for _ in Ys]
    for start in track("geodesics", starts, len(starts)):
        few = landmarks[start : start + block]
        lengths = dijkstra(links, indices=distinct.inverse[few])[:, distinct.inverse[targets]]
        # Of the targets, the landmark itself and those before it are at positions up to its own.
        is_new = np.arange(len(targets)) > np.arange(start, start + len(few))[:, None]
        kept = is_new & np.isfinite(lengths)
        paths.append(lengths[kept])
        for lengths_in, Y in zip(distances, Ys, strict=True):
            lengths_in.append(cdist(Y[few], Y[targets])[kept])
        n_asked += int(is_new.sum())
    return np.concatenate(paths), [np.concatenate(lengths_in) for lengths_in in distances], n_asked


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, equal values sharing the mean of theirs: those of SciPy's statistics, which take long to load."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    means: FloatArray = np.cumsum(counts) - (counts - 1) / 2
    return means[place]


def _correlation(first: FloatArray, second: FloatArray) -> float:
    """Pearson's correlation; 0 where the second does not vary."""
    if (second == second[0]).all():
        return 0.0
    ours, others = first - first.mean(), second - second.mean()
    r = float((ours * others).sum() / np.sqrt((ours**2).sum() * (others**2).sum()))
    return min(1.0, max(-1.0, r))


def _warn_of_pieces(quality: GeodesicQuality) -> None:
    if quality.share_connected < 1:
        msg = (
            f"the neighbor graph of X should connect all samples, got paths for {quality.share_connected:.1%} of the "
            "pairs: how its pieces lie to each other is not judged. Raise n_neighbors "
            f"(now {quality.n_neighbors}), or call geodesic_quality, which tells the share."
        )
        warnings.warn(msg, DisconnectedGraphWarning, stacklevel=3)
