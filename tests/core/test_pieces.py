"""Pieces: found by walking, outliers among them, and joined by the edges of the slow rounds."""

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
from hne.core.pieces.split import connected_pieces, detach_outliers, joining_edges
from hne.core.records import NeighborGraph, Pieces
from hne.core.samples.kinds import Distances
from hne.exceptions import InputError
from tests.conftest import frozen, lattice_clouds


def test_a_connected_cloud_is_one_piece(cloud):
    pieces = connected_pieces(knn_graph(cloud, 8))
    assert pieces.count == 1
    assert (pieces.labels == 0).all()


def test_the_largest_piece_has_label_zero():
    rng = np.random.default_rng(1)
    small, large = rng.normal(size=(10, 2)), rng.normal(size=(25, 2)) + 100
    pieces = connected_pieces(knn_graph(frozen(np.vstack([small, large])), 6))
    np.testing.assert_array_equal(pieces.sizes, [25, 10])
    np.testing.assert_array_equal(pieces.labels, [1] * 10 + [0] * 25)


def test_pieces_of_equal_size_keep_the_order_of_the_samples():
    pairs = frozen(np.repeat(np.arange(6.0) * 100, 2)[:, None] + np.tile([0.0, 1.0], 6)[:, None])
    np.testing.assert_array_equal(connected_pieces(knn_graph(pairs, 1)).labels, np.repeat(np.arange(6), 2))


def test_one_direction_of_a_link_is_enough():
    assert connected_pieces(graph_of([[1], [0], [1], [2]])).count == 1


def graph_of(rows):
    """The graph whose rows list these neighbors, one apart from the next."""
    width = max([1, *map(len, rows)])
    indices = np.array([[*row, *[-1] * (width - len(row))] for row in rows])
    distances = np.where(indices >= 0, np.arange(1.0, width + 1), np.inf)
    return NeighborGraph(frozen(indices), frozen(distances), "given")


def test_rows_may_be_shorter_than_others_or_empty():
    pieces = connected_pieces(graph_of([[], [3, 4], [], [1], []]))
    np.testing.assert_array_equal(pieces.labels, [1, 0, 2, 0, 0])
    np.testing.assert_array_equal(pieces.sizes, [3, 1, 1])


def test_samples_without_any_link_are_pieces_of_one():
    np.testing.assert_array_equal(connected_pieces(graph_of([[], [], []])).labels, [0, 1, 2])


@st.composite
def ragged_graphs(draw):
    n = draw(st.integers(1, 12))
    rows = [draw(st.lists(st.integers(0, n - 1), max_size=3, unique=True)) for _ in range(n)]
    return graph_of([[other for other in row if other != i] for i, row in enumerate(rows)])


def links_of(graph):
    return sorted({(min(i, j), max(i, j)) for i, row in enumerate(graph.indices.tolist()) for j in row if j >= 0})


def count_pieces(n, links):
    """Number of connected pieces, by handing labels along the links until nothing changes."""
    labels = list(range(n))
    for _ in range(n):
        for i, j in links:
            labels[i] = labels[j] = min(labels[i], labels[j])
    return len(set(labels))


@given(ragged_graphs())
def test_pieces_are_as_many_as_by_following_the_links_and_none_has_a_link_to_another(graph):
    pieces = connected_pieces(graph)
    links = links_of(graph)
    assert pieces.count == count_pieces(graph.n_samples, links)
    assert all(pieces.labels[i] == pieces.labels[j] for i, j in links)
    np.testing.assert_array_equal(np.bincount(pieces.labels), pieces.sizes)
    first = [int(np.argmax(pieces.labels == label)) for label in range(pieces.count)]
    ranks = list(zip(-pieces.sizes, first, strict=True))
    assert ranks == sorted(ranks)


