"""X, NeighborGraph -> ShortCircuits: which edges jump to another sheet of the surface, and the graph without them.

A dozen wrong edges in a thousand fold the embedding of a sparse roll, and every local method inherits them. An edge is
suspected where it leaves the tangent planes at both of its ends and is long; it is cut if the way around it, over edges
that nobody suspects, is many times as long. A single wrong edge that nobody suspects is a short way around all others
beside it: so where the suspicion is strong, the worst edge of the way is set aside as well, and the next way must be
longer still. Cutting goes on for a few rounds, for planes get better without wrong edges. A tangent plane has the
principal directions of a sample and its nearest neighbors, near ones counting more.
"""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from hne._runtime.threads import limit_blas_threads, load_unbroken
from hne.core.neighbors.edges import Edges, edges_of, without_edges
from hne.core.records import BoolArray, FloatArray, IndexArray, NeighborGraph, ShortCircuits, SparseMatrix, index_kind
from hne.core.samples.kinds import Distances, Samples, gram_of_distances, lengths_between, width
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
# Samples times ways from which SciPy's Dijkstra, which looks at every sample for each way, is the slower one; numba
# takes a second to load, and several to compile when it is used first.
COMPILED_MIN_WORK = 2e8
# Neighbors that a plane is laid through: one of these numbers, or so many more than it has dimensions. Five tell wrong
# edges of sparse rolls from right ones with an area under the ROC curve of .998 and more; where there is noise, planes
# of more neighbors see less of it.
PLANE_NEIGHBORS, MORE_THAN_DIMENSIONS = (5, 7, 9), 3
# Edges by which the number is chosen.
COMPARED_EDGES = 20_000
# Variances below this share of a plane's largest are rounding.
NEGLIGIBLE = 1e-10
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


