"""X, NeighborGraph -> ShortCircuits: which edges jump to another sheet of the surface, and the graph without them.

A dozen wrong edges in a thousand fold the embedding of a sparse roll, and every local method inherits them. An edge is
suspected where it leaves the tangent planes at both of its ends and is long; it is cut if the way around it, over edges
that nobody suspects, is many times as long. A single wrong edge that nobody suspects is a short way around all others
beside it: so where the suspicion is strong, the worst edge of the way is set aside as well, and the next way must be
longer still. Cutting goes on for a few rounds, for planes get better without wrong edges. A tangent plane has the
principal directions of a sample and its nearest neighbors, near ones counting more.
"""

import logging
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import issparse

from hne._kernels import bounded_ways, fill_gram_sines, fill_sines, join_in_order, measure_pairs, take_while_enough
from hne._runtime.threads import limit_blas_threads, map_rows, thread_count
from hne.core.neighbors.edges import Edges, edges_of, without_edges
from hne.core.records import (
    BoolArray,
    FloatArray,
    IndexArray,
    NeighborGraph,
    ShortCircuits,
    SparseMatrix,
    UniqueSamples,
)
from hne.core.samples.kinds import Distances, Samples, gram_of_distances, is_dense, lengths_between, width
from hne.settings import Settings

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
# Neighbors that a plane is laid through: one of these numbers, or so many more than it has dimensions. Five tell wrong
# edges of sparse rolls from right ones with an area under the ROC curve of .998 and more; where there is noise, planes
# of more neighbors see less of it.
PLANE_NEIGHBORS, MORE_THAN_DIMENSIONS = (5, 7, 9), 3
# Edges from which on the number is chosen at some of the samples, and at how many. Differences of medians of sines then
# err by .0013, as those of 20 000 edges would: on rolls of 10 000 with noise up to 1, one of 240 draws chose another
# number than all edges do, whose median is .006 from the least.
MANY_EDGES, COMPARED_ROWS = 50_000, 3_000
BLOCK_BYTES = 2**25

NO_PAIRS = np.empty((0, 2), dtype=np.intp)


def cut_short_circuits(X: Samples, graph: NeighborGraph, settings: Settings) -> ShortCircuits:
    """Find the short circuits, and cut them where the settings say so. A layout uses the graph as it was found."""
    n_listed = int(np.count_nonzero(graph.indices >= 0))
    if settings.coordinates == "layout":
        return ShortCircuits(NO_PAIRS, graph, n_listed, is_cut=False, whole=graph, is_searched=False)
    if n_listed > 2 * MAX_EDGES:
        logger.warning("short circuits: not looked for among the neighbors of %d samples", graph.n_samples)
        return ShortCircuits(NO_PAIRS, graph, n_listed, is_cut=False, whole=graph, is_searched=False)
    wrong, left, edges = [NO_PAIRS], graph, edges_of(graph)
    n_edges, n_threads = len(edges), thread_count(settings.n_jobs)
    with limit_blas_threads(1):
        for _ in range(ROUNDS):
            cut = edges.chosen(_wrong_edges(X, left, edges, settings.n_components, n_threads))
            if not len(cut):
                break
            wrong.append(cut.pairs)
            left = without_edges(left, cut.pairs)
            edges = edges_of(left)
    is_cut = settings.short_circuits == "cut"
    return ShortCircuits(np.concatenate(wrong), left if is_cut else graph, n_edges, is_cut=is_cut, whole=graph)


@dataclass(frozen=True)
class ChosenEdges:
    """Edges about which somebody has decided by hand, as pairs of places, the smaller first."""

    cut: IndexArray  # (p, 2)
    kept: IndexArray  # (p, 2)

    @classmethod
    def of(cls, settings: Settings, unique: UniqueSamples) -> "ChosenEdges":
        """Those that the settings name by samples; between copies of one there is no edge."""
        lists = (np.array(pairs or NO_PAIRS, dtype=np.intp) for pairs in (settings.cut_edges, settings.keep_edges))
        cut, kept = (np.sort(unique.inverse[pairs], axis=1) for pairs in lists)
        return cls(cut[cut[:, 0] < cut[:, 1]], kept[kept[:, 0] < kept[:, 1]])

    def among(self, rows: IndexArray) -> "ChosenEdges":
        """Those with both ends among some places, ascending, numbered anew."""
        lists = (pairs[np.isin(pairs, rows).all(axis=1)] for pairs in (self.cut, self.kept))
        return ChosenEdges(*(np.searchsorted(rows, pairs) for pairs in lists))


