"""Pieces -> the shortest links that would join them, and the graph with links added."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hne.core.records import FloatArray, IndexArray, NeighborGraph, Pieces
from hne.exceptions import InputError

# For each target its `count` nearest samples among the given ones, by distance, then index: (targets, among, count).
NearestAmong: TypeAlias = Callable[[IndexArray, IndexArray, int], tuple[IndexArray, FloatArray]]


def joining_links(pieces: Pieces, nearest_among: NearestAmong, per_join: int) -> tuple[IndexArray, FloatArray]:
    """Find the shortest links that connect all pieces: Boruvka's minimum spanning tree over the pieces.

    In each round every group of pieces, but the one of the largest piece, is joined to the group nearest to it. Links
    are ordered by (distance, smaller, larger sample), so that ties close no cycle.

    Parameters
    ----------
    pieces : Pieces
        The pieces to connect.
    nearest_among : callable
        `nearest_among(targets, among, count)` gives indices and distances of the `count` nearest samples to each
        target among the given ones, (len(targets), count), by distance, then index.
    per_join : int
        Links for each pair of groups that are joined, with no end in common; fewer where a group has fewer samples.

    Returns
    -------
    links : IndexArray of shape (m, 2)
        Pairs (smaller, larger) of samples, sorted.
    distances : FloatArray of shape (m,)
        Their lengths.

    Raises
    ------
    InputError
        If pieces are left between which no distance is known.
    """
    search = _OutwardSearch(pieces, nearest_among)
    groups = pieces.labels
    found = [(np.empty((0, 2), dtype=np.intp), np.empty(0))]
    while groups.any():
        links, distances = search.shortest_links(groups)
        if not len(links):
            msg = (
                f"pieces='join' needs known distances from piece to piece, got {int(groups.max()) + 1} groups "
                "without any between them. Pass distances to more neighbors, or choose pieces='separate'."
            )
            raise InputError(msg)
        found += _Joins(groups, nearest_among, per_join).found(links, distances)
        groups = _merged(groups, links)
    links, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort(links.T[::-1])
    return links[order], distances[order]


class _OutwardSearch:
    """Finds for each group its shortest link to another, and remembers what later rounds can use again.

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
            found, distances = (column[:, 0] for column in nearest_among(self.outside, home, 1))
            # Who knows no distance there keeps itself as a partner, infinitely far.
            self.partners[:, 0], self.distances[:, 0] = np.where(found >= 0, found, self.outside), distances

    def shortest_links(self, groups: IndexArray) -> tuple[IndexArray, FloatArray]:
        """Shortest link from each group but 0 to another group, repeats left out: (m, 2), (m,)."""
        own = groups[self.outside]
        self._renew(own, groups)
        usable = (groups[self.partners] != own[:, None]) & (own > 0)[:, None] & np.isfinite(self.distances)
        rows, _ = np.nonzero(usable)
        links = np.sort(np.column_stack([self.outside[rows], self.partners[usable]]), axis=1)
        distances = self.distances[usable]
        order = np.lexsort((links[:, 1], links[:, 0], distances, own[rows]))
        _, first = np.unique(own[rows][order], return_index=True)
        shortest, once = np.unique(links[order[first]], axis=0, return_index=True)
        return shortest, distances[order[first]][once]

    def _renew(self, own: IndexArray, groups: IndexArray) -> None:
        """Search again for samples whose partner is in their own group by now, where it can matter."""
        stale = groups[self.partners] == own[:, None]
        reach = np.full(own.max() + 1, np.inf)
        np.minimum.at(reach, own, np.where(stale, np.inf, self.distances).min(axis=1))
        asking = np.flatnonzero(stale[:, 1] & (own > 0) & (self.distances[:, 1] <= reach[own]))
        self.distances[asking, 1] = np.inf
        # Two groups differ in a bit of their numbers: 2 log2(groups) searches serve all of them.
        for bit in range(int(own.max()).bit_length()):
            is_set = (own >> bit & 1).astype(bool)
            for targets, among in (
                (asking[is_set[asking]], self.outside[~is_set]),
                (asking[~is_set[asking]], self.outside[is_set]),
            ):
                self._improve(targets, among)

    def _improve(self, targets: IndexArray, among: IndexArray) -> None:
        """Take the nearest sample among the given ones as partner where it is nearer than the one so far."""
        if not len(targets) or not len(among):
            return
        found, distances = (column[:, 0] for column in self.nearest_among(self.outside[targets], among, 1))
        so_far, so_near = self.partners[targets, 1], self.distances[targets, 1]
        better = (distances < so_near) | ((distances == so_near) & (found < so_far))
        better &= found >= 0
        self.partners[targets[better], 1] = found[better]
        self.distances[targets[better], 1] = distances[better]


