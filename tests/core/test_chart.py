"""Charts: exact where the span holds the truth, never worse than what they start from, and theirs to the bit."""

import logging
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy.linalg import null_space
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import ortho_group
from sklearn.datasets import load_digits, load_iris, load_wine

from hne import HNE, PUBLISHED, embed
from hne.core.chart import chart as _chart
from hne.core.chart.chart import POORLY_KEPT, Piece, chart_of, unfolded_chart
from hne.core.chart.lengths import SPREADING, Pairs, Ratios, listed_pairs, near_pairs, polish, unfold
from hne.core.chart.ways import Net, Ways, farthest_first, landmark_scaling, minimize_stress, relax
from hne.core.neighbors.edges import edges_of
from hne.core.neighbors.graph import knn_graph
from hne.core.records import ALONG_GRAPH, FIRST_EIGENVECTORS, UNFOLDED, Charts, NeighborGraph
from hne.core.tangent.score import LocalGeometry
from hne.datasets import make_punctured_sphere, make_swiss_hole, make_swiss_roll
from hne.metrics import affine_errors, procrustes_error
from hne.settings import Settings
from tests.conftest import advised, frozen, lattice_clouds, one_fast
from tests.core.test_short_circuits import above, folded_sheet, given_graph

NO_CUTS = np.empty((0, 2), dtype=np.intp)


@pytest.fixture(scope="module")
def strip():
    """Points of a plane strip, three times as long as wide."""
    return frozen(np.random.default_rng(0).random((150, 2)) * [3.0, 1.0])


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(300, even=True, random_state=1)


@pytest.fixture(scope="module")
def model(roll):
    return HNE().fit(roll.X)


@pytest.fixture(scope="module")
def table():
    """Four heaps in eight dimensions."""
    rng = np.random.default_rng(1)
    return frozen(rng.normal(size=(160, 8)) + np.repeat(rng.normal(size=(4, 8)), 40, axis=0))


@pytest.fixture(scope="module")
def table_model(table):
    return HNE(coordinates="chart").fit(table)


def spanned(*columns):
    """Unit vectors that span these columns, centered, and no two of them the columns."""
    V = np.column_stack(columns)
    Q, _ = np.linalg.qr(V - V.mean(axis=0))
    return Q @ ortho_group.rvs(Q.shape[1], random_state=2)


def rows_of(pairs, vectors):
    """Differences of vectors in units of the distance of each pair, (p, m)."""
    return (vectors[pairs.first] - vectors[pairs.second]) / pairs.lengths[:, None]


def of_neighbors(X, k=6, **limits):
    """Pairs within two hops among the nearest."""
    return near_pairs(X, edges_of(knn_graph(X, k)), **limits)


# Pairs


def within_two_hops(edges, n):
    """Pairs within two hops, by loops."""
    near = [set() for _ in range(n)]
    for one, other in edges:
        near[one].add(int(other))
        near[other].add(int(one))
    found = set()
    for sample in range(n):
        reached = near[sample].union(*(near[other] for other in near[sample]))
        found |= {(sample, other) for other in reached if other > sample}
    return found


@settings(max_examples=10)
@given(lattice_clouds(min_samples=8))
def test_near_pairs_are_those_within_two_hops_each_once(cloud):
    X = np.unique(cloud, axis=0)
    edges = edges_of(knn_graph(X, min(3, len(X) - 1)))
    pairs = near_pairs(X, edges)
    found = list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert found == sorted(within_two_hops(edges.pairs, len(X)))
    np.testing.assert_allclose(pairs.lengths, np.linalg.norm(X[pairs.first] - X[pairs.second], axis=1), rtol=1e-12)


def test_of_many_pairs_some_are_drawn_each_once(strip):
    everyone, some = of_neighbors(strip), of_neighbors(strip, max_pairs=300)
    assert len(everyone.first) > 1000
    assert 250 < len(some.first) < 350
    drawn, known = ({frozenset(pair) for pair in zip(p.first, p.second, strict=True)} for p in (some, everyone))
    assert len(drawn) == len(some.first)
    assert drawn < known


def test_of_many_samples_some_begin_all_pairs_that_they_are_in(strip):
    drawn = set(np.random.RandomState(0).choice(150, 10, replace=False).tolist())
    pairs = of_neighbors(strip, pairs_a_sample=4000)
    edges = edges_of(knn_graph(strip, 6)).pairs
    found = [tuple(sorted(pair)) for pair in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)]
    assert sorted(found) == sorted(pair for pair in within_two_hops(edges, 150) if drawn & set(pair))