def edited(found: ShortCircuits, chosen: ChosenEdges) -> ShortCircuits:
    """What was found but for what is decided by hand, and the graph with what is kept and without what is cut."""
    if not len(chosen.cut) and not len(chosen.kept):
        return found
    n, near = found.graph.n_samples, found.whole.indices
    codes = np.concatenate([chosen.cut, chosen.kept]) @ [n, 1]
    left = replace(found, pairs=found.pairs[~np.isin(found.pairs @ [n, 1], codes)])
    one, other = chosen.cut.T
    is_edge = (near[one] == other[:, None]).any(axis=1) | (near[other] == one[:, None]).any(axis=1)
    by_hand = np.unique(chosen.cut[is_edge], axis=0)
    graph = without_edges(found.whole, np.concatenate([left.cut_pairs, by_hand]))
    return replace(left, graph=graph, n_by_hand=len(by_hand))


@dataclass(frozen=True)
class _Judged:
    """Edges with what speaks against each."""

    edges: Edges
    lengths: FloatArray  # (e,), NaN where not known
    suspicion: FloatArray  # (e,)
    limit: float  # of suspicion


def _wrong_edges(X: Samples, graph: NeighborGraph, edges: Edges, d: int, n_threads: int) -> IndexArray:
    """Numbers of the edges to cut in one round."""
    lengths = lengths_of_pairs(X, edges.smaller, edges.larger)
    known = np.isfinite(lengths)
    unit = float(np.median(lengths[known])) if known.any() else 0.0
    if not unit > 0:
        return np.empty(0, dtype=np.intp)
    sines = steepness(X, graph, edges, unit, d, n_threads)[1]
    suspicion = sines * np.minimum(MOST_LENGTH, lengths / unit)
    limit, is_known = np.inf, np.isfinite(suspicion)
    if is_known.any():
        # Higher where every edge is steep.
        steep = float(np.median(sines[np.isfinite(sines)]) - STEEP_FROM) / (STEEP_UNTIL - STEEP_FROM)
        limit = SUSPECT
        if steep > 0:
            middle = np.median(suspicion[is_known])
            standing_out = middle + DEVIATIONS * MAD_TO_DEVIATION * np.median(np.abs(suspicion[is_known] - middle))
            limit = float(SUSPECT + min(steep, 1.0) * (max(SUSPECT, standing_out) - SUSPECT))
    judged = _Judged(edges, lengths, suspicion, limit)
    is_suspect = suspicion > judged.limit
    is_suspect &= ~spanning_forest(edges, is_suspect, suspicion)
    suspects = np.flatnonzero(is_suspect)
    if not len(suspects):
        return suspects
    around, worst = _ways(judged, suspects, is_suspect, WAY_AROUND)
    is_far = np.isinf(around)
    behind = _behind_others(judged, is_suspect, suspects[~is_far], worst[~is_far])
    wrong = np.union1d(suspects[is_far], behind)
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
        is_aside = (is_aside & ~spanning_forest(judged.edges, is_aside, suspicion)) | is_suspect
        around, worst = _ways(judged, held, is_aside, NEXT_WAY_AROUND)
        is_far = np.isinf(around)
        wrong.append(held[is_far])
        held, worst = held[~is_far], worst[~is_far]
    aside = np.flatnonzero(is_aside & ~is_suspect)
    around, _ = _ways(judged, aside, is_aside, NEXT_WAY_AROUND)
    return np.concatenate([*wrong, aside[np.isinf(around)]])


