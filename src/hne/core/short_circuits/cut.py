"""X, NeighborGraph -> ShortCircuits: which edges jump to another sheet of the surface, and the graph without them.

A dozen wrong edges in a thousand fold the embedding of a sparse roll, and every local method inherits them. An edge is
suspected where it leaves the tangent planes at both of its ends and is long; it is cut if the way around it, over edges
that nobody suspects, is many times as long. A single wrong edge that nobody suspects is a short way around all others
beside it: so where the suspicion is strong, the worst edge of the way is set aside as well, and the next way must be
longer still. Cutting goes on for a few rounds, for planes get better without wrong edges.
"""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from hne._runtime.threads import limit_blas_threads, load_unbroken
from hne.core.neighbors.edges import Edges, edges_of, without_edges
from hne.core.records import BoolArray, FloatArray, IndexArray, NeighborGraph, Settings, ShortCircuits, index_kind
from hne.core.samples.kinds import Samples
from hne.core.short_circuits.steepness import lengths_of_pairs, plane_neighbors, steepness

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
# How many times as long as the edge the way around it is, and where edges of it have been set aside.
WAY_AROUND, NEXT_WAY_AROUND = 2.5, 4.0
# In limits of suspicion: from where on edges of a way are set aside, which edges may be, and how many times. On rolls
# of 600 with noise .6, k = 12, it makes 16 of 20 right instead of 12, on random ones of 200 19 instead of 16; with 1.6
# instead of 2, right edges around the hole of a Swiss hole are cut.
STRONG, WEAK, SET_ASIDE_ROUNDS = 2.0, 0.4, 2
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
    wrong, left, edges = [NO_PAIRS], graph, edges_of(graph)
    n_edges = len(edges)
    with limit_blas_threads(1):
        for _ in range(ROUNDS):
            cut = edges.chosen(_wrong_edges(X, left, edges, settings.n_components))
            if not len(cut):
                break
            wrong.append(cut.pairs)
            left = without_edges(left, cut)
            edges = edges_of(left)
    is_cut = settings.short_circuits == "cut"
    return ShortCircuits(np.concatenate(wrong), left if is_cut else graph, n_edges, is_cut=is_cut)


@dataclass(frozen=True)
class _Judged:
    """Edges with what speaks against each."""

    edges: Edges
    lengths: FloatArray  # (e,), NaN where not known
    suspicion: FloatArray  # (e,)
    limit: float  # of suspicion

    def not_needed(self, is_aside: BoolArray) -> BoolArray:
        """Those of them without which all that hangs together still does."""
        return is_aside & ~spanning_forest(self.edges, is_aside, self.suspicion)


def _wrong_edges(X: Samples, graph: NeighborGraph, edges: Edges, d: int) -> IndexArray:
    """Numbers of the edges to cut in one round."""
    lengths = lengths_of_pairs(X, edges.smaller, edges.larger)
    known = np.isfinite(lengths)
    unit = float(np.median(lengths[known])) if known.any() else 0.0
    if not unit > 0:
        return np.empty(0, dtype=np.intp)
    sines = steepness(X, graph, edges, unit, d, plane_neighbors(X, graph, edges, unit, d))
    suspicion = sines * np.minimum(MOST_LENGTH, lengths / unit)
    judged = _Judged(edges, lengths, suspicion, _threshold(sines, suspicion))
    is_suspect = judged.not_needed(suspicion > judged.limit)
    suspects = np.flatnonzero(is_suspect)
    if not len(suspects):
        return suspects
    around, worst = _ways(judged, suspects, is_suspect, WAY_AROUND)
    is_far = np.isinf(around)
    far = [suspects[is_far], _behind_others(judged, is_suspect, suspects[~is_far], worst[~is_far])]
    wrong = np.unique(np.concatenate(far))
    return _leaving_enough(edges, wrong[np.argsort(-suspicion[wrong], kind="stable")], d + 1)


def _behind_others(judged: _Judged, is_suspect: BoolArray, held: IndexArray, worst: IndexArray) -> IndexArray:
    """Edges held by a way around whose worst edge nobody suspects, and that edge: wrong if without it none is near."""
    suspicion = judged.suspicion
    strong = suspicion[held] > STRONG * judged.limit
    held, worst = held[strong], worst[strong]
    is_aside, wrong = is_suspect.copy(), [np.empty(0, dtype=np.intp)]
    for _ in range(SET_ASIDE_ROUNDS):
        weak = suspicion[worst] > WEAK * judged.limit
        held, worst = held[weak], worst[weak]
        if not len(held):
            break
        is_aside[worst] = True
        is_aside = judged.not_needed(is_aside) | is_suspect
        around, worst = _ways(judged, held, is_aside, NEXT_WAY_AROUND)
        is_far = np.isinf(around)
        wrong.append(held[is_far])
        held, worst = held[~is_far], worst[~is_far]
    aside = np.flatnonzero(is_aside & ~is_suspect)
    around, _ = _ways(judged, aside, is_aside, NEXT_WAY_AROUND)
    return np.concatenate([*wrong, aside[np.isinf(around)]])