def test_pairs_of_lists_are_near_pairs_and_all_of_them_where_neighbors_list_each_other(strip):
    lists = knn_graph(strip, 6).indices
    # Every fourth of a ring is listed by whom it lists.
    ring = (np.arange(40)[:, None] + [1, -1, 2, -2]) % 40
    for X, indices, is_mutual in ((strip, lists, False), (strip[:40], ring, True)):
        graph = NeighborGraph(indices, np.zeros(indices.shape), "given")
        known, found = (
            {frozenset(pair) for pair in zip(pairs.first, pairs.second, strict=True)}
            for pairs in (near_pairs(X, edges_of(graph)), listed_pairs(X, indices))
        )
        assert found == known if is_mutual else found < known
        listed = listed_pairs(X, indices)
        np.testing.assert_allclose(listed.lengths, np.linalg.norm(X[listed.first] - X[listed.second], axis=1))


def test_lists_end_where_neighbors_are_absent(strip):
    lists = np.array([[1, -1], [2, -1], [-1, -1]])
    pairs = listed_pairs(strip[:3], lists)
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]


def test_samples_at_one_place_are_no_pair():
    X = np.array([[0.0, 0.0], [1e-160, 0.0], [3.0, 4.0]])
    pairs = near_pairs(X, edges_of(NeighborGraph(np.array([[1], [2], [1]]), np.ones((3, 1)), "given")))
    assert pairs.lengths.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("count", [2, 8, 19])
def test_ratios_are_differences_in_units_of_the_distance_in_blocks_of_eight(count):
    rng = np.random.default_rng(count)
    vectors, pairs = rng.normal(size=(30, 3)), Pairs(*rng.integers(0, 30, (2, count)), rng.random(count) + 0.5)
    blocks = Ratios(pairs, vectors).blocks
    assert blocks.shape == (-(-count // 8), 3, 8)
    rows = blocks.transpose(0, 2, 1).reshape(-1, 3)
    np.testing.assert_array_equal(rows[:count], rows_of(pairs, vectors))
    assert (rows[count:] == 0).all()


def test_of_many_pairs_a_few_unfold(strip):
    ratios = Ratios(of_neighbors(strip), spanned(*strip.T))
    assert ratios.few is ratios
    twice = Pairs(*(np.tile(part, 2) for part in vars(ratios.pairs).values()))
    some = Ratios(twice, ratios.vectors).few.pairs
    assert len(some.first) == 2000 < len(twice.first)
    assert len(set(zip(some.first, some.second, strict=True))) > 1000


# Unfolding


@pytest.mark.parametrize("kind", ["the plane", "and waves of it", "and powers of it"])
def test_where_the_span_holds_a_plane_the_chart_is_that_plane(strip, kind):
    x, y = strip.T
    more = {"the plane": [], "and waves of it": [np.sin(x), np.cos(2 * x)], "and powers of it": [x**2, x**3]}
    vectors, pairs = spanned(x, y, *more[kind]), of_neighbors(strip)
    ratios = Ratios(pairs, vectors)
    B, values = unfold(ratios, 2)
    Y = vectors @ polish(ratios, B)[0]
    np.testing.assert_allclose(pdist(Y), pdist(strip), atol=1e-5)
    assert procrustes_error(Y, strip) < 1e-9
    # Two directions carry all of it.
    assert len(values) == vectors.shape[1]
    assert (values[2:] < 1e-3 * values[1]).all()


def test_unfolding_is_the_least_of_its_objective(strip):
    x, y = strip.T
    given = Ratios(of_neighbors(strip), spanned(np.sin(x), x + 0.1 * y**2, y))
    ratios = rows_of(given.pairs, given.vectors)
    scale = 1 / np.sqrt((ratios**2).mean(axis=0))

    def objective(P):
        # The trace in units of the columns: P_cc / s_c^2, each counting (s_c / max s)^2.
        kept = np.array([a @ P @ a - 1 for a in ratios])
        return (kept**2).mean() / 2 - SPREADING * np.trace(P) / scale.max() ** 2

    B, values = unfold(given, 3)
    P = B @ B.T
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(P))[::-1], values, rtol=1e-9, atol=1e-9 * values[0])
    rng = np.random.default_rng(3)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(20):
            other = B + size * np.sqrt(values[0]) * rng.normal(size=(3, 3)) @ np.diag(rng.random(3))
            assert objective(other @ other.T) >= objective(P) - 1e-6 * abs(objective(P))