def _ways(judged: _Judged, around: IndexArray, is_aside: BoolArray, longest: float) -> tuple[FloatArray, IndexArray]:
    """Ways around edges without those set aside, inf beyond so many lengths of the edge, and their worst edge or -1."""
    edges, usable = judged.edges, ~is_aside & np.isfinite(judged.lengths)
    ways, worst = np.empty(len(around)), np.empty(len(around), dtype=np.intp)
    queries = edges.smaller[around], edges.larger[around], longest * judged.lengths[around]
    bounded_ways(*edges.all_entries, usable, judged.lengths, judged.suspicion, *queries, ways, worst)
    return ways, worst


def _leaving_enough(edges: Edges, wanted: IndexArray, fewest: int) -> IndexArray:
    """Those of the wanted edges, in turn, that leave both ends so many edges, and so many neighbors in their lists."""
    taken = np.empty(len(wanted), dtype=np.intp)
    known = edges.smaller, edges.larger, edges.is_listed
    return taken[: take_while_enough(*known, wanted, edges.n_samples, fewest, taken)]


def spanning_forest(edges: Edges, is_suspect: BoolArray, suspicion: FloatArray) -> BoolArray:
    """Which suspects are needed, the least suspicious first, to keep together what the graph keeps together."""
    suspects, joins = np.flatnonzero(is_suspect), np.empty(len(edges), dtype=bool)
    # Numbers where suspicions tie, so that the forest is one and the same.
    order = np.concatenate([np.flatnonzero(~is_suspect), suspects[np.lexsort((suspects, suspicion[suspects]))]])
    join_in_order(edges.smaller, edges.larger, order, edges.n_samples, joins)
    return joins & is_suspect


