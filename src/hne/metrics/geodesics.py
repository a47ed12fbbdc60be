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

from hne._runtime.progress import track
from hne._runtime.random import random_generator
from hne._runtime.threads import thread_count
from hne.core.neighbors.graph import knn_graph
from hne.core.parameters import check_integer, check_settings
from hne.core.records import FloatArray, IndexArray, NeighborGraph, SparseMatrix, UniqueSamples, index_kind
from hne.core.samples.canonical import InputScaling, unique_samples
from hne.exceptions import DisconnectedGraphWarning, refuse
from hne.metrics.errors import check_different, check_embedded

# Paths start from all samples up to the first number, two seconds; of more, from the second unless told.
MAX_LANDMARKS, DEFAULT_LANDMARKS = 2_000, 200
# Pairs that are compared at most: ranks need them all in memory, 40 bytes each.
MAX_PAIRS = MAX_LANDMARKS**2
# Lengths of the paths from a block of landmarks, in memory at once; and landmarks a block, a second of 50 000 samples.
BLOCK_BYTES, MAX_BLOCK = 2**25, 32
NO_PAIRS = np.empty((0, 2), dtype=np.intp)


@dataclass(frozen=True)
class GeodesicQuality:
    """How distances in Y agree with lengths of shortest paths through the neighbor graph of X."""

    residual_variance: float  # 1 - r^2: 0 for proportional distances, 1 for distances that have nothing in common
    rank_correlation: float  # Spearman's: 1 where longer paths are longer distances, 0 for nothing in common
    n_landmarks: int  # samples that paths start from
    n_pairs: int  # pairs of samples that were compared
    share_connected: float  # of all pairs looked at, those with a path; below 1 the graph is in pieces
    n_neighbors: int
    search: str  # how the neighbors were found

    def __str__(self) -> str:
        return (
            f"residual variance {self.residual_variance:.4f}, rank correlation {self.rank_correlation:.4f} "
            f"({self.n_pairs} pairs from {self.n_landmarks} samples, {self.share_connected:.1%} connected)"
        )


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

    The residual variance, 1 - r^2 of the two (Tenenbaum, de Silva and Langford 2000), asks for a true scale: 0 is an
    isometric unrolling, and even a perfect embedding with whitened columns has some. The rank correlation asks for
    the order alone. Both judge the large structure, as the ranks of neighbors judge the small one. They trust the
    graph: where it links two sheets of a surface, paths take the short cut, and a good unrolling looks bad.

    Pairs without a path between them are left out and not judged, `share_connected` tells how many have one.
    Copies of a sample are one place of the graph. An embedding on one point has 1 and 0.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    n_neighbors : int, default=10
        Links of each sample in the graph. Too few leave it in pieces, too many take short cuts.
    n_landmarks : int, default=None
        Number of samples that paths start from, drawn at random, 2 000 at most; paths end at all samples, or at as
        many drawn at random as make four million pairs. More give steadier numbers and take longer. None takes all up
        to 2 000 samples, and 200 of more.
    random_state : int, RandomState or None, default=0
        Seed of the draws.
    n_jobs : int, default=None
        Number of threads of the neighbor search, as in `HNE`: None or -1 for all cores.

    Returns
    -------
    GeodesicQuality
        Both numbers, and what they were measured on.

    Examples
    --------
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


def residual_variance(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 10,
    *,
    n_landmarks: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """1 - r^2 of distances in Y and lengths of paths along X: 0 an isometric unrolling, 1 nothing in common.

    See `geodesic_quality` for the parameters. Warns where the neighbor graph is in pieces, which it judges one by one.

    Examples
    --------
    >>> residual_variance([[0.0], [1.0], [2.0], [3.0]], [[0.0], [2.0], [4.0], [6.0]], n_neighbors=1)
    0.0
    """
    quality = geodesic_quality(X, Y, n_neighbors, n_landmarks=n_landmarks, random_state=random_state, n_jobs=n_jobs)
    _warn_of_pieces(quality)
    return quality.residual_variance


def geodesic_rank_correlation(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 10,
    *,
    n_landmarks: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Spearman's correlation of distances in Y and lengths of paths along X: 1 the same order, 0 nothing in common.

    See `geodesic_quality` for the parameters. Warns where the neighbor graph is in pieces, which it judges one by one.

    Examples
    --------
    >>> print(f"{geodesic_rank_correlation([[0.0], [1.0], [2.0]], [[0.0], [1.0], [8.0]], n_neighbors=1):.3f}")
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
