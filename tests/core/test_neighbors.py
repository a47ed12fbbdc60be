"""NeighborGraph: ordered by distance then index, nobody its own neighbor; exact, or with a recall that holds."""

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hne import HNE
from hne.core.neighbors import approximate as _approximate
from hne.core.neighbors import exact as _exact
from hne.core.neighbors import graph as _graph
from hne.core.neighbors.exact import nearest
from hne.core.neighbors.graph import knn_graph
from hne.exceptions import InputError
from tests.conftest import frozen, lattice_clouds, one_fast
from tests.helpers import reference


@pytest.fixture(params=["tree", "brute"])
def method(request, monkeypatch):
    monkeypatch.setattr(_exact, "TREE_MAX_FEATURES", 100 if request.param == "tree" else 0)
    return request.param


@given(X=lattice_clouds(), k=st.integers(1, 4), brute=st.booleans())
def test_the_graph_is_the_oracles_even_among_ties_and_duplicates(X, k, brute):
    limit = _exact.TREE_MAX_FEATURES
    _exact.TREE_MAX_FEATURES = 0 if brute else 100
    try:
        graph = knn_graph(X, k)
    finally:
        _exact.TREE_MAX_FEATURES = limit
    np.testing.assert_array_equal(graph.indices, reference.neighbors(X, k))
    assert (graph.indices != np.arange(len(X))[:, None]).all()


def test_distances_ascend_and_belong_to_the_indices(cloud, method):
    graph = knn_graph(cloud, 5)
    assert graph.method == method
    assert (np.diff(graph.distances, axis=1) >= 0).all()
    expected = np.linalg.norm(cloud[graph.indices] - cloud[:, None], axis=2)
    # Distances are rounded to 41 bits, so that ties are ties.
    np.testing.assert_allclose(graph.distances, expected, rtol=1e-12)


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
    monkeypatch.setattr(_exact, "TREE_MAX_FEATURES", 100)
    np.testing.assert_array_equal(brute, knn_graph(wide, 6).indices)