def _merged(groups: IndexArray, links: IndexArray) -> IndexArray:
    """Groups numbered anew after the links have joined them; 0 stays the one of the largest piece."""
    count = int(groups.max()) + 1
    ends = groups[links]
    pairs = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    _, merged = connected_components(pairs, directed=False)
    anew: IndexArray = merged[groups].astype(np.intp)
    return anew


class _Joins:
    """The pairs of groups that one round joins, each by its shortest links with no end in common."""

    def __init__(self, groups: IndexArray, nearest_among: NearestAmong, per_join: int) -> None:
        self.groups, self.nearest_among, self.per_join = groups, nearest_among, per_join
        self.sizes = np.bincount(groups)
        self.by_group = np.split(np.argsort(groups, kind="stable"), np.cumsum(self.sizes)[:-1])

    def found(self, links: IndexArray, distances: FloatArray) -> Iterator[tuple[IndexArray, FloatArray]]:
        """Links and distances for each pair of groups whose shortest link is given."""
        pairs = self.groups[links]
        smaller_first = np.argsort(self.sizes[pairs], axis=1, kind="stable")
        pairs = np.take_along_axis(pairs, smaller_first, axis=1)
        enough = np.minimum(self.sizes[pairs[:, 0]], self.per_join) == 1
        yield links[enough], distances[enough]
        settled = set()
        for pair, join in self._at_once(pairs[~enough & (pairs > 0).all(axis=1)]):
            settled.add(pair)
            yield join
        rest = np.array([pair for pair in pairs[~enough].tolist() if tuple(pair) not in settled]).reshape(-1, 2)
        for larger in np.unique(rest[:, 1]):
            # At most per_join - 1 are taken when a target's turn comes, so that it needs to know no more of them.
            asking = rest[rest[:, 1] == larger]
            for _, join, _ in self._searched(asking, self.by_group[larger], self.per_join):
                yield join

    def _at_once(self, pairs: IndexArray) -> Iterator[tuple[tuple[int, int], tuple[IndexArray, FloatArray]]]:
        """Pairs that can be settled by searches for all of them, one for each bit that tells the two groups apart."""
        differing = pairs[:, 0] ^ pairs[:, 1]
        lowest = differing & -differing
        for bit in np.unique(lowest):
            for side in (0, bit):
                asking = pairs[(lowest == bit) & (pairs[:, 0] & bit == side)]
                if len(asking) > 1:
                    # Other groups are in the way, but rarely many: a pair is joined where it is near.
                    among = np.flatnonzero((self.groups & bit != side) & (self.groups > 0))
                    searched = self._searched(asking, among, 4 * self.per_join)
                    yield from ((pair, join) for pair, join, is_certain in searched if is_certain)

    def _searched(
        self, pairs: IndexArray, among: IndexArray, count: int
    ) -> Iterator[tuple[tuple[int, int], tuple[IndexArray, FloatArray], bool]]:
        """Each pair with the links that one search finds, and whether no link that it did not see is shorter."""
        targets = np.concatenate([self.by_group[group] for group in pairs[:, 0]])
        found, distances = self.nearest_among(targets, among, min(count, len(among)))
        horizons = distances[:, -1] if count < len(among) else np.full(len(targets), np.inf)
        ends = np.cumsum(self.sizes[pairs[:, 0]])
        for (smaller, larger), end in zip(pairs.tolist(), ends, strict=True):
            rows = slice(end - self.sizes[smaller], end)
            inside = (self.groups[found[rows]] == larger) & (found[rows] >= 0)
            own = np.repeat(targets[rows], inside.sum(axis=1))
            links, lengths = _apart(own, found[rows][inside], distances[rows][inside], self.per_join)
            is_complete = len(links) == min(self.per_join, self.sizes[smaller])
            seen = horizons[rows][~np.isin(targets[rows], links)].min(initial=np.inf)
            yield (smaller, larger), (links, lengths), is_complete and lengths[-1] < seen