def test_a_vector_that_is_the_same_wherever_pairs_are_tells_nothing(strip):
    vectors = np.column_stack([spanned(*strip.T), np.repeat([1.0, -1.0], 75)])
    pairs = of_neighbors(strip)
    within = Pairs(*(part[(pairs.first < 75) == (pairs.second < 75)] for part in vars(pairs).values()))
    B, values = unfold(Ratios(within, vectors), 2)
    assert (B[2] == 0).all()
    assert values[2] == 0.0


@settings(max_examples=10)
@given(lattice_clouds(min_samples=8))
def test_polishing_lowers_the_stress_from_anywhere(cloud):
    X = np.unique(cloud, axis=0)
    assume(len(X) > 5)
    vectors = np.random.default_rng(len(X)).normal(size=(len(X), 4))
    ratios = Ratios(of_neighbors(X, min(3, len(X) - 1)), vectors)
    for seed in range(3):
        B = np.random.default_rng(seed).normal(size=(4, 2))
        polished, stress = polish(ratios, B)
        assert stress <= ratios.stress(B) * (1 + 1e-9) + 1e-12
        assert stress == pytest.approx(ratios.stress(polished), abs=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 7])
def test_stress_is_the_mean_square_of_how_much_longer_pairs_are(strip, d):
    rng = np.random.default_rng(d)
    pairs, vectors, B = of_neighbors(strip), rng.normal(size=(150, 6)), rng.normal(size=(6, d))
    lengths = np.linalg.norm(rows_of(pairs, vectors) @ B, axis=1)
    assert Ratios(pairs, vectors).stress(B) == pytest.approx(np.mean((lengths - 1) ** 2), rel=1e-12)
    np.testing.assert_allclose(pairs.times(vectors @ B), lengths, rtol=1e-12)


def test_a_chart_has_no_more_stress_than_the_first_eigenvectors_unfolded(model):
    for result in (model._fitted, embed(make_swiss_roll(300, noise=0.6, random_state=3).X)):
        vectors, pairs = result.eigenpairs.vectors, near_pairs(result.core.X, edges_of(result.core.graph))
        chart = unfolded_chart(Piece(result.core.X, result.core.graph, NO_CUTS, vectors), 2)
        first, ratios = Ratios(pairs, vectors[:, :2]), Ratios(pairs, vectors)
        assert chart.stress <= polish(first, unfold(first, 2)[0])[1]
        assert chart.stress <= ratios.stress(unfold(ratios, 2)[0])
        assert chart.stress == pytest.approx(ratios.stress(chart.B))


# Ways


def path(lengths):
    """The graph of samples in a row."""
    steps = np.arange(len(lengths))
    ends = np.concatenate([steps, steps + 1]), np.concatenate([steps + 1, steps])
    matrix = csr_array((np.tile(lengths, 2), ends), shape=(len(lengths) + 1,) * 2)
    return Net(matrix.indptr.astype(np.intp), matrix.indices.astype(np.intp), matrix.data)


def test_landmarks_begin_at_an_end_and_each_next_is_farthest_from_all_before():
    ways = farthest_first(path([1.0, 1.0, 1.0, 1.0]))
    assert ways.landmarks.tolist() == [4, 0, 2, 1, 3]
    assert ways.lengths[0].tolist() == [4, 3, 2, 1, 0]
    ways = farthest_first(path([1.0, 2.0, 4.0]))
    assert (ways.landmarks[0], ways.lengths[0].max()) == (3, 7.0)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ways_are_the_shortest(strip, n_threads):
    edges = edges_of(knn_graph(strip, 6))
    lengths = np.linalg.norm(strip[edges.smaller] - strip[edges.larger], axis=1)
    starts, columns, numbers = edges.entries(np.ones(len(edges), dtype=bool))
    ways = farthest_first(Net(starts, columns, lengths[numbers]), n_threads)
    assert len(ways.landmarks) == 100
    known = dijkstra(edges.matrix(lengths, np.ones(len(edges), dtype=bool)), indices=ways.landmarks)
    np.testing.assert_allclose(ways.lengths, known, rtol=1e-14)
    for count in range(1, 100):
        nearest = known[:count].min(axis=0)
        assert nearest[ways.landmarks[count]] == pytest.approx(nearest.max())


