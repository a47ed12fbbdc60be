"""Charts: lengths kept in the span of more eigenvectors than coordinates."""

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist, pdist

from hne import HNE, embed
from hne._chart._pairs import listed_pairs, near_pairs
from hne._chart._stress import Ways, farthest_first, landmark_scaling, relaxed, stressed
from hne._chart._unfolding import polished, stress_of, unfolded
from hne._circuits import edges_of
from hne._neighbors import knn_graph
from hne._types import ALONG_GRAPH, UNFOLDED
from hne.datasets import make_s_curve, make_swiss_hole, make_swiss_roll
from hne.metrics import affine_errors, procrustes_error


def error(Y, chart):
    return float(affine_errors(Y, chart).mean())


def band(n, seed):
    """A band 25 times as long as wide, wound around a cylinder three times."""
    u, v = np.random.default_rng(seed).random((2, n))
    t = 6 * np.pi * u
    return np.column_stack([2 * np.cos(t), 2 * np.sin(t), 1.5 * v + t / 2]), np.column_stack([2 * t, 1.5 * v])


def blobs(seed=0, n=60):
    rng = np.random.default_rng(seed)
    centers = 9 * rng.normal(size=(4, 7))
    return np.vstack([center + rng.normal(size=(n, 7)) for center in centers])


@pytest.fixture
def strip():
    """A rectangle of samples, and vectors in whose span it is: it turned, and squares and products of it."""
    Z = np.random.default_rng(3).random((200, 2)) * [4.0, 1.0]
    curved = np.column_stack([Z, Z[:, :1] ** 2, Z[:, :1] * Z[:, 1:], Z[:, 1:] ** 2])
    vectors, _ = np.linalg.qr(curved - curved.mean(axis=0))
    graph = knn_graph(Z, 8)
    return Z, vectors, graph


def test_pairs_within_two_hops_are_those_of_the_squared_graph(strip):
    Z, _, graph = strip
    pairs = near_pairs(Z, edges_of(graph))
    edges = edges_of(graph)
    hops = dijkstra(edges.matrix(np.ones(len(edges)), np.ones(len(edges), dtype=bool)), unweighted=True)
    expected = np.argwhere(np.triu((hops == 1) | (hops == 2)))
    assert np.column_stack([pairs.first, pairs.second]).tolist() == expected.tolist()
    assert np.allclose(pairs.lengths, np.linalg.norm(Z[pairs.first] - Z[pairs.second], axis=1))


def test_pairs_of_lists_alone_are_some_of_these(strip):
    Z, _, graph = strip
    both = {tuple(sorted(pair)) for pair in zip(*_ends(near_pairs(Z, edges_of(graph))), strict=True)}
    listed = {tuple(sorted(pair)) for pair in zip(*_ends(listed_pairs(Z, graph.indices)), strict=True)}
    assert listed <= both
    assert len(listed) > len(both) / 2


def _ends(pairs):
    return pairs.first.tolist(), pairs.second.tolist()


def test_a_flat_strip_in_the_span_is_found_exactly(strip):
    Z, vectors, graph = strip
    ratios = near_pairs(Z, edges_of(graph)).ratios(vectors)
    B, spectrum = unfolded(ratios, 2)
    Y = vectors @ polished(ratios, B)
    assert procrustes_error(Y, Z) < 1e-5
    assert np.allclose(pdist(Y), pdist(Z), rtol=0.02)
    assert spectrum[2] < 1e-3 * spectrum[1]
    assert (np.diff(spectrum) <= 0).all()


def test_polishing_lowers_the_stress(strip):
    Z, vectors, graph = strip
    ratios = near_pairs(Z, edges_of(graph)).ratios(vectors)
    start = 3 * np.eye(5)[:, :2]
    assert stress_of(ratios @ polished(ratios, start)) < stress_of(ratios @ start)
    assert stress_of(np.array([[3.0, 0.0], [0.0, 1.0]])) == pytest.approx(2.0)


def test_landmarks_of_exact_distances_give_the_samples_back():
    Z = np.random.default_rng(0).random((50, 2))
    ways = Ways(np.arange(10), cdist(Z[:10], Z))
    Y = landmark_scaling(ways, 2)
    assert np.allclose(pdist(Y), pdist(Z))
    assert ways.stress(Y) < 1e-20
    assert ways.stress(2 * Y) == pytest.approx(1.0)


def test_steps_along_the_graph_lower_its_stress():
    X = blobs()[:60]
    edges = edges_of(knn_graph(X, 8))
    lengths = np.linalg.norm(X[edges.smaller] - X[edges.larger], axis=1)
    ways = farthest_first(edges.matrix(lengths, np.ones(len(edges), dtype=bool)))
    vectors, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 6)))
    start = vectors.T @ landmark_scaling(ways, 2)
    B = stressed(vectors, ways, start)
    assert ways.stress(vectors @ B) < ways.stress(vectors @ start)
    assert ways.stress(relaxed(vectors @ B, ways)) < ways.stress(vectors @ B)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("roll", make_swiss_roll(300, random_state=11)),
        ("even roll", make_swiss_roll(300, even=True, random_state=12)),
        ("noisy roll", make_swiss_roll(600, noise=0.3, random_state=13)),
        ("hole", make_swiss_hole(400, random_state=14)),
        ("S-curve", make_s_curve(200, random_state=15)),
    ],
)
def test_sparse_surfaces_come_out_right_with_nothing_chosen(name, data):
    model = HNE().fit(data.X)
    assert error(model.embedding_, data.chart) < 0.05, name
    assert model.chart_.route == UNFOLDED
    # In the lengths of the surface, not up to an affine map alone.
    assert procrustes_error(model.embedding_, data.chart) < 0.05
    sizes = [np.linalg.norm(one - one.mean(axis=0)) for one in (model.embedding_, data.chart)]
    assert sizes[0] / sizes[1] == pytest.approx(1.0, abs=0.1)


