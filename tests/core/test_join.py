"""Joining links: a minimum spanning tree over the pieces, by the shortest links, added to the graph at both ends."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import block_array, csr_array
from scipy.spatial.distance import cdist

from hne import HNE
from hne.core.neighbors.edges import with_edges
from hne.core.neighbors.graph import knn_graph, nearest_by
from hne.core.pieces.split import connected_pieces, joining_edges
from hne.core.records import NeighborGraph, Pieces
from hne.core.samples.kinds import Distances
from hne.exceptions import InputError
from tests.conftest import frozen, lattice_clouds
from tests.core.test_pieces import count_pieces, graph_of


class Search:
    """Nearest samples among some, by distance, then index, and how often it was asked."""

    def __init__(self, X):
        self.distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
        self.calls = 0

    def __call__(self, targets, among, count):
        self.calls += 1
        assert len(targets) > 0
        assert 0 < count <= len(among)
        among = np.sort(among)
        apart = self.distances[targets][:, among]
        order = np.argsort(apart, axis=1, kind="stable")[:, :count]
        return among[order], np.take_along_axis(apart, order, axis=1)


def slow_joins(labels, distances, per_join):
    """Boruvka's rounds with loops over all links; group 0 waits for the others to come."""
    groups, found = list(labels), set()
    keys = sorted((distances[i, j], i, j) for i, j in combinations(range(len(groups)), 2))
    while len(set(groups)) > 1:
        chosen = set()
        for group in set(groups) - {groups[labels.index(0)]}:
            _, i, j = next(key for key in keys if (groups[key[1]] == group) != (groups[key[2]] == group))
            chosen.add(frozenset((groups[i], groups[j])))
        for pair in chosen:
            used = set()
            for _, i, j in keys:
                if {groups[i], groups[j]} == pair and not {i, j} & used and len(used) < 2 * per_join:
                    used |= {i, j}
                    found.add((i, j))
        names = {group: group for group in groups}
        for one, other in map(tuple, chosen):
            old, new = names[one], names[other]
            names = {group: new if name == old else name for group, name in names.items()}
        groups = [names[group] for group in groups]
    return sorted(found)


def pieces_of(labels):
    """The pieces that the labels tell apart, numbered by size, then first sample."""
    _, first, inverse, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    rank = np.argsort(np.lexsort((first, -sizes)))
    return Pieces(frozen(rank[inverse]), frozen(-np.sort(-sizes)))


@given(lattice_clouds(min_samples=1, max_samples=16), st.integers(1, 4), st.integers(1, 9), st.integers(0, 99))
def test_joining_links_are_those_of_the_slow_rounds_even_among_ties(X, per_join, count, seed):
    pieces = pieces_of(np.random.default_rng(seed).integers(count, size=len(X)))
    search = Search(X)
    links, distances = joining_edges(pieces, search, per_join)
    assert [tuple(link) for link in links.tolist()] == slow_joins(pieces.labels.tolist(), search.distances, per_join)
    np.testing.assert_array_equal(distances, search.distances[links[:, 0], links[:, 1]])


@pytest.mark.parametrize("seed", range(6))
def test_many_pairs_are_joined_as_the_slow_rounds_join_them(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(9, size=(90, 2)) / 8
    pieces = pieces_of(rng.integers(30, size=90))
    search = Search(X)
    links, _ = joining_edges(pieces, search, 2)
    assert [tuple(link) for link in links.tolist()] == slow_joins(pieces.labels.tolist(), search.distances, 2)


@given(lattice_clouds(min_samples=2, max_samples=20), st.integers(2, 9), st.integers(0, 99))
def test_single_joins_are_a_minimum_spanning_tree_of_the_pieces(X, count, seed):
    pieces = pieces_of(np.random.default_rng(seed).integers(count, size=len(X)))
    search = Search(X)
    links, distances = joining_edges(pieces, search, 1)
    tree, length = list(range(pieces.count)), 0.0  # Kruskal's
    for apart, i, j in sorted((search.distances[i, j], i, j) for i, j in combinations(range(len(X)), 2)):
        one, other = tree[pieces.labels[i]], tree[pieces.labels[j]]
        if one != other:
            length += apart
            tree = [one if name == other else name for name in tree]
    assert len(links) == pieces.count - 1
    np.testing.assert_allclose(distances.sum(), length)
    assert count_pieces(pieces.count, pieces.labels[links].tolist()) == 1


def test_links_of_one_join_share_no_end_and_are_fewer_where_a_piece_has_fewer_samples():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.5]])
    pieces = pieces_of([0, 0, 0, 1, 1])
    links, distances = joining_edges(pieces, Search(X), 3)
    np.testing.assert_array_equal(links, [[1, 4], [2, 3]])
    np.testing.assert_array_equal(distances, [10.5, 8.0])


def test_a_connected_graph_needs_no_joining_edges():
    links, distances = joining_edges(pieces_of([0, 0, 0]), Search(np.zeros((3, 1))), 2)
    assert links.shape == (0, 2)
    assert distances.shape == (0,)