def test_ways_pull_as_loops_say(strip):
    ways, rng = exact_ways(strip, 7), np.random.default_rng(13)
    Y, places = rng.normal(size=(150, 3)), rng.normal(size=(7, 3))
    at_samples, at_landmarks = np.zeros((150, 3)), np.zeros((7, 3))
    for landmark in range(7):
        for sample in range(150):
            apart = Y[sample] - places[landmark]
            counted = ways.weights[landmark, sample] * ways.lengths[landmark, sample]
            force = counted * apart / np.linalg.norm(apart)
            at_samples[sample] += force
            at_landmarks[landmark] -= force
    for found, known in zip(ways.pulls(Y, places), (at_samples, at_landmarks), strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-12)


def test_samples_at_one_place_are_one_landmark():
    assert farthest_first(path([1.0, 0.0])).landmarks.tolist() == [1, 0]


def test_ways_count_by_their_length_and_those_of_none_not_at_all():
    ways = Ways(np.array([0]), np.array([[0.0, 4.0, 0.25]]))
    assert ways.weights.tolist() == [[0.0, 0.25, 4.0]]
    # Distances 0, 3 and 0.25 are nearest to 0, 4 and 0.25 when drawn 13 / 10 times as large: 3.9 and 0.325.
    Y = np.array([[0.0], [3.0], [0.25]])
    assert ways.stress(Y) == pytest.approx((0.01 / 4 + 4 * 0.075**2) / (4 + 0.25))
    assert ways.stress(7 * Y) == pytest.approx(ways.stress(Y))


@pytest.mark.parametrize("n_landmarks", [3, 20, 150])
def test_landmark_scaling_of_exact_distances_gives_the_points(strip, n_landmarks):
    landmarks = np.arange(n_landmarks)
    Y = landmark_scaling(Ways(landmarks, cdist(strip[landmarks], strip)), 2)
    np.testing.assert_allclose(pdist(Y), pdist(strip), atol=1e-10)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-12)


def test_an_axis_that_is_rounding_stays_empty():
    line = np.arange(40.0)
    lengths = np.abs(line[:, None] - line)
    landmarks = np.array([0, 39, 20, 10, 30, 5, 15, 25, 35, 2, 7, 12])
    Y = landmark_scaling(Ways(landmarks, lengths[landmarks]), 2)
    np.testing.assert_allclose(np.abs(Y[:, 0]), np.abs(line - line.mean()), atol=1e-9)
    np.testing.assert_array_equal(Y[:, 1], 0)


def test_landmarks_on_a_line_leave_the_second_axis_empty():
    t = np.array([0.0, 1.0, 3.0, 7.0])
    ways = Ways(np.array([0, 3]), np.abs(t[[0, 3], None] - t))
    Y = landmark_scaling(ways, 3)
    np.testing.assert_allclose(pdist(Y[:, :1]), pdist(t[:, None]), atol=1e-12)
    np.testing.assert_allclose(Y[:, 1:], 0, atol=1e-7)


def exact_ways(X, n_landmarks=30):
    """Straight ways from the first samples."""
    return Ways(np.arange(n_landmarks), cdist(X[:n_landmarks], X))


def test_the_best_map_of_the_vectors_is_found_where_it_keeps_all_ways(strip):
    x, y = strip.T
    vectors, ways = spanned(x, y, x**2, np.sin(3 * y)), exact_ways(strip)
    start = vectors.T @ (strip + 0.2 * np.random.default_rng(4).normal(size=strip.shape))
    Y = vectors @ minimize_stress(vectors, ways, start)
    assert ways.stress(Y) < 1e-6 < ways.stress(vectors @ start)
    np.testing.assert_allclose(pdist(Y), pdist(strip), atol=0.01)


def test_majorization_lowers_the_stress_from_anywhere(table):
    vectors, ways = spanned(*table.T), exact_ways(table)
    for seed in range(3):
        start = np.random.default_rng(seed).normal(size=(8, 2))
        assert ways.stress(vectors @ minimize_stress(vectors, ways, start)) < 0.5 * ways.stress(vectors @ start)


def test_relaxing_lowers_the_stress_of_what_leaves_the_span(strip):
    ways = exact_ways(strip)
    moved = strip + 0.05 * np.random.default_rng(5).normal(size=strip.shape)
    assert ways.stress(relax(moved, ways, 10)) < 0.2 * ways.stress(moved)
    np.testing.assert_allclose(relax(np.array(strip), ways, 10), strip, atol=1e-9)


def test_samples_that_fall_onto_a_landmark_stay_numbers(strip):
    ways = exact_ways(strip)
    Y = relax(np.zeros_like(strip), ways, 10)
    vectors = spanned(*strip.T)
    assert np.isfinite(Y).all()
    assert np.isfinite(minimize_stress(vectors, ways, np.zeros((2, 2)))).all()


