"""Search in blocks: the bits of a search in all samples, whatever the cuts; approximate, a recall that holds."""

import functools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from hne._runtime.threads import limit_blas_threads
from hne.core.neighbors import approximate as _approximate
from hne.core.neighbors import blocked as _blocked
from hne.core.neighbors import exact as _exact
from hne.core.neighbors import graph as _graph
from hne.core.neighbors.blocked import blocked_search, cut_into_blocks, nearest_in_blocks
from hne.core.neighbors.graph import knn_graph, nearest_by
from hne.core.samples.canonical import estimated_params, unique_samples
from hne.datasets import make_swiss_roll
from tests.conftest import frozen


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Threads of libraries that wait for each other make small problems slow on a busy machine."""
    with limit_blas_threads(1):
        yield


def in_order(X):
    """Distinct samples, by their first coordinate, as the pipeline has them."""
    return frozen(X[unique_samples(X).index])


def evenly(X, count):
    return np.linspace(0, len(X), count + 1).astype(int)


def check_same(X, k, starts, metric="euclidean", params=None, n_threads=1):
    """The graph of all samples, put together from the blocks' rows, has the bits of one search."""
    whole = nearest_by(metric, params, X, X, k, np.arange(len(X)))
    blocks = cut_into_blocks(X, starts, metric, params)
    for start, stop in blocks.ranges:
        found = nearest_in_blocks(blocks, X[start:stop], k, np.arange(start, stop), n_threads)
        np.testing.assert_array_equal(found[0], whole[0][start:stop])
        np.testing.assert_array_equal(found[1], whole[1][start:stop])
        assert found[2] == whole[2]


def roll_of(n):
    return in_order(make_swiss_roll(n, random_state=0).X)


def digits():
    return in_order(load_digits().data[:400])


def whole_numbers(n_features, n=300, top=4):
    return in_order(np.random.default_rng(1).integers(0, top, (n, n_features)).astype(float))


def near_copies():
    rng = np.random.default_rng(2)
    X = np.repeat(rng.normal(size=(60, 3)), 5, axis=0)
    return in_order(X + 1e-9 * rng.normal(size=X.shape))


def outlier(n_features):
    X = np.random.default_rng(3).normal(size=(300, n_features))
    X[7, 1:] = 1e6
    return in_order(X)


def two_pieces(n_features):
    X = np.random.default_rng(4).normal(size=(300, n_features))
    X[150:] += 1e7
    return in_order(X)


CLOUDS = {
    "roll": lambda: roll_of(2000),
    "digits": digits,
    "lattice": lambda: whole_numbers(3, 60),
    "lattice of 13 features": lambda: whole_numbers(13, top=2),
    "near copies": near_copies,
    "outlier": lambda: outlier(3),
    "outlier of 20 features": lambda: outlier(20),
    "two pieces": lambda: two_pieces(3),
    "two pieces of 13 features": lambda: two_pieces(13),
    "one feature": lambda: in_order(np.random.default_rng(5).normal(size=(200, 1))),
    "unordered": lambda: frozen(np.random.default_rng(6).normal(size=(300, 3))),
    "unordered, 64 features": lambda: frozen(np.random.default_rng(6).normal(size=(300, 64))),
}


@pytest.mark.parametrize("name", CLOUDS)
def test_blocks_give_the_bits_of_a_search_in_all_samples(name):
    X = CLOUDS[name]()
    check_same(X, 6, evenly(X, 5))


@pytest.mark.parametrize("metric", ["cosine", "correlation", "sqeuclidean", "manhattan", "seuclidean", "hamming"])
@pytest.mark.parametrize("make", [digits, lambda: roll_of(400), lambda: whole_numbers(13, top=2)])
def test_blocks_give_the_bits_of_any_metric(make, metric):
    X = make()
    # Pixels that are always white have no variance to divide by.
    X = frozen(np.ascontiguousarray(X[:, X.var(axis=0) > 0]))
    check_same(X, 5, [0, 17, 100], metric, estimated_params(metric, None, X))