def test_two_clusters_worlds_apart_do_not_lose_their_digits(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[20:] += 1e9
    np.testing.assert_array_equal(knn_graph(frozen(X), 3).indices, reference.neighbors(X, 3))


def test_rows_that_lost_their_digits_go_to_the_tree_and_ties_do_not(monkeypatch):
    built = []
    real = _exact._tree_search
    monkeypatch.setattr(_exact, "_tree_search", lambda *parts: built.append(True) or real(*parts))
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
    monkeypatch.setattr(_exact, "BLOCK_BYTES", 1)
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


@pytest.fixture
def faiss():
    return pytest.importorskip("faiss", reason="approximate search needs the extra: pip install 'hne[approx]'")


@pytest.fixture
def sheet():
    """Six thousand points of a curved surface in 20 dimensions."""
    rng = np.random.default_rng(3)
    flat = rng.random((6000, 2)) @ rng.normal(size=(2, 20))
    return frozen(np.sin(2 * flat) + flat)


def test_exact_graphs_have_a_recall_of_one(cloud, method):
    assert knn_graph(cloud, 5, neighbors="exact").recall == 1.0


def test_the_recall_that_is_told_is_that_of_all_rows(faiss, sheet):
    graph, exact = knn_graph(sheet, 8, neighbors="approximate"), knn_graph(sheet, 8, neighbors="exact")
    assert (graph.method, exact.method) == ("approximate", "brute")
    assert graph.recall >= _approximate.TARGET_RECALL
    true = (graph.indices[:, :, None] == exact.indices[:, None, :]).any(axis=1).mean()
    # 8000 neighbors of 1000 rows tell the share in all rows to about 0.002.
    assert graph.recall == pytest.approx(true, abs=0.01)


def test_approximate_rows_are_ordered_distinct_and_without_the_sample_itself(faiss, sheet):
    graph = knn_graph(sheet, 8, neighbors="approximate")
    assert (np.diff(graph.distances, axis=1) >= 0).all()
    assert (np.diff(np.sort(graph.indices, axis=1), axis=1) > 0).all()
    assert (graph.indices != np.arange(len(sheet))[:, None]).all()
    expected = np.linalg.norm(sheet[graph.indices] - sheet[:, None], axis=2)
    np.testing.assert_allclose(graph.distances, expected, rtol=1e-12)


def test_approximate_graphs_have_the_same_bits_for_any_number_of_threads_and_every_time(faiss, sheet, monkeypatch):
    # Small blocks, so that there is something to share out.
    monkeypatch.setattr(_exact, "BLOCK_BYTES", 2**20)
    monkeypatch.setattr(_approximate, "ASSIGN_ROWS", 512)
    first = knn_graph(sheet, 6, 1, "approximate", random_state=5)
    for n_threads in (1, 2, 3):
        again = knn_graph(sheet, 6, n_threads, "approximate", random_state=5)
        np.testing.assert_array_equal(first.indices, again.indices)
        np.testing.assert_array_equal(first.distances, again.distances)
        assert first.recall == again.recall


def test_the_seed_decides_the_approximate_graph(faiss):
    noise = frozen(np.random.default_rng(0).normal(size=(5000, 40)))
    one, other = (knn_graph(noise, 5, 1, "approximate", random_state=seed) for seed in (0, 1))
    assert (one.indices != other.indices).any()


def test_approximate_search_leaves_the_threads_of_faiss_as_they_were(faiss, sheet):
    before = faiss.omp_get_max_threads()
    knn_graph(sheet, 6, 1, "approximate")
    assert faiss.omp_get_max_threads() == before


def test_copies_by_the_hundred_get_distinct_neighbors_from_an_index_too(faiss):
    X = frozen(np.repeat(np.random.default_rng(0).normal(size=(30, 15)), 200, axis=0))
    graph = knn_graph(X, 6, neighbors="approximate")
    assert graph.method == "approximate"
    assert (graph.distances == 0).all()
    assert (graph.indices != np.arange(len(X))[:, None]).all()
    assert (np.diff(np.sort(graph.indices, axis=1), axis=1) > 0).all()
    # Copies are equally near, so any of them is a true neighbor.
    assert graph.recall == 1.0


def test_rows_whose_lists_are_too_short_are_searched_exactly(faiss, sheet, monkeypatch):
    monkeypatch.setattr(_approximate, "FIRST_PROBES", 1)
    monkeypatch.setattr(_approximate, "TARGET_RECALL", 0.0)
    # Lists of 20 samples on average, and 25 candidates a row: hardly a list has enough.
    graph, exact = knn_graph(sheet, 20, neighbors="approximate"), knn_graph(sheet, 20, neighbors="exact")
    assert graph.method == "approximate"
    assert np.isfinite(graph.distances).all()
    assert (np.diff(np.sort(graph.indices, axis=1), axis=1) > 0).all()
    assert (graph.indices == exact.indices).all(axis=1).mean() > 0.3


@pytest.mark.parametrize("scale", one_fast(1e-60, 1e60))
def test_units_make_no_difference_to_the_index(faiss, sheet, scale):
    graph = knn_graph(frozen(sheet * scale), 6, neighbors="approximate")
    assert graph.recall >= _approximate.TARGET_RECALL


@pytest.mark.parametrize(("n", "k"), one_fast((200, 5), (6000, 200)))
def test_where_an_index_is_of_no_use_exact_search_runs_and_says_so(sheet, n, k, caplog):
    with caplog.at_level(logging.INFO, "hne"):
        graph = knn_graph(sheet[:n], k, neighbors="approximate")
    assert (graph.method, graph.recall) == ("brute", 1.0)
    assert f"exact, because n = {n} is too small for an index with k = {k}" in caplog.text


def test_auto_is_exact_while_affordable_and_wherever_a_tree_serves(faiss, sheet, monkeypatch):
    assert knn_graph(sheet, 5).method == "brute"
    monkeypatch.setattr(_graph, "EXACT_MAX_PRODUCTS", 1e6)
    assert knn_graph(sheet, 5).method == "approximate"
    assert knn_graph(sheet, 5, neighbors="exact").method == "brute"
    assert knn_graph(sheet[:, :3], 5).method == "tree"


def test_auto_without_the_extra_is_exact_and_says_what_to_install(sheet, monkeypatch, caplog):
    monkeypatch.setattr(_graph, "EXACT_MAX_PRODUCTS", 1e6)
    monkeypatch.setattr(_graph, "find_spec", lambda name: None)
    assert knn_graph(sheet, 5).method == "brute"
    assert "exact search of n = 6000 with 20 features takes a while; pip install faiss-cpu" in caplog.text


def test_one_sample_alone_is_the_nearest_to_all(method):
    indices, distances, _ = nearest(np.array([[3.0, 4.0]]), np.zeros((2, 2)), 1)
    assert indices.tolist() == [[0], [0]]
    assert distances.tolist() == [[5.0], [5.0]]


def test_a_function_that_is_no_metric_is_called_by_its_name(cloud):
    def signed(x, y):
        return x[0] - y[0]

    with pytest.raises(InputError, match="metric=signed must give finite distances of zero and more, got -"):
        HNE(metric=signed).fit(cloud)


def test_parameters_that_a_metric_does_not_know_are_named_in_one_line(cloud):
    with pytest.raises(InputError, match=r"metric='hamming' must give .* got TypeError: .*or other metric_params\.$"):
        HNE(metric="hamming", metric_params={"p": 3}).fit(cloud)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_single_precision_proposes_and_double_decides(offset, monkeypatch):
    # Far groups of near samples: single precision cannot tell them apart, and hands over.
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 20)) + offset * np.repeat(np.eye(20)[:3], 100, axis=0)
    searched = []
    monkeypatch.setattr(
        _exact, "_brute_search", lambda *given, real=_exact._brute_search: (searched.append(1), real(*given))[1]
    )
    indices, distances, method = _exact.nearest(X, X, 6, np.arange(300), 2)
    truth = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(truth, np.inf)
    np.testing.assert_array_equal(indices, np.argsort(truth, axis=1)[:, :6])
    np.testing.assert_allclose(distances, np.sort(truth, axis=1)[:, :6], rtol=1e-11)
    assert method == "brute"
    assert bool(searched) == (offset > 0)