# Charts of pieces


def test_a_chart_lies_along_its_axes_around_zero_and_is_the_map_of_its_vectors(roll, model):
    Y, chart = model.embedding_, model.chart_
    assert (chart.route, np.isnan(chart.way_stress)) == (UNFOLDED, True)
    covariance = Y.T @ Y
    assert abs(covariance[0, 1]) < 1e-9 * covariance[0, 0]
    assert covariance[0, 0] > covariance[1, 1]
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-9)
    assert (Y[np.abs(Y).argmax(axis=0), [0, 1]] > 0).all()
    vectors = model._fitted.eigenpairs.vectors[model._fitted.distinct.inverse]
    assert vectors.shape == (300, 20)
    np.testing.assert_allclose(vectors @ chart.B, Y, atol=1e-9 * np.abs(Y).max())
    assert (np.diff(chart.spectrum) <= 0).all()
    assert procrustes_error(Y, roll.chart) < 0.001


def test_distances_and_aspect_ratio_are_those_of_the_surface():
    roll = make_swiss_roll(2000, random_state=100)
    Y = embed(roll.X, n_neighbors=8, reg=1e-4, assess=False).Y
    assert np.median(np.abs(pdist(Y) / pdist(roll.chart) - 1)) < 0.03
    spread, true = (np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False) for Z in (Y, roll.chart))
    assert spread[0] / spread[1] == pytest.approx(true[0] / true[1], rel=0.02)


def test_a_chart_needs_only_distances_within_two_steps_of_the_graph():
    line = np.arange(60.0)
    near = squareform(pdist(line[:, None]))
    graph = csr_array(np.where(near <= 4, near, 0.0))
    Y = HNE(2, n_components=1, metric="precomputed", coordinates="chart").fit_transform(graph)[:, 0]
    np.testing.assert_allclose(Y * np.sign(Y[-1]), line - line.mean(), atol=1e-3)


def test_a_long_band_is_right_where_the_first_two_eigenvectors_are_not():
    u, v = np.random.default_rng(2).random((2, 500))
    t = 4 * np.pi * u
    X = np.column_stack([2 * np.cos(t), 2 * np.sin(t), 1.5 * v + t / 2])
    truth = np.column_stack([2 * t, 1.5 * v])
    result = embed(X)
    assert affine_errors(result.Y, truth).max() < 0.05
    assert affine_errors(result.eigenpairs.vectors[:, :2], truth).max() > 0.5
    assert affine_errors(embed(X, **PUBLISHED).Y, truth).max() > 0.5


@pytest.mark.parametrize("seed", one_fast(21, 22))
def test_right_edges_beside_a_hole_are_put_back(seed, monkeypatch, caplog):
    hole = make_swiss_hole(300, random_state=seed)
    caplog.set_level(logging.INFO, logger="hne")
    model = HNE().fit(hole.X)
    count = model.chart_.n_put_back
    assert 0 < count < len(model.short_circuits_)
    assert f"chart: {count} of {len(model.short_circuits_)} edges that were cut are put back" in caplog.text
    assert affine_errors(model.embedding_, hole.chart).mean() < 0.005
    monkeypatch.setattr(_chart, "CLOSABLE", ())
    without = HNE().fit(hole.X)
    assert without.chart_.n_put_back == 0
    assert affine_errors(without.embedding_, hole.chart).mean() > 0.04
    # Those are put back that a chart without them draws the shortest, and they are right.
    one, other = without.short_circuits_.T
    drawn, given_length, true = (
        np.linalg.norm(Y[one] - Y[other], axis=1) for Y in (without.embedding_, hole.X, hole.chart)
    )
    back = np.argsort(drawn / given_length)[:count]
    assert (true[back] < 1.5 * given_length[back]).all()


def test_edges_are_put_back_by_groups_and_none_without_which_lengths_are_kept_better():
    X, chart, lists = folded_sheet()
    s, v = chart.T
    graph = given_graph(X, lists)
    vectors = spanned(s, v, s**2, s * v)
    # Near the bend, a way around an edge from flat to flat is less than four times as long.
    row = int(np.argmin(np.linalg.norm(chart - [5.2, 1.6], axis=1)))
    wrong = np.array([[row, above(X, row)]])
    right = np.array([[30, 50], [200, 220]])
    times = [np.linalg.norm(chart[i] - chart[j]) / np.linalg.norm(X[i] - X[j]) for i, j in (*wrong, *right)]
    assert 2.5 < times[0] < 4
    assert max(times[1:]) < 1.1
    for cut, count in ((wrong, 0), (right, 2), (np.vstack([right, wrong]), 2)):
        found = unfolded_chart(Piece(X, graph, np.sort(cut, axis=1), vectors), 2)
        assert found.n_put_back == count
        assert found.stress < 0.01