@pytest.mark.parametrize("starts", [range(24), [0, 1, 2, 20], [0, 23], [0], [0, 24], [0, 8, 8, 16]])
@pytest.mark.parametrize("k", [1, 6, 23])
@pytest.mark.parametrize("n_features", [3, 13])
def test_blocks_may_be_of_any_size_and_everybody_a_neighbor(n_features, k, starts):
    X = in_order(np.random.default_rng(0).normal(size=(24, n_features)))
    check_same(X, k, starts)


@pytest.mark.parametrize("metric", ["manhattan", "cosine"])
def test_blocks_of_one_sample_serve_any_metric(cloud, metric):
    check_same(cloud[:20], 19, range(20), metric)


@settings(max_examples=30)
@given(data=st.data(), n_features=st.integers(1, 3), brute=st.booleans())
def test_no_tie_is_lost_between_blocks(data, n_features, brute):
    n = data.draw(st.integers(4, 30))
    values = data.draw(st.lists(st.integers(-3, 3), min_size=n * n_features, max_size=n * n_features))
    X = frozen(np.array(values, dtype=float).reshape(n, n_features))
    starts = data.draw(st.lists(st.integers(0, n), max_size=6))
    limit = _exact.TREE_MAX_FEATURES
    _exact.TREE_MAX_FEATURES = 0 if brute else 100
    try:
        check_same(X, data.draw(st.integers(1, n - 1)), starts)
    finally:
        _exact.TREE_MAX_FEATURES = limit


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("n_features", [3, 20])
@pytest.mark.parametrize("count", [1, 5, 120])
def test_new_targets_find_the_same_as_in_one_search(count, n_features, metric):
    rng = np.random.default_rng(0)
    X, new = in_order(rng.normal(size=(500, n_features))), frozen(2 * rng.normal(size=(count, n_features)))
    found = nearest_in_blocks(cut_into_blocks(X, evenly(X, 6), metric), new, 7)
    whole = nearest_by(metric, None, X, new, 7)
    np.testing.assert_array_equal(found[0], whole[0])
    np.testing.assert_array_equal(found[1], whole[1])


def test_targets_may_be_any_rows_of_any_blocks():
    X = roll_of(1000)
    rows = np.random.default_rng(0).permutation(1000)[:300]
    found = nearest_in_blocks(cut_into_blocks(X, evenly(X, 7)), X[rows], 5, rows)
    whole = nearest_by("euclidean", None, X, X[rows], 5, rows)
    np.testing.assert_array_equal(found[0], whole[0])
    np.testing.assert_array_equal(found[1], whole[1])


def test_threads_and_small_questions_change_nothing(monkeypatch):
    monkeypatch.setattr(_exact, "TREE_MAX_BLOCK", 64)
    monkeypatch.setattr(_exact, "LIMIT_ROWS", 16)
    X = roll_of(1000)
    check_same(X, 6, evenly(X, 4), n_threads=3)


def test_samples_whose_squares_vanish_are_copies_in_every_block():
    X = frozen(np.array([[0.0, 1.0], [1e-170, 1.0], [2e-170, 1.0], [3e-170, 1.0], [1.0, 0.0]]))
    check_same(X, 2, [0, 1, 2, 3])


def test_on_a_roll_only_neighboring_blocks_are_read_and_of_those_little_is_searched(monkeypatch):
    X = roll_of(20_000)
    blocks = cut_into_blocks(X, evenly(X, 10))
    read, searched = [], []
    points, within = _blocked.Blocks.points, _blocked.nearest
    monkeypatch.setattr(
        _blocked.Blocks, "points", lambda self, number: read.append(self.ranges[number]) or points(self, number)
    )
    monkeypatch.setattr(_blocked, "nearest", lambda ours, *rest: searched.append(len(ours)) or within(ours, *rest))
    nearest_in_blocks(blocks, X[8000:10_000], 6, np.arange(8000, 10_000))
    assert read[0] == (8000, 10_000)
    assert sorted(read[1:]) == [(6000, 8000), (10_000, 12_000)]
    assert searched[0] == 2000
    assert max(searched[1:]) < 1500