def _threshold(sines: FloatArray, suspicion: FloatArray) -> float:
    """The suspicion from which an edge is a suspect: higher where every edge is steep."""
    sines, suspicion = sines[np.isfinite(sines)], suspicion[np.isfinite(suspicion)]
    if not len(sines):
        return np.inf
    middle = np.median(suspicion)
    standing_out = middle + DEVIATIONS * MAD_TO_DEVIATION * np.median(np.abs(suspicion - middle))
    share = np.clip((np.median(sines) - STEEP_FROM) / (STEEP_UNTIL - STEEP_FROM), 0.0, 1.0)
    return float(SUSPECT + share * (max(SUSPECT, standing_out) - SUSPECT))


def _ways(judged: _Judged, around: IndexArray, is_aside: BoolArray, longest: float) -> tuple[FloatArray, IndexArray]:
    """Ways around edges without those set aside, inf beyond so many lengths of the edge, and the worst edge of each.

    That is -1 where there is no way.
    """
    edges, n = judged.edges, judged.edges.n_samples
    usable, limits = ~is_aside & np.isfinite(judged.lengths), longest * judged.lengths[around]
    starts, ends = edges.smaller[around], edges.larger[around]
    if float(n) * len(around) >= COMPILED_MIN_WORK:
        kernels = load_unbroken("hne.core.short_circuits.numba_paths")
        graph = (*edges.entries(usable), judged.lengths, judged.suspicion)
        compiled: tuple[FloatArray, IndexArray] = kernels.bounded_ways(*graph, starts, ends, limits)
        return compiled
    matrix = edges.matrix(judged.lengths, usable)
    ways, worst = np.full(len(around), np.inf), np.full(len(around), -1)
    step = max(1, BLOCK_BYTES // (12 * n))
    for first in range(0, len(around), step):
        some = slice(first, first + step)
        reached, before = dijkstra(
            matrix, indices=starts[some], limit=float(limits[some].max()), return_predecessors=True
        )
        way = reached[np.arange(len(reached)), ends[some]]
        ways[some] = np.where(way <= limits[some], way, np.inf)
        worst[some] = _worst_of_ways(judged, before, starts[some], np.where(np.isinf(ways[some]), -1, ends[some]))
    return ways, worst


def _worst_of_ways(judged: _Judged, before: IndexArray, starts: IndexArray, ends: IndexArray) -> IndexArray:
    """The most suspicious edge of the way back from each end, where there is one."""
    worst, at = np.full(len(starts), -1), ends.copy()
    walking = np.flatnonzero(at >= 0)
    while len(walking):
        previous = before[walking, at[walking]].astype(np.intp)
        edge = judged.edges.between(previous, at[walking])
        is_worse = (worst[walking] < 0) | (judged.suspicion[edge] > judged.suspicion[worst[walking]])
        worst[walking[is_worse]] = edge[is_worse]
        at[walking] = previous
        walking = walking[previous != starts[walking]]
    return worst


def _leaving_enough(edges: Edges, wanted: IndexArray, fewest: int) -> IndexArray:
    """Those of the wanted edges, in turn, that leave both ends so many edges, and so many neighbors in their lists."""
    ends, listed = edges.pairs, edges.is_listed
    degree = np.bincount(ends.ravel(), minlength=edges.n_samples)
    n_listed = np.bincount(ends.ravel(), weights=listed.ravel(), minlength=edges.n_samples).astype(np.intp)
    taken: list[int] = []
    for edge in wanted:
        pair, lists = ends[edge], listed[edge]
        if (degree[pair] > fewest).all() and (~lists | (n_listed[pair] > fewest)).all():
            degree[pair] -= 1
            n_listed[pair] -= lists
            taken.append(int(edge))
    return np.array(taken, dtype=np.intp)


def spanning_forest(edges: Edges, is_suspect: BoolArray, suspicion: FloatArray) -> BoolArray:
    """Which suspects are needed, the least suspicious first, to keep together what the graph keeps together."""
    needed, n = np.zeros(len(edges), dtype=bool), edges.n_samples
    count, labels = connected_components(edges.matrix(np.ones(len(edges)), ~is_suspect), directed=False)
    suspects = np.flatnonzero(is_suspect)
    ends = np.sort(labels[edges.pairs[suspects]], axis=1).astype(np.int64)
    across = ends[:, 0] != ends[:, 1]
    suspects, ends = suspects[across], ends[across]
    if not len(suspects):
        return needed
    # Ranks are unequal where suspicions tie, so that the forest is one and the same.
    order = np.lexsort((suspects, suspicion[suspects]))
    suspects, codes = suspects[order], ends[order, 0] * n + ends[order, 1]
    _, first = np.unique(codes, return_index=True)
    # SciPy 1.15 has this for indices of 32 bits alone, and keeps those it is given.
    rows, columns = (ends.astype(index_kind(count)) for ends in np.divmod(codes[first], n))
    forest = minimum_spanning_tree(csr_array((first + 1.0, (rows, columns)), shape=(count, count)))
    needed[suspects[forest.data.astype(np.intp) - 1]] = True
    return needed