def test_wrong_edges_are_not_put_back():
    roll = make_swiss_roll(300, random_state=2)
    model = HNE().fit(roll.X)
    assert len(model.short_circuits_) > 50
    one, other = model.short_circuits_.T
    true, given_length = (np.linalg.norm(Y[one] - Y[other], axis=1) for Y in (roll.chart, roll.X))
    assert model.chart_.n_put_back <= np.count_nonzero(true < 1.5 * given_length)


def test_heaps_are_not_unfold(table, table_model):
    chart = table_model.chart_
    assert chart.route != UNFOLDED
    assert 0 < chart.way_stress < 0.5
    assert (len(chart.B), chart.n_put_back) == (20, 0)
    assert str(chart) == f"{chart.route} from 20 eigenvectors, stress {chart.stress:.2g}"
    # Each sample among its own heap.
    near = np.argsort(squareform(pdist(table_model.embedding_)), axis=1)[:, 1:6]
    assert (near // 40 == np.arange(160)[:, None] // 40).mean() > 0.6


@pytest.mark.parametrize("name", ["heaps", *one_fast("iris", "wine", "digits")])
def test_charts_of_tables_have_the_scale_of_their_samples(name, table):
    tables = {"heaps": lambda: table, "iris": lambda: load_iris().data, "wine": lambda: load_wine().data}
    tables["digits"] = lambda: load_digits().data
    X = tables[name]()
    X = X[np.random.default_rng(6).choice(len(X), 95, replace=False)]
    X = np.unique(X / np.maximum(X.std(axis=0), 1e-3), axis=0)
    result = embed(X, pieces="join", coordinates="chart")
    assert result.chart.route == ALONG_GRAPH
    drawn, true = pdist(result.Y), pdist(X)
    # All samples are landmarks: by least squares, no other size is nearer to the distances.
    assert (drawn @ true) / (drawn @ drawn) == pytest.approx(1.0)
    assert (drawn**2).sum() <= (true**2).sum()


def test_pieces_have_charts_of_their_own():
    rolls = [make_swiss_roll(n, even=True, random_state=n) for n in (250, 300)]
    X = np.vstack([rolls[0].X, rolls[1].X + np.array([0.0, 90.0, 0.0]), 500 + np.eye(3)])
    with advised():
        result = embed(X)
    charts = result.core.charts
    assert [chart and chart.route for chart in charts] == [UNFOLDED, UNFOLDED, None]
    np.testing.assert_array_equal(result.chart.B, charts[0].B)
    assert str(Charts(result.core.Y, charts)) == f"{charts[0]}, and 2 more component(s)"
    for rows, data in ((slice(0, 250), rolls[0]), (slice(250, 550), rolls[1])):
        assert procrustes_error(result.Y[rows], data.chart) < 0.002
    np.testing.assert_allclose(pdist(result.Y[550:]), np.sqrt(2))


def test_edges_are_put_back_in_their_piece():
    hole, other = make_swiss_hole(300, random_state=21), make_swiss_roll(250, even=True, random_state=1)
    order = np.random.default_rng(9).permutation(550)
    with advised():
        result = embed(np.vstack([hole.X, other.X + np.array([0.0, 90.0, 0.0])])[order])
    assert [chart.n_put_back > 0 for chart in result.core.charts] == [True, False]
    assert affine_errors(result.Y[np.argsort(order)[:300]], hole.chart).mean() < 0.005


def test_a_piece_that_is_a_point_among_others_is_drawn_as_one():
    rng = np.random.default_rng(7)
    tiny = 1e-170 * rng.normal(size=(40, 3))
    with advised():
        result = embed(np.vstack([tiny, 5 + rng.normal(size=(60, 3))]), coordinates="chart")
    assert result.core.charts[0] is not None
    assert result.core.charts[1] is None
    np.testing.assert_allclose(pdist(result.Y[:40]), 0, atol=1e-9)
    assert np.isfinite(result.Y).all()


def test_a_handful_of_samples_has_principal_coordinates_and_no_chart():
    X = np.array([[0.0, 0, 0], [3, 0, 0], [0, 4, 0], [3, 4, 0], [9, 9, 0]])
    result = embed(X)
    assert result.chart is None
    np.testing.assert_allclose(pdist(result.Y), pdist(X), atol=1e-12)


def piece_of(result):
    """What the chart of a connected result was made of."""
    return Piece(result.core.X, result.core.graph, NO_CUTS, result.eigenpairs.vectors)


def geometry_of(piece):
    """What neighborhoods of its samples tell."""
    return LocalGeometry.of(piece.X, Settings(), 1)


def test_what_is_unfolded_wider_than_the_longest_way_is_drawn_along_the_graph(model, monkeypatch):
    piece = piece_of(model._fitted)
    Y, chart = chart_of(piece, 1.0, 2, geometry_of(piece))
    assert chart.route == UNFOLDED
    wide = replace(unfolded_chart(piece, 2), B=3 * unfolded_chart(piece, 2).B)
    monkeypatch.setattr(_chart, "unfolded_chart", lambda *_: wide)
    narrow, chart = chart_of(piece, 1.0, 2, geometry_of(piece))
    assert chart.route == ALONG_GRAPH
    assert np.abs(narrow).max() < 1.2 * np.abs(Y).max()


class ScriptedRanks:
    """Ranks that give each candidate chart the next of the given scores."""

    def __init__(self, *scores):
        self.scores = list(scores)

    def kept(self, Y):
        """Return both halves of the next score."""
        return self.scores[0] / 2, self.scores.pop(0) / 2


# In the order in which candidates are drawn.
ROUTES = (UNFOLDED, ALONG_GRAPH, ALONG_GRAPH, FIRST_EIGENVECTORS)


@pytest.mark.parametrize("best", range(4))
def test_where_unfolding_has_much_stress_the_candidate_that_preserves_most_neighborhoods_is_the_chart(
    model, best, monkeypatch
):
    monkeypatch.setattr(_chart, "POORLY_KEPT", 0.0)
    scores = [1.9 if number == best else 1.8 for number in range(4)]
    geometry = SimpleNamespace(ranks=ScriptedRanks(*scores))
    _, chart = chart_of(piece_of(model._fitted), 0.9, 2, geometry)
    assert chart.route == ROUTES[best]


def test_far_from_a_surface_a_chart_follows_the_graph(model):
    candidates = []
    for scores in ((1.9, 1.8), (1.8, 1.9)):
        Y, chart = chart_of(piece_of(model._fitted), 0.84, 2, SimpleNamespace(ranks=ScriptedRanks(*scores)))
        assert chart.route == ALONG_GRAPH
        candidates.append(Y)
    assert np.abs(candidates[0] - candidates[1]).max() > 1e-3


def test_near_a_surface_a_chart_with_little_stress_is_unfolded_without_comparing_ranks(model):
    assert chart_of(piece_of(model._fitted), 0.9, 2, geometry=None)[1].route == UNFOLDED


@pytest.mark.slow
def test_a_sphere_with_a_small_hole_is_opened_by_its_first_eigenvectors_and_is_not_to_be_trusted():
    sphere = make_punctured_sphere(2000, random_state=3)
    result = embed(sphere.X)
    assert result.chart.route == FIRST_EIGENVECTORS
    assert affine_errors(result.Y, sphere.chart).mean() < 0.05
    assert result.chart.stress > POORLY_KEPT
    assert result.trust.level in ("doubtful", "bad")


def test_samples_in_a_plane_with_much_noise_are_drawn_as_they_lie():
    rng = np.random.default_rng(11)
    X = np.column_stack([rng.normal(size=(300, 2)), 0.2 * rng.normal(size=(300, 20))])
    result = embed(X, coordinates="chart")
    assert affine_errors(result.Y, X[:, :2]).mean() < 0.1


def test_charts_of_very_many_samples_need_no_edges(roll, model, monkeypatch):
    monkeypatch.setattr(_chart, "MANY_SAMPLES", 200)
    monkeypatch.setattr(_chart, "near_pairs", None)
    many = HNE().fit(roll.X)
    assert procrustes_error(many.embedding_, roll.chart) < 0.001
    assert procrustes_error(many.embedding_, model.embedding_) < 1e-3


@pytest.mark.parametrize("kind", ["sparse", "distances"])
def test_charts_are_the_same_of_sparse_samples_and_of_distances(roll, kind):
    if kind == "sparse":
        Y = HNE().fit_transform(csr_array(roll.X[:150]))
    else:
        Y = HNE(metric="precomputed").fit_transform(squareform(pdist(roll.X[:150])))
    assert procrustes_error(Y, HNE().fit_transform(roll.X[:150])) < 1e-6


def test_one_and_three_coordinates():
    t = np.linspace(0, 4, 120)
    curve = np.column_stack([np.cos(t), np.sin(t), t])
    along = HNE(n_components=1).fit_transform(curve)[:, 0]
    np.testing.assert_allclose(np.abs(np.diff(along)), np.sqrt(2) * 4 / 119, rtol=0.02)
    cube = np.random.default_rng(8).random((200, 3)) @ null_space(np.ones((1, 4))).T
    assert procrustes_error(HNE(n_components=3).fit_transform(cube), cube) < 0.001


# Through the front door


def test_files_keep_charts_and_short_circuits(model, table_model, tmp_path):
    for fitted in (model, table_model):
        fitted.save(tmp_path / "model.hne")
        again = HNE.load(tmp_path / "model.hne")
        np.testing.assert_array_equal(again.embedding_, fitted.embedding_)
        np.testing.assert_array_equal(again.short_circuits_, fitted.short_circuits_)
        for name, value in vars(fitted.chart_).items():
            np.testing.assert_array_equal(getattr(again.chart_, name), value)
        new = fitted._fitted.core.X[:5] + 0.01
        np.testing.assert_array_equal(again.transform(new), fitted.transform(new))
    assert len(model.short_circuits_) > 0


def test_a_fitted_sample_is_placed_exactly_and_a_new_one_between_its_neighbors(roll, model, table, table_model):
    np.testing.assert_array_equal(model.transform(roll.X), model.embedding_)
    np.testing.assert_array_equal(table_model.transform(table), table_model.embedding_)
    near = model._fitted.graph.indices[:, 0]
    halfway = (model.embedding_ + model.embedding_[near]) / 2
    misses = np.linalg.norm(model.transform((roll.X + roll.X[near]) / 2) - halfway, axis=1)
    assert np.median(misses) < 0.1 * np.median(np.linalg.norm(roll.X - roll.X[near], axis=1))


def test_new_samples_of_a_surface_come_to_lie_where_they_belong():
    data = make_swiss_roll(800, random_state=2)
    fitted = HNE().fit(data.X[:700])
    placed = fitted.transform(data.X[700:])
    assert affine_errors(np.vstack([fitted.embedding_, placed]), data.chart).mean() < 0.01
    assert np.abs(fitted.inverse_transform(placed) - data.X[700:]).mean() < 0.5


def test_points_of_a_chart_are_lifted_back(roll, model):
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), roll.X, atol=1e-9)
    near = model._fitted.graph.indices[:, 0]
    halfway = (model.embedding_ + model.embedding_[near]) / 2
    lifted = model.inverse_transform(halfway)
    misses = np.linalg.norm(lifted - (roll.X + roll.X[near]) / 2, axis=1)
    assert np.median(misses) < 0.2 * np.median(np.linalg.norm(roll.X - roll.X[near], axis=1))