def test_a_search_is_sent_to_other_processes_with_a_file_for_samples(tmp_path):
    np.save(tmp_path / "X.npy", roll_of(1000))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    search = blocked_search(X, evenly(X, 4), 6, tmp_path)
    assert search.blocks.X is X
    graph = knn_graph(X, 6)
    again = pickle.loads(pickle.dumps(search))
    indices, distances = again.rows(250, 500)
    np.testing.assert_array_equal(indices, graph.indices[250:500])
    np.testing.assert_array_equal(distances, graph.distances[250:500])
    assert type(indices) is type(distances) is np.ndarray
    assert (again.method, again.recall) == (graph.method, graph.recall) == ("tree", 1.0)
    assert [path.name for path in tmp_path.iterdir()] == ["X.npy"]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan"])
def test_a_blocked_graph_is_the_graph_whatever_rows_are_asked_for(tmp_path, metric):
    X = digits()[:300]
    search, graph = blocked_search(X, [0, 90, 210], 6, tmp_path, metric=metric), knn_graph(X, 6, metric=metric)
    parts = [search.rows(start, start + 100) for start in (0, 100, 200)]
    np.testing.assert_array_equal(np.concatenate([part[0] for part in parts]), graph.indices)
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), graph.distances)
    assert search.method == graph.method


@pytest.fixture
def faiss():
    return pytest.importorskip("faiss", reason="approximate search needs the extra: pip install 'hne[approx]'")


@functools.cache
def sheet():
    """Six thousand points of a curved surface in 20 dimensions."""
    rng = np.random.default_rng(3)
    flat = rng.random((6000, 2)) @ rng.normal(size=(2, 20))
    return in_order(np.sin(2 * flat) + flat)


CUTS = np.array([0, 1000, 1001, 2500, 4000])


def graph_of(search, n_threads=1):
    parts = [search.rows(start, stop, n_threads) for start, stop in search.blocks.ranges]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


@pytest.mark.parametrize(
    "metric",
    ["euclidean", pytest.param("cosine", marks=pytest.mark.slow), pytest.param("sqeuclidean", marks=pytest.mark.slow)],
)
def test_the_recall_that_is_told_is_that_of_all_rows(faiss, tmp_path, metric):
    X = sheet()
    search = blocked_search(X, CUTS, 8, tmp_path, "approximate", metric=metric)
    exact = knn_graph(X, 8, neighbors="exact", metric=metric)
    indices, distances = graph_of(search)
    assert search.method == "approximate"
    assert search.recall >= _approximate.TARGET_RECALL
    # 8000 neighbors of 1000 rows tell the share in all rows to about 0.002.
    assert search.recall == pytest.approx((distances <= exact.distances[:, -1:]).mean(), abs=0.01)
    # Where a neighbor was found, its distance has the bits of exact search.
    same = indices == exact.indices
    np.testing.assert_array_equal(distances[same], exact.distances[same])


def test_the_recall_that_is_told_is_that_of_its_sample(faiss, tmp_path, monkeypatch):
    monkeypatch.setattr(_approximate, "FIRST_PROBES", 2)
    monkeypatch.setattr(_approximate, "TARGET_RECALL", 0.0)
    X, random = sheet(), np.random.RandomState(4)
    search = blocked_search(X, CUTS, 8, tmp_path, "approximate", random_state=4)
    random.randint(_approximate.INT32_MAX)
    sample = np.sort(random.choice(len(X), 1000, replace=False))
    farthest = knn_graph(X, 8, neighbors="exact").distances[sample, -1:]
    assert search.n_probes == 2
    assert search.recall < 0.99
    assert search.recall == (graph_of(search)[1][sample] <= farthest).mean()


def test_approximate_rows_are_ordered_distinct_and_without_the_sample_itself(faiss, tmp_path):
    X = sheet()
    indices, distances = graph_of(blocked_search(X, CUTS, 8, tmp_path, "approximate"))
    assert (np.diff(distances, axis=1) >= 0).all()
    assert (np.diff(np.sort(indices, axis=1), axis=1) > 0).all()
    assert (indices != np.arange(len(X))[:, None]).all()
    np.testing.assert_allclose(distances, np.linalg.norm(X[indices] - X[:, None], axis=2), rtol=1e-12)


def backward(task, items):
    """A map that does the last first."""
    return reversed([task(item) for item in reversed(list(items))])


