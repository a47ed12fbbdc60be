"""Pieces: every sample in exactly one, the largest first."""

import numpy as np

from hne._neighbors import knn_graph
from hne._pieces import connected_pieces
from hne._types import NeighborGraph
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
    indices = frozen(np.array([[1], [0], [1], [2]]))
    pieces = connected_pieces(NeighborGraph(indices, np.ones((4, 1)), "tree"))
    assert pieces.count == 1
