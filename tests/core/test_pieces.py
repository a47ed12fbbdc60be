"""Pieces: every sample in exactly one, the largest first; isolated samples on their own."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hne.core.neighbors.graph import knn_graph
from hne.core.pieces.split import connected_pieces, detach_outliers
from hne.core.records import NeighborGraph
from tests.conftest import frozen


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
