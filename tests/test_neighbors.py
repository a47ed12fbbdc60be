"""NeighborGraph: exact, ordered by distance then index, nobody its own neighbor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hne import _neighbors
from hne._neighbors import knn_graph, nearest
from tests import reference
from tests.conftest import frozen, lattice_clouds


@pytest.fixture(params=["tree", "brute"])
def method(request, monkeypatch):
    monkeypatch.setattr(_neighbors, "TREE_MAX_FEATURES", 100 if request.param == "tree" else 0)
    return request.param


@given(X=lattice_clouds(), k=st.integers(1, 4), brute=st.booleans())
def test_the_graph_is_the_oracles_even_among_ties_and_duplicates(X, k, brute):
    limit = _neighbors.TREE_MAX_FEATURES
    _neighbors.TREE_MAX_FEATURES = 0 if brute else 100
    try:
        graph = knn_graph(X, k)
    finally:
        _neighbors.TREE_MAX_FEATURES = limit
    np.testing.assert_array_equal(graph.indices, reference.neighbors(X, k))
    assert (graph.indices != np.arange(len(X))[:, None]).all()


def test_distances_ascend_and_belong_to_the_indices(cloud, method):
    graph = knn_graph(cloud, 5)
    assert graph.method == method
    assert (np.diff(graph.distances, axis=1) >= 0).all()
    expected = np.linalg.norm(cloud[graph.indices] - cloud[:, None], axis=2)
    np.testing.assert_allclose(graph.distances, expected, rtol=1e-14)


def test_many_duplicates_never_make_a_sample_its_own_neighbor(method):
    X = frozen(np.repeat(np.eye(3), 30, axis=0))
    graph = knn_graph(X, 4)
    assert (graph.indices != np.arange(90)[:, None]).all()
    assert (graph.distances == 0).all()
    # Equal distances go by index: the first sample's neighbors are the next four.
    np.testing.assert_array_equal(graph.indices[0], [1, 2, 3, 4])


def test_far_from_the_origin_brute_force_finds_what_the_tree_finds(cloud, monkeypatch):
    wide = frozen(np.hstack([cloud] * 5) + 1e8)
    assert knn_graph(wide, 6).method == "brute"
    brute = knn_graph(wide, 6).indices
    monkeypatch.setattr(_neighbors, "TREE_MAX_FEATURES", 100)
    np.testing.assert_array_equal(brute, knn_graph(wide, 6).indices)


def test_two_clusters_worlds_apart_do_not_lose_their_digits(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[20:] += 1e9
    np.testing.assert_array_equal(knn_graph(frozen(X), 3).indices, reference.neighbors(X, 3))


def test_rows_that_lost_their_digits_go_to_the_tree_and_ties_do_not(monkeypatch):
    built = []
    real = _neighbors._tree_search
    monkeypatch.setattr(_neighbors, "_tree_search", lambda *parts: built.append(True) or real(*parts))
    rng = np.random.default_rng(0)
    tied = (rng.random((200, 20)) > 0.5).astype(float)
    knn_graph(frozen(tied), 3)
    assert not built
    X = rng.normal(size=(200, 20))
    X[0] = 1e9
    np.testing.assert_array_equal(knn_graph(frozen(X), 3).indices, reference.neighbors(X, 3))
    assert built


def test_small_blocks_give_the_same_graph(cloud, method, monkeypatch):
    whole = knn_graph(cloud, 5)
    monkeypatch.setattr(_neighbors, "BLOCK_BYTES", 1)
    split = knn_graph(cloud, 5)
    np.testing.assert_array_equal(whole.indices, split.indices)
    np.testing.assert_array_equal(whole.distances, split.distances)


def test_every_other_sample_may_be_a_neighbor(cloud, method):
    graph = knn_graph(cloud[:6], 5)
    np.testing.assert_array_equal(np.sort(graph.indices, axis=1)[0], [1, 2, 3, 4, 5])


def test_targets_need_not_be_samples(cloud, method):
    targets = frozen(cloud[:4] + 0.01)
    indices, distances, _ = nearest(cloud, targets, 3)
    expected = np.argsort(np.linalg.norm(cloud - targets[:, None], axis=2), axis=1)[:, :3]
    np.testing.assert_array_equal(indices, expected)
    assert (distances[:, 0] > 0).all()
