"""X, NeighborGraph -> ShortCircuits: which edges jump to another sheet of the surface, and the graph without them.

A dozen wrong edges in a thousand fold the embedding of a sparse roll, and every local method inherits them. An edge is
suspected where it leaves the tangent planes at both of its ends and is long; it is cut if the way around it, over edges
that nobody suspects, is many times as long. Cutting goes on for a few rounds, for planes get better without wrong edges.
"""

import logging

import numpy as np
from scipy.sparse.csgraph import dijkstra

from hne._circuits._edges import Edges, edges_of, spanning_forest, without_edges
from hne._circuits._steepness import edge_lengths, steepness
from hne._samples import Samples
from hne._threads import library_threads, load_unbroken
from hne._types import FloatArray, IndexArray, NeighborGraph, Settings, ShortCircuits, SparseMatrix

logger = logging.getLogger("hne")

ROUNDS = 4
# Suspicion is the mean sine at both ends times the length in usual lengths, which counts up to the second number.
SUSPECT, MOST_LENGTH = 0.5, 2.0
# Where the middle sine is beyond the first number, planes hold little; from the second on (images, tables: .40 to .75),
# nearly every edge is steep, and only those are suspected that stand out by two deviations. On surfaces, noisy ones
# too, it is .06 to .28.
STEEP_FROM, STEEP_UNTIL, DEVIATIONS = 0.3, 0.4, 2.0
# A median absolute deviation in standard deviations of a normal distribution.
MAD_TO_DEVIATION = 1.4826
# How many times as long as the edge the way around it is.
WAY_AROUND = 2.5
# Edges beyond which nobody looks: at 30 million their arrays take 2 GB.
MAX_EDGES = 30_000_000
# Samples times ways from which SciPy's Dijkstra, which looks at every sample for each way, is the slower one; numba
# takes a second to load, and several to compile when it is used first.
COMPILED_MIN_WORK = 2e8
BLOCK_BYTES = 2**25

NO_PAIRS = np.empty((0, 2), dtype=np.intp)


def cut_short_circuits(X: Samples, graph: NeighborGraph, settings: Settings) -> ShortCircuits:
    """Find the short circuits, and cut them where the settings say so."""
    n_listed = int(np.count_nonzero(graph.indices >= 0))
    if n_listed > 2 * MAX_EDGES:
        logger.warning("short circuits: not looked for among the neighbors of %d samples", graph.n_samples)
        return ShortCircuits(NO_PAIRS, graph, n_listed, is_cut=False, is_searched=False)
    with library_threads(1):
        left, pairs, n_edges = _without_wrong_edges(X, graph, settings.n_components)
    is_cut = settings.short_circuits == "cut"
    return ShortCircuits(pairs, left if is_cut else graph, n_edges, is_cut=is_cut)


def _without_wrong_edges(X: Samples, graph: NeighborGraph, d: int) -> tuple[NeighborGraph, IndexArray, int]:
    """The graph that is left, the edges that were cut, the most suspicious of each round first, and how many there were."""
    found = [NO_PAIRS]
    edges = edges_of(graph)
    n_edges = len(edges)
    for _ in range(ROUNDS):
        cut = _wrong_edges(X, graph, edges, d)
        if not len(cut):
            break
        found.append(edges.chosen(cut).pairs)
        graph = without_edges(graph, edges.chosen(cut))
        edges = edges_of(graph)
    return graph, np.concatenate(found), n_edges


def _wrong_edges(X: Samples, graph: NeighborGraph, edges: Edges, d: int) -> IndexArray:
    """Numbers of the edges to cut in one round."""
    lengths = edge_lengths(X, edges)
    known = np.isfinite(lengths)
    unit = float(np.median(lengths[known])) if known.any() else 0.0
    if not unit > 0:
        return np.empty(0, dtype=np.intp)
    sines = steepness(X, graph, edges, unit, d)
    suspicion = sines * np.minimum(MOST_LENGTH, lengths / unit)
    is_suspect = suspicion > _threshold(sines, suspicion)
    is_suspect &= ~spanning_forest(edges, is_suspect, suspicion)
    suspects = np.flatnonzero(is_suspect)
    if not len(suspects):
        return suspects
    limits = WAY_AROUND * lengths[suspects]
    around = _ways(edges.matrix(lengths, ~is_suspect & known), edges.pairs[suspects], limits)
    far = suspects[~(around <= limits)]
    return _leaving_enough(edges, far[np.argsort(-suspicion[far], kind="stable")], d + 1)


def _threshold(sines: FloatArray, suspicion: FloatArray) -> float:
    """The suspicion from which an edge is a suspect: higher where every edge is steep."""
    sines, suspicion = sines[np.isfinite(sines)], suspicion[np.isfinite(suspicion)]
    if not len(sines):
        return np.inf
    middle = np.median(suspicion)
    standing_out = middle + DEVIATIONS * MAD_TO_DEVIATION * np.median(np.abs(suspicion - middle))
    share = np.clip((np.median(sines) - STEEP_FROM) / (STEEP_UNTIL - STEEP_FROM), 0.0, 1.0)
    return float(SUSPECT + share * (max(SUSPECT, standing_out) - SUSPECT))


def _ways(flat: SparseMatrix, pairs: IndexArray, limits: FloatArray) -> FloatArray:
    """Lengths of the shortest ways between the ends of pairs, inf where they are beyond the limits."""
    n = flat.shape[0]
    if float(n) * len(pairs) >= COMPILED_MIN_WORK:
        kernels = load_unbroken("hne._circuits._compiled")
        numbers = (flat.indptr.astype(np.intp), flat.indices.astype(np.intp))
        compiled: FloatArray = kernels.bounded_ways(*numbers, flat.data, pairs[:, 0], pairs[:, 1], limits)
        return compiled
    ways = np.empty(len(pairs))
    step = max(1, BLOCK_BYTES // (8 * n))
    for start in range(0, len(pairs), step):
        some = slice(start, start + step)
        reached = dijkstra(flat, indices=pairs[some, 0], limit=float(limits[some].max()))
        ways[some] = reached[np.arange(len(reached)), pairs[some, 1]]
    return ways


def _leaving_enough(edges: Edges, wanted: IndexArray, fewest: int) -> IndexArray:
    """Those of the wanted edges, in turn, that leave both ends so many edges, and so many neighbors in their lists."""
    ends, listed = edges.pairs, edges.is_listed
    degree = np.bincount(ends.ravel(), minlength=edges.n_samples)
    own = np.bincount(ends.ravel(), weights=listed.ravel(), minlength=edges.n_samples).astype(np.intp)
    taken: list[int] = []
    for edge in wanted:
        pair, lists = ends[edge], listed[edge]
        if (degree[pair] > fewest).all() and (~lists | (own[pair] > fewest)).all():
            degree[pair] -= 1
            own[pair] -= lists
            taken.append(int(edge))
    return np.array(taken, dtype=np.intp)