def in_threads(task, items):
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(task, items))


def sent(task, items):
    """A map over tasks, items and results that have been through pickle."""
    return [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(task))(item))) for item in items]


@pytest.mark.slow
def test_approximate_graphs_have_the_same_bits_in_any_order_of_work(faiss, tmp_path, monkeypatch):
    # Small blocks, so that there is something to share out.
    monkeypatch.setattr(_exact, "BLOCK_BYTES", 2**20)
    monkeypatch.setattr(_approximate, "ASSIGN_ROWS", 512)
    X = sheet()
    first = blocked_search(X, CUTS, 6, tmp_path / "first", "approximate", 5)
    indices, distances = graph_of(first)
    for number, (n_threads, map_tasks) in enumerate([(2, backward), (1, in_threads), (3, sent)]):
        folder = tmp_path / str(number)
        search = blocked_search(X, CUTS, 6, folder, "approximate", 5, map_tasks=map_tasks, n_threads=n_threads)
        again = graph_of(pickle.loads(pickle.dumps(search)), n_threads)
        np.testing.assert_array_equal(again[0], indices)
        np.testing.assert_array_equal(again[1], distances)
        assert (search.recall, search.n_probes) == (first.recall, first.n_probes)


def test_a_broken_run_goes_on_with_the_lists_that_are_there(faiss, tmp_path, monkeypatch):
    X = sheet()
    search = blocked_search(X, CUTS, 6, tmp_path, "approximate")
    expected = graph_of(search)
    search.lists.of_block(2).unlink()
    made = []
    write = _approximate.InvertedFile.write
    monkeypatch.setattr(
        _approximate.InvertedFile, "write", lambda self, path: made.append(path.name) or write(self, path)
    )
    resumed = graph_of(blocked_search(X, CUTS, 6, tmp_path, "approximate"))
    assert made == ["lists-00002.faiss"]
    np.testing.assert_array_equal(resumed[0], expected[0])
    np.testing.assert_array_equal(resumed[1], expected[1])


@pytest.mark.slow
def test_cuts_that_leave_blocks_without_some_of_the_lists_find_as_much(faiss, tmp_path):
    X = sheet()
    few = blocked_search(X, [0], 6, tmp_path / "few", "approximate")
    many = blocked_search(X, evenly(X, 20), 6, tmp_path / "many", "approximate")
    assert (many.n_probes, many.recall) == (few.n_probes, few.recall)
    # Products of matrices that are cut otherwise may swap lists whose centers are equally far.
    assert (graph_of(few)[0] == graph_of(many)[0]).mean() > 0.999


@pytest.mark.slow
def test_rows_whose_lists_are_too_short_are_searched_exactly(faiss, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(_approximate, "FIRST_PROBES", 1)
    monkeypatch.setattr(_approximate, "TARGET_RECALL", 0.0)
    X = sheet()
    # Lists of 20 samples on average, and 25 candidates a row: hardly a list has enough.
    search = blocked_search(X, CUTS, 20, tmp_path, "approximate")
    exact = knn_graph(X, 20, neighbors="exact")
    with caplog.at_level("INFO", "hne"):
        indices, distances = graph_of(search)
    assert "rows whose lists are too short are searched exactly" in caplog.text
    assert np.isfinite(distances).all()
    assert (np.diff(np.sort(indices, axis=1), axis=1) > 0).all()
    assert (indices == exact.indices).all(axis=1).mean() > 0.3


def test_the_search_is_chosen_as_for_one_graph(faiss, tmp_path, monkeypatch):
    X = sheet()
    assert blocked_search(X, CUTS, 5, tmp_path).method == "brute"
    assert blocked_search(X[:200], [0, 100], 5, tmp_path, "approximate").method == "brute"
    monkeypatch.setattr(_graph, "EXACT_MAX_PRODUCTS", 1e6)
    assert blocked_search(X, CUTS, 5, tmp_path).method == "approximate"
    assert blocked_search(X, CUTS, 5, tmp_path, "exact").method == "brute"
    assert blocked_search(X[:, :3], CUTS, 5, tmp_path).method == "tree"