def _apart(own: IndexArray, theirs: IndexArray, distances: FloatArray, count: int) -> tuple[IndexArray, FloatArray]:
    """Take the shortest link, then the shortest that shares no end with those taken, and so on."""
    links = np.sort(np.column_stack([own, theirs]), axis=1)
    left = np.lexsort((links[:, 1], links[:, 0], distances))
    taken: list[int] = []
    while len(left) and len(taken) < count:
        link = left[0]
        taken.append(link)
        left = left[(own[left] != own[link]) & (theirs[left] != theirs[link])]
    return links[taken], distances[taken]


def with_links(graph: NeighborGraph, links: IndexArray, distances: FloatArray) -> NeighborGraph:
    """Add links, in both directions, to the neighbor lists of their ends.

    Rows widen where they must; each stays ascending by distance, then index, and lists a neighbor once. An end that has
    got as many links as the graph is wide gets no more, for time grows with the fourth power of the widest row: the
    other end lists it, which connects the two as well.

    Parameters
    ----------
    graph : NeighborGraph
        The graph to widen; it is left as it is.
    links : IndexArray of shape (m, 2)
        Pairs of samples.
    distances : FloatArray of shape (m,)
        Their lengths.
    """
    ends, others, distances = _added(links, distances, graph.n_neighbors)
    touched = np.unique(links)
    place, slots = np.nonzero(graph.indices[touched] >= 0)
    listed = touched[place]
    rows = np.concatenate([listed, ends])
    columns = np.concatenate([graph.indices[listed, slots], others])
    lengths = np.concatenate([graph.distances[listed, slots], distances])
    # The first of each (row, column) is the one that the graph has already.
    _, once = np.unique(rows * graph.n_samples + columns, return_index=True)
    order = once[np.lexsort((columns[once], lengths[once], rows[once]))]
    rows, columns, lengths = rows[order], columns[order], lengths[order]
    slots = np.arange(len(rows)) - np.searchsorted(rows, rows)
    width = int(max(graph.n_neighbors, slots.max(initial=-1) + 1))
    widened = ((0, 0), (0, width - graph.n_neighbors))
    indices = np.pad(graph.indices, widened, constant_values=-1)
    apart = np.pad(graph.distances, widened, constant_values=np.inf)
    indices[rows, slots], apart[rows, slots] = columns, lengths
    return replace(graph, indices=indices, distances=apart)


def _added(links: IndexArray, distances: FloatArray, most: int) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Which end lists which other at what distance: both, but for ends that list `most` shorter links already."""
    ends, others = links.T.ravel(), links[:, ::-1].T.ravel()
    lengths = np.concatenate([distances, distances])
    order = np.lexsort((others, lengths, ends))
    rank = np.empty(len(ends), dtype=np.intp)
    rank[order] = np.arange(len(ends)) - np.searchsorted(ends[order], ends[order])
    over = rank >= most
    # A link between two such ends is kept at its first.
    both_over = over[: len(links)] & over[len(links) :]
    over[: len(links)] &= ~both_over
    return ends[~over], others[~over], lengths[~over]
