"""NeighborGraph -> Pieces: which samples hang together, and the shortest edges that join them where that is wanted.

Every sample is in exactly one piece; directions of edges are ignored.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hne._kernels import label_pieces
from hne.core.neighbors.edges import keep_edges, with_edges
from hne.core.neighbors.graph import is_squared, nearest_by
from hne.core.records import FloatArray, IndexArray, NeighborGraph, Pieces, UniqueSamples
from hne.core.samples.kinds import Samples, take_among
from hne.exceptions import DisconnectedGraphError, refuse
from hne.settings import Settings

logger = logging.getLogger("hne")

# A sample is isolated if its edges are this many times as long as those around where they lead, and as all. Measured:
# samples on the fringe of Gaussians, of images, of Student's t with 3 degrees of freedom reach 1 to 7; a point at five
# times the radius of a Swiss roll 37 and more, and three of those spoil its embedding (error 0.99 instead of 0.001).
FAR = 10.0
# For each target its `count` nearest samples among the given ones, by distance, then index: (targets, among, count).
NearestAmong: TypeAlias = Callable[[IndexArray, IndexArray, int], tuple[IndexArray, FloatArray]]


@dataclass(frozen=True)
class SplitGraph:
    """The pieces of a graph, and the graph as the pipeline goes on with it: joined, where that is wanted."""

    pieces: Pieces
    graph: NeighborGraph

    def __str__(self) -> str:
        return str(self.pieces)


def split_into_pieces(X: Samples, graph: NeighborGraph, settings: Settings, n_threads: int) -> SplitGraph:
    """Find the pieces of the graph, isolated samples among them, and join them where that is wanted."""
    graph = without_isolated(graph, settings)
    pieces = connected_pieces(graph)
    if pieces.count == 1 or settings.pieces != "join":
        return SplitGraph(pieces, graph)

    def nearest_among(targets: IndexArray, among: IndexArray, count: int) -> tuple[IndexArray, FloatArray]:
        others, ours = take_among(X, X[targets], among)
        near, lengths, _ = nearest_by(settings.metric, settings.metric_params, others, ours, count, None, n_threads)
        return np.where(near >= 0, among[near], -1), lengths

    # As many a pair of pieces as a sample has neighbors.
    edges, lengths = joining_edges(pieces, nearest_among, settings.n_neighbors)
    logger.info("pieces: %d joined by %d edges", pieces.count, len(edges))
    return SplitGraph(pieces, with_edges(graph, edges, lengths))


def without_isolated(graph: NeighborGraph, settings: Settings) -> NeighborGraph:
    """The graph without the far edges of isolated samples; a layout uses the graph as it was found."""
    if settings.coordinates == "layout":
        return graph
    return detach_outliers(graph, squared=is_squared(settings.metric))


def connected_pieces(graph: NeighborGraph) -> Pieces:
    """Find the connected pieces of the graph, directions of its edges ignored, the largest first."""
    # Numbered by their first samples, which the stable sort keeps among equal sizes.
    labels = np.empty(graph.n_samples, dtype=np.intp)
    count = label_pieces(np.ascontiguousarray(graph.indices, dtype=np.intp), labels)
    sizes = np.bincount(labels, minlength=count)
    largest_first = np.argsort(-sizes, kind="stable")
    rank = np.empty(count, dtype=np.intp)
    rank[largest_first] = np.arange(count)
    return Pieces(labels=rank[labels], sizes=sizes[largest_first].astype(np.intp))


def detach_outliers(graph: NeighborGraph, *, squared: bool = False) -> NeighborGraph:
    """Cut the edges of isolated samples: groups of up to k that only far edges tie to the others.

    A neighbor search gives neighbors to everyone. Those of an outlier are all in one place far from it, which rebuilds
    it badly, and holds that place in turn. An edge is far if it is `FAR` times as long as the k-th edge of the sample
    that it leads to, and as the middle one of all k-th edges: denser spots alone isolate nobody. Larger groups stay
    tied, however far: what hangs by a thread is not to be cut. `squared`: distances are squares of lengths.
    """
    far = FAR**2 if squared else FAR
    # Again where the cut shows who else is isolated.
    while True:
        present = graph.indices >= 0
        farthest = np.where(present, graph.distances, 0.0).max(axis=1)
        reach = np.maximum(farthest, np.median(farthest[farthest > 0]) if farthest.any() else 0.0)
        near = present & (graph.distances <= far * reach[graph.indices])
        if (near == present).all():
            return graph
        islands = connected_pieces(keep_edges(graph, near))
        # The largest stays, however small: someone must be left to be far from.
        is_island = (islands.sizes[islands.labels] <= graph.n_neighbors) & (islands.labels > 0)
        crosses = islands.labels[graph.indices] != islands.labels[:, None]
        cut = present & crosses & (is_island[:, None] | is_island[graph.indices])
        if not cut.any():
            return graph
        graph = keep_edges(graph, present & ~cut)


def joining_edges(pieces: Pieces, nearest_among: NearestAmong, per_join: int) -> tuple[IndexArray, FloatArray]:
    """Find the shortest edges (m, 2) that connect all pieces, and their lengths: Boruvka's spanning tree over pieces.

    In each round every group of pieces, but the one of the largest piece, is joined to the group nearest to it, by up
    to `per_join` edges with no end in common. Edges are ordered by (distance, smaller, larger sample), so that ties
    close no cycle.
    """
    search = _OutwardSearch(pieces, nearest_among)
    groups = pieces.labels
    joins = [(np.empty((0, 2), dtype=np.intp), np.empty(0))]
    while groups.any():
        edges, distances = search.shortest_edges(groups)
        if not len(edges):
            got = f"{int(groups.max()) + 1} groups without any between them"
            remedy = "Pass distances to more neighbors, or choose pieces='separate'"
            refuse("pieces='join'", "needs known distances from piece to piece", got, remedy)
        joins += _joins(groups, edges, distances, nearest_among, per_join)
        ends, count = groups[edges], int(groups.max()) + 1
        pairs = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
        # Numbered anew by their first: 0 stays the one of the largest piece.
        groups = connected_components(pairs, directed=False)[1][groups].astype(np.intp)
    edges, distances = (np.concatenate(parts) for parts in zip(*joins, strict=True))
    order = np.lexsort(edges.T[::-1])
    return edges[order], distances[order]


class _OutwardSearch:
    """Finds for each group its shortest edge to another, and remembers what later rounds can use again.

    Distances to the largest piece are searched once. What was nearest outside a group stays nearest while it is
    outside; once the groups have merged, its distance still bounds the next one from below.
    """

    def __init__(self, pieces: Pieces, nearest_among: NearestAmong) -> None:
        self.nearest_among = nearest_among
        self.outside = np.flatnonzero(pieces.labels > 0)
        self.partners = np.repeat(self.outside[:, None], 2, axis=1)  # in the largest piece, and elsewhere
        self.distances = np.zeros((len(self.outside), 2))
        if len(self.outside):
            home = np.flatnonzero(pieces.labels == 0)
            near, distances = (column[:, 0] for column in nearest_among(self.outside, home, 1))
            # Who knows no distance there keeps itself as a partner, infinitely far.
            self.partners[:, 0], self.distances[:, 0] = np.where(near >= 0, near, self.outside), distances

    def shortest_edges(self, groups: IndexArray) -> tuple[IndexArray, FloatArray]:
        """Shortest edge from each group but 0 to another group, repeats left out: (m, 2), (m,)."""
        group = groups[self.outside]
        # Samples whose partner is in their own group by now search again, where it can matter.
        stale = groups[self.partners] == group[:, None]
        reach = np.full(group.max() + 1, np.inf)
        np.minimum.at(reach, group, np.where(stale, np.inf, self.distances).min(axis=1))
        asking = np.flatnonzero(stale[:, 1] & (group > 0) & (self.distances[:, 1] <= reach[group]))
        self.distances[asking, 1] = np.inf
        # Two groups differ in a bit of their numbers: 2 log2(groups) searches serve all of them.
        for bit in range(int(group.max()).bit_length()):
            is_set = (group >> bit & 1).astype(bool)
            for side in (is_set, ~is_set):
                targets, among = asking[side[asking]], self.outside[~side]
                if not len(targets) or not len(among):
                    continue
                near, distances = (column[:, 0] for column in self.nearest_among(self.outside[targets], among, 1))
                so_far, so_near = self.partners[targets, 1], self.distances[targets, 1]
                better = (distances < so_near) | ((distances == so_near) & (near < so_far))
                better &= near >= 0
                self.partners[targets[better], 1] = near[better]
                self.distances[targets[better], 1] = distances[better]
        usable = (groups[self.partners] != group[:, None]) & (group > 0)[:, None] & np.isfinite(self.distances)
        rows, _ = np.nonzero(usable)
        edges = np.sort(np.column_stack([self.outside[rows], self.partners[usable]]), axis=1)
        distances = self.distances[usable]
        order = np.lexsort((edges[:, 1], edges[:, 0], distances, group[rows]))
        _, first = np.unique(group[rows][order], return_index=True)
        shortest, once = np.unique(edges[order[first]], axis=0, return_index=True)
        return shortest, distances[order[first]][once]


def _joins(
    groups: IndexArray, edges: IndexArray, distances: FloatArray, nearest_among: NearestAmong, per_join: int
) -> Iterator[tuple[IndexArray, FloatArray]]:
    """Edges and their lengths for each pair of groups whose shortest edge is known, with no end in common."""
    sizes = np.bincount(groups)
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(sizes)[:-1])
    pairs = groups[edges]
    smaller, larger = np.take_along_axis(pairs, np.argsort(sizes[pairs], axis=1, kind="stable"), axis=1).T
    is_single = np.minimum(sizes[smaller], per_join) == 1
    yield edges[is_single], distances[is_single]
    for group in np.unique(larger[~is_single]):
        asking = smaller[~is_single & (larger == group)]
        targets = np.concatenate([members[one] for one in asking])
        # At most per_join - 1 are taken when a target's turn comes, so that it needs to know no more of them.
        near, lengths = nearest_among(targets, members[group], min(per_join, sizes[group]))
        for end, size in zip(np.cumsum(sizes[asking]), sizes[asking], strict=True):
            rows = slice(end - size, end)
            known = near[rows] >= 0
            ends = np.column_stack([np.repeat(targets[rows], known.sum(axis=1)), near[rows][known]])
            candidates, away = np.sort(ends, axis=1), lengths[rows][known]
            # The shortest edge, then the shortest that shares no end with those taken, and so on.
            left = np.lexsort((candidates[:, 1], candidates[:, 0], away))
            taken: list[int] = []
            while len(left) and len(taken) < per_join:
                taken.append(left[0])
                left = left[(ends[left] != ends[left[0]]).all(axis=1)]
            yield candidates[taken], away[taken]


def check_connected(pieces: Pieces, distinct: UniqueSamples, settings: Settings) -> None:
    """Raise for a graph in several pieces, where that is what the user wants."""
    if pieces.count > 1 and settings.pieces == "raise":
        count, remedy = count_pieces(pieces, distinct, settings), join_remedy(settings)
        remedy = f"{remedy}, or choose pieces='separate' or 'largest'"
        refuse("pieces='raise'", "needs a connected neighbor graph", count, remedy, DisconnectedGraphError)


def count_pieces(pieces: Pieces, distinct: UniqueSamples, settings: Settings) -> str:
    """Number of pieces, sizes of the largest with all copies, and how many are no larger than a neighborhood."""
    with_copies = np.bincount(pieces.labels[distinct.inverse], minlength=pieces.count)
    sizes = ", ".join(str(size) for size in with_copies[:5]) + (", ..." if pieces.count > 5 else "")
    n_small = int((pieces.sizes <= settings.n_neighbors).sum())
    isolated = f", {n_small} of them isolated (at most {settings.n_neighbors} samples)" if n_small else ""
    return f"{pieces.count} pieces (of {sizes} samples){isolated}"


def join_remedy(settings: Settings) -> str:
    """What to do where pieces belong together."""
    if isinstance(settings.neighbors, NeighborGraph):
        return "Where they belong together, add links to the given graph"
    join, k = "" if settings.pieces == "join" else ", or pass pieces='join'", settings.n_neighbors
    return f"Where they belong together and are only sampled sparsely, raise n_neighbors (now {k}){join}"