def _wrong_edges(X: Samples, graph: NeighborGraph, edges: Edges, d: int) -> IndexArray:
    """Numbers of the edges to cut in one round."""
    lengths = lengths_of_pairs(X, edges.smaller, edges.larger)
    known = np.isfinite(lengths)
    unit = float(np.median(lengths[known])) if known.any() else 0.0
    if not unit > 0:
        return np.empty(0, dtype=np.intp)
    sines = steepness(X, graph, edges, unit, d, plane_neighbors(X, graph, edges, unit, d))
    suspicion = sines * np.minimum(MOST_LENGTH, lengths / unit)
    limit, is_plain = np.inf, np.isfinite(suspicion)
    if is_plain.any():
        middle = np.median(suspicion[is_plain])
        standing_out = middle + DEVIATIONS * MAD_TO_DEVIATION * np.median(np.abs(suspicion[is_plain] - middle))
        # Higher where every edge is steep.
        steep = (np.median(sines[np.isfinite(sines)]) - STEEP_FROM) / (STEEP_UNTIL - STEEP_FROM)
        limit = float(SUSPECT + np.clip(steep, 0.0, 1.0) * (max(SUSPECT, standing_out) - SUSPECT))
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
    edges, n = judged.edges, judged.edges.n_samples
    usable, limits = ~is_aside & np.isfinite(judged.lengths), longest * judged.lengths[around]
    starts, ends = edges.smaller[around], edges.larger[around]
    if float(n) * len(around) >= COMPILED_MIN_WORK:
        kernels = load_unbroken("hne.core.short_circuits.numba_paths")
        graph = (*edges.entries(usable), judged.lengths, judged.suspicion)
        return kernels.bounded_ways(*graph, starts, ends, limits)
    matrix = edges.matrix(judged.lengths, usable)
    ways, worst = np.full(len(around), np.inf), np.full(len(around), -1)
    step = max(1, BLOCK_BYTES // (12 * n))
    for first in range(0, len(around), step):
        some = slice(first, first + step)
        limit = float(limits[some].max())
        reached, before = dijkstra(matrix, indices=starts[some], limit=limit, return_predecessors=True)
        way = reached[np.arange(len(reached)), ends[some]]
        ways[some] = np.where(way <= limits[some], way, np.inf)
        # Back from each end that has a way.
        walking, at = first + np.flatnonzero(np.isfinite(ways[some])), ends.copy()
        while len(walking):
            previous = before[walking - first, at[walking]].astype(np.intp)
            edge = edges.between(previous, at[walking])
            is_worse = (worst[walking] < 0) | (judged.suspicion[edge] > judged.suspicion[worst[walking]])
            worst[walking[is_worse]] = edge[is_worse]
            at[walking] = previous
            walking = walking[previous != starts[walking]]
    return ways, worst


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


def lengths_of_pairs(X: Samples, one: IndexArray, other: IndexArray) -> FloatArray:
    """Lengths in the coordinates, whatever the metric of the graph, as weights are; NaN where not known."""
    if isinstance(X, Distances):
        return X.at(one, other)
    lengths = np.empty(len(one))
    step = max(1, BLOCK_BYTES // (8 * 2 * width(X)))
    for start in range(0, len(one), step):
        some = slice(start, start + step)
        lengths[some] = lengths_between(X, X[one[some]], other[some, None])[:, 0]
    return lengths


def plane_neighbors(X: Samples, graph: NeighborGraph, edges: Edges, unit: float, n_components: int) -> int:
    """Neighbors of a tangent plane with which the edges leave the planes the least."""
    if len(edges) > COMPARED_EDGES:
        edges = edges.chosen(np.sort(np.random.RandomState(0).choice(len(edges), COMPARED_EDGES, replace=False)))
    fewest = n_components + MORE_THAN_DIMENSIONS
    sizes = sorted({min(max(fewest, size), graph.n_neighbors) for size in PLANE_NEIGHBORS})
    if len(sizes) == 1:
        return sizes[0]
    middles = []
    for size in sizes:
        sines = steepness(X, graph, edges, unit, n_components, size)
        known = sines[~np.isnan(sines)]
        middles.append(float(np.median(known)) if len(known) else np.inf)
    return sizes[int(np.argmin(middles))]


def steepness(X: Samples, graph: NeighborGraph, edges: Edges, unit: float, n_components: int, size: int) -> FloatArray:
    """Mean sine of the angles between an edge and the planes at its ends, (e,); NaN where distances are not known.

    A plane is that of `size` neighbors; `unit` is a usual length: a neighbor so far away counts half.
    """
    near = graph.indices[:, :size]
    ends = np.concatenate([edges.smaller, edges.larger])
    others = np.concatenate([edges.larger, edges.smaller])
    order = np.argsort(ends, kind="stable")
    sines = np.empty(len(ends))
    angles = _gram_sines if isinstance(X, Distances) else _sparse_sines if issparse(X) else _dense_sines
    sines[order] = angles(X, near, ends[order], others[order], unit, n_components)
    return (sines[: len(edges)] + sines[len(edges) :]) / 2


def _dense_sines(
    X: FloatArray, near: IndexArray, ends: IndexArray, others: IndexArray, unit: float, d: int
) -> FloatArray:
    """Sines at one end of each edge; ends ascend, so that a plane is made once and forgotten."""
    sines = np.empty(len(ends))
    rows, starts = np.unique(ends, return_index=True)
    starts = np.append(starts, len(ends))
    # A sample and its neighbors span no more.
    d = min(d, near.shape[1] + 1, X.shape[1])
    step = max(1, BLOCK_BYTES // (8 * X.shape[1] * (3 * near.shape[1] + 1 + d)))
    # Each edge has a copy of its plane, and a sample may have as many edges as there are samples.
    edges_at_once = max(1, BLOCK_BYTES // (8 * X.shape[1] * (1 + d)))
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        planes = _planes(X, some, near, unit, d)
        for start in range(starts[first], starts[first + len(some)], edges_at_once):
            stop = min(start + edges_at_once, starts[first + len(some)])
            difference = X[others[start:stop]] - X[ends[start:stop]]
            squares = np.einsum("ij,ij->i", difference, difference)
            within = np.einsum("idj,ij->id", planes[np.searchsorted(some, ends[start:stop])], difference)
            sines[start:stop] = _sine((within**2).sum(axis=1), squares)
    return sines


def _sparse_sines(
    X: SparseMatrix, near: IndexArray, ends: IndexArray, others: IndexArray, unit: float, d: int
) -> FloatArray:
    """The same for sparse samples: some edges at a time, dense over the columns that their samples use."""
    sines = np.empty(len(ends))
    n_features, mates = X.shape[1], near.shape[1] + 2
    # So many samples are no larger than a block in all columns, or in those that they use if they share none.
    count = max(BLOCK_BYTES // (8 * n_features), int(np.sqrt(BLOCK_BYTES / (8 * width(X)))))
    step = max(1, count // mates)
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
        is_there = near_some >= 0
        numbered[np.searchsorted(samples, rows)] = np.where(is_there, np.searchsorted(samples, near_some), -1)
        one, other = np.searchsorted(samples, ends[some]), np.searchsorted(samples, others[some])
        sines[some] = _dense_sines(local, numbered, one, other, unit, d)
    return sines


def _planes(X: FloatArray, rows: IndexArray, near: IndexArray, unit: float, d: int) -> FloatArray:
    """Orthonormal directions (b, d, D) of the tangent plane at each row; zero where there are fewer."""
    near = near[rows]
    local = np.concatenate([np.zeros((len(rows), 1, X.shape[1])), X[near] - X[rows, None]], axis=1)
    weights = _weights(np.sqrt(np.einsum("ijk,ijk->ij", local, local)), near >= 0, unit)
    mean = np.einsum("ij,ijk->ik", weights, local) / weights.sum(axis=1)[:, None]
    local = (local - mean[:, None]) * np.sqrt(weights)[:, :, None]
    m, n_features = local.shape[1:]
    planes = np.zeros((len(rows), d, n_features))
    if n_features <= m:
        vectors = np.linalg.eigh(local.transpose(0, 2, 1) @ local)[1][:, :, ::-1][:, :, :d]
        planes[:, : min(d, n_features)] = vectors.transpose(0, 2, 1)
        return planes
    axes = _leading(local @ local.transpose(0, 2, 1), d)
    planes[:, : axes.shape[2]] = axes.transpose(0, 2, 1) @ local
    return planes


def _weights(lengths: FloatArray, is_there: BoolArray, unit: float) -> FloatArray:
    """What a sample and its neighbors count in a plane, (b, m + 1); nothing behind the last neighbor."""
    return np.insert(is_there, 0, values=True, axis=1) / (1 + (lengths / unit) ** 2)


def _leading(gram: FloatArray, d: int) -> FloatArray:
    """Combinations (b, m, min(d, m)) of samples that give orthonormal directions of the largest variances."""
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[:, ::-1][:, :d], vectors[:, :, ::-1][:, :, :d]
    spans = values > NEGLIGIBLE * np.maximum(values[:, :1], 0.0)
    return vectors * np.where(spans, 1 / np.sqrt(np.where(spans, values, 1.0)), 0.0)[:, None, :]


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
        lengths = np.sqrt(np.maximum(np.diagonal(K, axis1=1, axis2=2), 0.0)) * units[:, None]
        weights = _weights(lengths[:, :-1], ~absent, unit)
        share = (weights / weights.sum(axis=1, keepdims=True))[:, :, None]
        inside, across = K[:, :-1, :-1], K[:, :-1, -1:]
        centered = inside - (inside @ share) - (inside @ share).transpose(0, 2, 1)
        centered += share.transpose(0, 2, 1) @ inside @ share
        root = np.sqrt(weights)
        axes = _leading(centered * root[:, :, None] * root[:, None, :], d)
        moved = (across - (share.transpose(0, 2, 1) @ across)) * root[:, :, None]
        within = (axes.transpose(0, 2, 1) @ moved)[:, :, 0]
        sines[some] = _sine((within**2).sum(axis=1), K[:, -1, -1])
    return sines


def _sine(within: FloatArray, squares: FloatArray) -> FloatArray:
    """Sine of an angle, of the squared length within a plane and the whole; 0 for an edge without length."""
    sine: FloatArray = np.sqrt(np.clip(1 - within / np.where(squares > 0, squares, 1.0), 0.0, 1.0))
    return np.where(squares > 0, sine, 0.0)