def test_bits_are_the_same_twice_for_any_jobs_and_in_any_order(roll, model, table, table_model):
    for X, Y in ((roll.X, model.embedding_), (table, table_model.embedding_)):
        order = np.random.default_rng(10).permutation(len(X))
        for n_jobs in (1, 2):
            np.testing.assert_array_equal(HNE(n_jobs=n_jobs, coordinates="chart").fit_transform(X), Y)
        np.testing.assert_array_equal(HNE(coordinates="chart").fit_transform(X[order]), Y[order])


@pytest.mark.parametrize("exponent", one_fast(-200, 200))
def test_bits_are_the_same_in_any_unit(roll, model, table, table_model, exponent):
    for X, Y in ((roll.X, model.embedding_), (table, table_model.embedding_)):
        scaled = HNE(coordinates="chart").fit_transform(X * 2.0**exponent)
        np.testing.assert_array_equal(scaled, Y * 2.0**exponent)


def test_what_is_told_of_a_chart_is_in_the_unit_of_the_samples(roll, model):
    other = HNE().fit(1024 * roll.X)
    np.testing.assert_array_equal(other.chart_.B, 1024 * model.chart_.B)
    np.testing.assert_array_equal(other.chart_.spectrum, 1024**2 * model.chart_.spectrum)
    assert other.chart_.stress == model.chart_.stress


def test_eigenvectors_have_no_chart_and_no_more_eigenpairs_than_coordinates(roll):
    model = HNE(coordinates="eigenvectors").fit(roll.X)
    assert model.chart_ is None
    assert model.eigenvalues_.shape == (2,)
    assert model._fitted.eigenpairs.vectors.shape == (300, 2)