def test_many_pieces_are_joined_by_few_searches():
    X = np.random.default_rng(2).random((500, 2))
    search = Search(X)
    joining_edges(pieces_of(np.arange(500)), search, 1)
    assert search.calls <= 91  # 1 + 2 (9 + 8 + ... + 1), if rounds only halved the pieces


def test_small_pieces_around_a_large_one_are_joined_by_few_searches():
    X = np.random.default_rng(2).random((500, 2))
    search = Search(X)
    links, _ = joining_edges(pieces_of(np.maximum(np.arange(500) // 4 - 75, 0)), search, 2)
    assert len(links) == 2 * 49
    # A search for each piece that others are joined to, beside those for the shortest.
    assert search.calls <= 49 + 13


def test_links_are_added_in_both_directions_in_the_order_of_distances():
    graph = NeighborGraph(
        frozen(np.array([[1, 2], [0, -1], [0, 1], [-1, -1]])),
        frozen(np.array([[1.0, 3.0], [1.0, np.inf], [3.0, 4.0], [np.inf, np.inf]])),
        "approximate",
        0.75,
    )
    joined = with_edges(graph, frozen(np.array([[0, 3], [2, 3]])), frozen(np.array([2.0, 3.0])))
    np.testing.assert_array_equal(joined.indices, [[1, 3, 2], [0, -1, -1], [0, 3, 1], [0, 2, -1]])
    np.testing.assert_array_equal(joined.distances, [[1, 2, 3], [1, *[np.inf] * 2], [3, 3, 4], [2, 3, np.inf]])
    assert (joined.method, joined.recall) == ("approximate", 0.75)


def test_a_link_that_one_end_lists_already_is_added_at_the_other_only():
    joined = with_edges(graph_of([[1], [2], [1]]), frozen(np.array([[0, 1]])), frozen(np.array([1.0])))
    np.testing.assert_array_equal(joined.indices, [[1, -1], [0, 2], [1, -1]])


def test_no_links_leave_the_graph_as_it_is():
    graph = graph_of([[1, 2], [0], [0]])
    same = with_edges(graph, np.empty((0, 2), dtype=np.intp), np.empty(0))
    np.testing.assert_array_equal(same.indices, graph.indices)
    np.testing.assert_array_equal(same.distances, graph.distances)


@given(lattice_clouds(min_samples=4, max_samples=20), st.integers(1, 3), st.integers(1, 3))
def test_a_graph_with_its_joining_links_is_connected_and_keeps_its_own(X, k, per_join):
    graph = knn_graph(X, k)
    joined = with_edges(graph, *joining_edges(connected_pieces(graph), Search(X), per_join))
    assert connected_pieces(joined).count == 1
    for before, after in zip(graph.indices.tolist(), joined.indices.tolist(), strict=True):
        listed = [other for other in after if other >= 0]
        assert after == listed + [-1] * (len(after) - len(listed))
        assert len(set(listed)) == len(listed)
        assert set(before) <= set(listed)
    assert (joined.distances[:, :-1] <= joined.distances[:, 1:]).all()


def sparse_distances(*groups):
    """Distances within groups of samples on a line, none from group to group."""
    return block_array([[csr_array(cdist(x, x)) if x is y else None for y in groups] for x in groups]).tocsr()


def test_pieces_without_a_known_distance_between_them_cannot_be_joined():
    line = np.arange(8.0)[:, None]
    with pytest.raises(InputError, match="pieces='join' needs known distances from piece to piece, got 3 groups"):
        HNE(2, n_components=1, metric="precomputed", pieces="join").fit(sparse_distances(line, line + 0.5, 3 * line))


def test_pieces_are_joined_through_others_where_only_those_are_known():
    line = np.linspace(0, 1, 8)[:, None]
    D = cdist(*[np.vstack([line, line + 10, line + 30])] * 2)
    # The first piece and the last know the one in the middle, and not each other.
    D[:8, 16:] = D[16:, :8] = 0
    known = csr_array(D)
    links, _ = joining_edges(
        Pieces(np.repeat([0, 1, 2], 8), np.array([8, 8, 8])),
        lambda targets, among, count: _known(known, targets, among, count),
        1,
    )
    assert links.tolist() == [[7, 8], [15, 16]]


def _known(D, targets, among, count):
    found, lengths, _ = nearest_by("precomputed", None, None, Distances(D[targets]).among(among), count)
    return np.where(found >= 0, among[found], -1), lengths


def test_a_hub_lists_only_so_many_links_and_all_are_joined_to_it():
    far = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0, 2 * np.pi, 60, endpoint=False)])
    X = frozen(np.vstack([np.random.default_rng(0).normal(size=(20, 2)) * 1e-3, 100 * far]))
    graph = graph_of([[1, 2]] + [[0]] * 19 + [[]] * 60)
    links = np.column_stack([np.zeros(60, dtype=np.intp), np.arange(20, 80)])
    joined = with_edges(graph, links, np.linalg.norm(X[links[:, 1]], axis=1))
    assert joined.n_neighbors == 4
    assert connected_pieces(joined).count == 1