def lengths_of_pairs(X: Samples, one: IndexArray, other: IndexArray) -> FloatArray:
    """Lengths in the coordinates, whatever the metric of the graph, as weights are; NaN where not known."""
    if isinstance(X, Distances):
        return X.at(one, other)
    lengths = np.empty(len(one))
    if is_dense(X):
        measure_pairs(np.ascontiguousarray(X), one, other, lengths)
        return lengths
    step = max(1, BLOCK_BYTES // (8 * 2 * width(X)))
    for start in range(0, len(one), step):
        some = slice(start, start + step)
        lengths[some] = lengths_between(X, X[one[some]], other[some, None])[:, 0]
    return lengths


def steepness(
    X: Samples, graph: NeighborGraph, edges: Edges, unit: float, n_components: int, n_threads: int = 1
) -> tuple[int, FloatArray]:
    """Neighbors of a plane with which edges leave the planes the least, and the sines of all edges with these."""
    sizes = sorted({min(max(n_components + MORE_THAN_DIMENSIONS, size), graph.n_neighbors) for size in PLANE_NEIGHBORS})
    if len(sizes) > 1 and len(edges) > MANY_EDGES and edges.n_samples > COMPARED_ROWS:
        starts, others, _ = edges.all_entries
        is_drawn, counts = np.zeros(edges.n_samples, dtype=bool), np.diff(starts)
        is_drawn[np.random.RandomState(0).choice(edges.n_samples, COMPARED_ROWS, replace=False)] = True
        starts = np.concatenate([[0], np.cumsum(np.where(is_drawn, counts, 0))])
        few = starts, others[np.repeat(is_drawn, counts)]
        sizes = [sizes[_flattest(_sines(X, graph, *few, unit, n_components, sizes, n_threads))]]
    sines = sines_at_both_ends(X, graph, edges, unit, n_components, sizes, n_threads)
    best = _flattest(sines)
    return sizes[best], sines[best]


def _flattest(sines: FloatArray) -> int:
    """The row of sines with the least median of those that are known."""
    known = (row[~np.isnan(row)] for row in sines)
    return int(np.argmin([float(np.median(row)) if len(row) else np.inf for row in known]))


def sines_at_both_ends(
    X: Samples, graph: NeighborGraph, edges: Edges, unit: float, n_components: int, sizes: list[int], n_threads: int = 1
) -> FloatArray:
    """Mean sines of the angles between an edge and the planes at its ends, (s, e); NaN where distances are not known.

    Planes are those of so many neighbors, sizes ascending; a neighbor `unit` away, a usual length, counts half.
    """
    starts, others, numbers = edges.all_entries
    sines = _sines(X, graph, starts, others, unit, n_components, sizes, n_threads)
    return np.array([np.bincount(numbers, row, minlength=len(edges)) / 2 for row in sines])


def _sines(
    X: Samples,
    graph: NeighborGraph,
    starts: IndexArray,
    others: IndexArray,
    unit: float,
    d: int,
    sizes: list[int],
    n_threads: int,
) -> FloatArray:
    """Sines (s, entries) of the angles between edges and the planes at one end, a row of entries for each sample."""
    near = np.ascontiguousarray(graph.indices[:, : sizes[-1]], dtype=np.intp)
    if isinstance(X, Distances):
        ends = np.repeat(np.arange(len(near)), np.diff(starts))
        return np.array([_gram_sines(X, near[:, :size], ends, others, unit, d) for size in sizes])
    if issparse(X):
        return _sparse_sines(X, near, starts, others, unit, d, sizes)
    made_of = near, starts, others, unit, d, np.array(sizes, dtype=np.intp)
    sines, dense = np.empty((len(sizes), len(others))), np.ascontiguousarray(X)
    map_rows(lambda start, stop: fill_sines(start, stop, dense, *made_of, sines), len(near), n_threads)
    return sines


def _sparse_sines(
    X: SparseMatrix,
    near: IndexArray,
    starts: IndexArray,
    others: IndexArray,
    unit: float,
    d: int,
    sizes: list[int],
) -> FloatArray:
    """Sines at one end of each edge of sparse samples: some at a time, dense over the columns that they use."""
    ends = np.repeat(np.arange(len(near)), np.diff(starts))
    sines = np.empty((len(sizes), len(ends)))
    # So many samples are no larger than a block in all columns, or in those that they use if they share none.
    count = max(BLOCK_BYTES // (8 * X.shape[1]), int(np.sqrt(BLOCK_BYTES / (8 * width(X)))))
    step = max(1, count // (near.shape[1] + 2))
    for start in range(0, len(ends), step):
        some = slice(start, start + step)
        rows = np.unique(ends[some])
        near_some = near[rows]
        samples = np.unique(np.concatenate([rows, near_some[near_some >= 0], others[some]]))
        taken = X[samples]
        columns, slots = np.unique(taken.indices, return_inverse=True)
        local = np.zeros((len(samples), max(1, len(columns))))
        local[np.repeat(np.arange(len(samples)), np.diff(taken.indptr)), slots] = taken.data
        numbered = np.full((len(samples), near.shape[1]), -1)
        numbered[np.searchsorted(samples, rows)] = np.where(near_some >= 0, np.searchsorted(samples, near_some), -1)
        one, other = np.searchsorted(samples, ends[some]), np.searchsorted(samples, others[some])
        begin = np.concatenate([[0], np.cumsum(np.bincount(one, minlength=len(samples)))])
        found = np.empty((len(sizes), len(one)))
        fill_sines(0, len(samples), local, numbered, begin, other, unit, d, np.array(sizes, dtype=np.intp), found)
        sines[:, some] = found
    return sines


def _gram_sines(
    X: Distances, near: IndexArray, ends: IndexArray, others: IndexArray, unit: float, d: int
) -> FloatArray:
    """The same from inner products alone, an edge at a time: for samples known by distances."""
    sines = np.full(len(ends), np.nan)
    m = near.shape[1]
    step = max(1, BLOCK_BYTES // (8 * 4 * (m + 2) ** 2))
    for start in range(0, len(ends), step):
        some = np.arange(start, min(start + step, len(ends)))
        absent = near[ends[some]] < 0
        # The sample stands where a neighbor is absent, and does not count there.
        ids = np.column_stack([ends[some], np.where(absent, ends[some, None], near[ends[some]]), others[some]])
        if not X.is_complete:
            known = ~np.isnan(X.at(ids[:, :, None], ids[:, None, :])).any(axis=(1, 2))
            some, ids, absent = some[known], ids[known], absent[known]
            if not len(some):
                continue
        K, units = gram_of_distances(X, X[ends[some]], ids)
        found = np.empty(len(some))
        fill_gram_sines(K, np.insert(~absent, 0, values=True, axis=1), units / unit, d, found)
        sines[some] = found
    return sines