def test_samples_far_from_everyone_lose_their_links_and_nobody_else_does(roll):
    far = [[300.0, 0.0, 0.0], [0.0, 400.0, 0.0], [0.0, 401.0, 0.0]]
    graph = knn_graph(frozen(np.vstack([roll.X, far])), 6)
    assert connected_pieces(graph).count == 1
    cut = detach_outliers(graph)
    np.testing.assert_array_equal(connected_pieces(cut).sizes, [400, 2, 1])
    np.testing.assert_array_equal(cut.indices[:400], graph.indices[:400])
    # The pair keeps its own link alone, and rows are closed up.
    np.testing.assert_array_equal(cut.indices[-2:, 0], [402, 401])
    assert (cut.indices[-2:, 1:] == -1).all()
    assert np.isinf(cut.distances[-2:, 1:]).all()
    assert (cut.indices[400] == -1).all()


def test_clouds_without_outliers_keep_all_their_links(roll):
    rng = np.random.default_rng(0)
    for X in (roll.X, rng.normal(size=(500, 2)), rng.normal(size=(500, 8)), rng.random((300, 3))):
        graph = knn_graph(frozen(X), 6)
        assert detach_outliers(graph) is graph


def test_a_group_larger_than_a_neighborhood_stays_tied_however_far():
    rng = np.random.default_rng(0)
    # A sparse line of nine samples that leads away from a dense blob: it hangs by its own links into the blob.
    line = np.column_stack([np.arange(1, 10) * 5.0, np.zeros(9)])
    graph = knn_graph(frozen(np.vstack([rng.normal(size=(300, 2)) * 0.1, line])), 6)
    assert connected_pieces(detach_outliers(graph)).count == connected_pieces(graph).count == 1


def test_a_dense_spot_isolates_nobody_around_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    X[:9] = X[0] + 1e-12 * rng.normal(size=(9, 2))
    graph = knn_graph(frozen(X), 6)
    assert detach_outliers(graph) is graph


def test_an_outlier_does_not_hide_behind_a_small_far_group(roll):
    group = np.array([[90.0, 0, 0], [90.5, 0, 0], [90.0, 0.5, 0], [90.0, 0, 0.5]])
    graph = detach_outliers(knn_graph(frozen(np.vstack([roll.X, group, [[900.0, 900.0, 0.0]]])), 6))
    np.testing.assert_array_equal(connected_pieces(graph).sizes, [400, 4, 1])


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
def test_joining_edges_are_those_of_the_slow_rounds_even_among_ties(X, per_join, count, seed):
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


def test_edges_of_one_join_share_no_end_and_are_fewer_where_a_piece_has_fewer_samples():
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


def test_edges_are_added_in_both_directions_in_the_order_of_distances():
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


def test_an_edge_that_one_end_lists_already_is_added_at_the_other_only():
    joined = with_edges(graph_of([[1], [2], [1]]), frozen(np.array([[0, 1]])), frozen(np.array([1.0])))
    np.testing.assert_array_equal(joined.indices, [[1, -1], [0, 2], [1, -1]])


def test_no_edges_leave_the_graph_as_it_is():
    graph = graph_of([[1, 2], [0], [0]])
    same = with_edges(graph, np.empty((0, 2), dtype=np.intp), np.empty(0))
    np.testing.assert_array_equal(same.indices, graph.indices)
    np.testing.assert_array_equal(same.distances, graph.distances)


@given(lattice_clouds(min_samples=4, max_samples=20), st.integers(1, 3), st.integers(1, 3))
def test_a_graph_with_its_joining_edges_is_connected_and_keeps_its_own(X, k, per_join):
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


def test_a_hub_lists_only_so_many_edges_and_all_are_joined_to_it():
    far = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0, 2 * np.pi, 60, endpoint=False)])
    X = frozen(np.vstack([np.random.default_rng(0).normal(size=(20, 2)) * 1e-3, 100 * far]))
    graph = graph_of([[1, 2]] + [[0]] * 19 + [[]] * 60)
    links = np.column_stack([np.zeros(60, dtype=np.intp), np.arange(20, 80)])
    joined = with_edges(graph, links, np.linalg.norm(X[links[:, 1]], axis=1))
    assert joined.n_neighbors == 4
    assert connected_pieces(joined).count == 1