def test_a_long_band_is_more_than_its_first_eigenvectors():
    X, chart = band(900, 5)
    assert error(embed(X).Y, chart) < 0.05
    assert error(embed(X, coordinates="rescaled").Y, chart) > 0.3


def test_two_rolls_side_by_side_are_both_right():
    one, other = (make_swiss_roll(300, random_state=seed) for seed in (11, 21))
    with pytest.warns(match="2 pieces"):
        Y = HNE().fit_transform(np.vstack([one.X, other.X + np.array([0, 60, 0])]))
    assert error(Y[:300], one.chart) < 0.05
    assert error(Y[300:], other.chart) < 0.05


def test_right_edges_that_were_cut_beside_a_hole_are_put_back():
    hole = make_swiss_hole(400, random_state=7009)
    result = embed(hole.X)
    assert result.chart.n_put_back > 0
    assert error(result.Y, hole.chart) < 0.01


def test_a_chart_has_no_more_stress_than_what_it_could_have_been():
    roll = make_swiss_roll(400, random_state=3)
    result = embed(roll.X)
    pairs = near_pairs(result.core.X, edges_of(result.core.graph))
    ratios = pairs.ratios(result.eigenpairs.vectors[:, :2])
    first, _ = unfolded(ratios, 2)
    assert result.chart.stress <= stress_of(ratios @ polished(ratios, first)) + 1e-12


@pytest.mark.filterwarnings("ignore::hne.exceptions.DisconnectedGraphWarning")
def test_clusters_go_along_the_graph_in_the_size_that_they_have():
    X = blobs()
    result = embed(X, pieces="join", n_neighbors=12)
    assert result.chart.route == ALONG_GRAPH
    assert 0 < result.chart.way_stress < 0.2
    radii = [np.sqrt(((one - one.mean(axis=0)) ** 2).sum(axis=1).mean()) for one in (result.Y, X)]
    assert radii[0] < 1.1 * radii[1]


@pytest.mark.parametrize("data", [make_swiss_roll(250, random_state=1).X, blobs()], ids=["roll", "blobs"])
@pytest.mark.filterwarnings("ignore::hne.exceptions.DisconnectedGraphWarning")
def test_the_same_bits_for_any_order_of_samples_any_threads_and_twice_in_a_row(data):
    order = np.random.default_rng(0).permutation(len(data))
    Y = HNE(n_jobs=1).fit_transform(data)
    assert np.array_equal(Y, HNE(n_jobs=1).fit_transform(data))
    assert np.array_equal(Y, HNE(n_jobs=2).fit_transform(data))
    assert np.array_equal(Y[order], HNE(n_jobs=2).fit_transform(data[order]))


def test_fitted_samples_land_on_themselves_and_new_ones_near_their_place(tmp_path):
    roll = make_swiss_roll(800, random_state=2)
    model = HNE().fit(roll.X[:700])
    assert np.array_equal(model.transform(roll.X[:700]), model.embedding_)
    both = np.vstack([model.embedding_, model.transform(roll.X[700:])])
    assert error(both, roll.chart) < 0.01
    back = model.inverse_transform(model.transform(roll.X[700:]))
    assert np.abs(back - roll.X[700:]).mean() < 0.5
    model.save(tmp_path / "roll.hne")
    loaded = HNE.load(tmp_path / "roll.hne")
    assert np.array_equal(loaded.embedding_, model.embedding_)
    assert np.array_equal(loaded.transform(roll.X[700:]), model.transform(roll.X[700:]))
    assert np.array_equal(loaded.short_circuits_, model.short_circuits_)
    assert (loaded.chart_.route, loaded.chart_.stress) == (model.chart_.route, model.chart_.stress)
    assert np.array_equal(loaded.chart_.B, model.chart_.B)
    assert np.array_equal(loaded.chart_.spectrum, model.chart_.spectrum)


def test_charts_have_the_units_of_the_samples():
    roll = make_swiss_roll(300, even=True)
    one, other = HNE().fit(roll.X), HNE().fit(1024 * roll.X)
    assert np.allclose(1024 * one.embedding_, other.embedding_)
    assert np.allclose(1024 * one.chart_.B, other.chart_.B)
    assert np.allclose(1024**2 * one.chart_.spectrum, other.chart_.spectrum)
    assert one.chart_.stress == pytest.approx(other.chart_.stress)


def test_no_chart_where_none_is_asked_for():
    roll = make_swiss_roll(200, even=True)
    for coordinates in ("rescaled", "eigenvectors"):
        model = HNE(coordinates=coordinates).fit(roll.X)
        assert model.chart_ is None
        assert model.eigenvalues_.shape == (2,)
