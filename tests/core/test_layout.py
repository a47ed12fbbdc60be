"""Layouts: affinities, gradient and repulsion against dense references, and properties that hold for any samples."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import block_diag, csr_array
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

from hne import HNE, embed
from hne._runtime.progress import listening
from hne._runtime.threads import row_workers
from hne.core.layout import layout as _layout
from hne.core.layout import repulsion as _repulsion
from hne.core.layout.layout import ANCHOR, EARLY_REPULSION, compute_affinities, descend
from hne.core.layout.repulsion import compute_repulsion, exact_field, grid_field
from hne.core.layout.start import scale_shortest_paths
from hne.core.records import Weights
from hne.core.samples.kinds import Distances
from hne.exceptions import DisconnectedGraphError, InputError
from hne.metrics import procrustes_error, trustworthiness
from tests.conftest import advised, frozen, one_fast

LAYOUT = {"coordinates": "layout", "assess": False}


def run_in_one_thread(kernel, n_rows, _):
    kernel(0, n_rows)


def make_groups(n_samples, n_groups=8, n_features=10, seed=0):
    """Make Gaussian groups whose centers are three standard deviations apart."""
    rng = np.random.default_rng(seed)
    centers = 3 * rng.normal(size=(n_groups, n_features))
    return frozen(centers[rng.integers(n_groups, size=n_samples)] + rng.normal(size=(n_samples, n_features)))


@pytest.fixture(scope="module")
def groups():
    return make_groups(300)


@pytest.fixture(scope="module")
def fitted(groups):
    return embed(groups, **LAYOUT)


# Affinities, loss and gradient


def similarities(Y):
    """Compute q (n, n) without its diagonal, and Y_i - Y_j (n, n, d), with all pairs at once."""
    differences = Y[:, None] - Y
    q = 1 / (1 + (differences**2).sum(axis=2))
    np.fill_diagonal(q, 0.0)
    return q, differences


def dense_affinities(W, J, gamma):
    """Compute affinities from dense weights."""

    def keep_positive(M):
        M = np.maximum(M, 0) * (1 - np.eye(len(M)))
        sums = M.sum(axis=1, keepdims=True)
        return np.divide(M, sums, out=np.zeros_like(M), where=sums > 0)

    S = (gamma * keep_positive(W) + keep_positive(J)) / (gamma + 1)
    return (S + S.T) / (S + S.T).sum()


@given(st.integers(0, 10**6), st.integers(3, 20), st.sampled_from([0.1, 1.0, 10.0]))
def test_affinities_are_those_of_a_dense_reference(seed, n, gamma):
    rng = np.random.default_rng(seed)
    # Weights of either sign, with a diagonal; some rows are empty, and some have no positive weight.
    W, J = rng.normal(size=(2, n, n)) * (rng.random((2, n, n)) < 0.4)
    W[0], J[0], J[1] = 0.0, 0.0, -np.abs(J[1])
    W[2, :2] = 1.0
    P = compute_affinities(Weights(csr_array(W), csr_array(J)), gamma)
    dense = P.toarray()
    np.testing.assert_allclose(dense, dense_affinities(W, J, gamma), rtol=1e-6)
    np.testing.assert_array_equal(dense, dense.T)
    assert (P.data > 0).all()
    assert (np.diag(dense) == 0).all()
    assert P.data.sum(dtype=float) == pytest.approx(1.0, abs=1e-6)


def loss_of(P, Y, start, factor=1.0):
    """Compute KL(P || Q) + lambda (1 - r^2) / 2, with r the correlation of centered Y and start.

    A factor multiplies the normalization, whose gradient is the repulsion.
    """
    q, _ = similarities(Y)
    is_edge = P > 0
    divergence = (P[is_edge] * np.log(P[is_edge] / (q / q.sum())[is_edge])).sum()
    correlation = (Y * start).sum() / np.sqrt((Y**2).sum() * (start**2).sum())
    more = (factor - 1) * np.log(q.sum())
    return divergence + more + ANCHOR * (1 - correlation**2) / 2, divergence


@pytest.mark.parametrize(("d", "factor"), [(1, 1.0), (2, 1.0), (2, EARLY_REPULSION), (3, 1.0), (4, EARLY_REPULSION)])
def test_steps_follow_the_numerical_gradient_of_the_loss(d, factor, monkeypatch):
    monkeypatch.setattr(_layout, "EARLY_STEPS", 0 if factor == 1 else 2)
    rng = np.random.default_rng(d)
    n = 30
    P = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
    P = np.triu(P, 1) + np.triu(P, 1).T
    sparse = csr_array((P / P.sum()).astype(np.float32))
    P, start = sparse.toarray().astype(float), rng.normal(size=(n, d))
    steps = [start]
    for count in (1, 2):
        monkeypatch.setattr(_layout, "STEPS", count)
        Y, divergence = descend(sparse, start, 1)
        steps.append(Y)
        assert divergence == pytest.approx(loss_of(P, Y, start)[1], rel=1e-6)
    # From the start alone, the anchor has no gradient.
    first, second = np.diff(steps, axis=0)
    found = (0.9 * first - second) / (n / 2)
    expected, h = np.empty((n, d)), 1e-5
    for index in np.ndindex(n, d):
        shift = np.zeros((n, d))
        shift[index] = h
        above, below = (loss_of(P, steps[1] + sign * shift, start, factor)[0] for sign in (1, -1))
        expected[index] = (above - below) / (2 * h)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(("n", "d"), [(1, 2), (64, 1), (130, 2), (100, 3), (65, 5)])
def test_repulsion_of_all_pairs_is_that_of_dense_sums(n, d):
    Y = np.random.default_rng(0).normal(size=(n, d)) * 3
    q, differences = similarities(Y)
    forces, sums = exact_field(Y, run_in_one_thread)(Y)
    np.testing.assert_allclose(forces, (q[:, :, None] ** 2 * differences).sum(axis=1), atol=1e-13)
    np.testing.assert_allclose(sums, q.sum(axis=1) + 1, atol=1e-12)


# Error of a force as a share of the largest one, and of Z. Where the samples are spread out, forces are smaller; in the
# last case the grid has no room for nodes of distance 0.5.
@pytest.mark.parametrize(
    ("d", "size", "force", "normalization"),
    [(d, *limits) for d in (1, 2, 3) for limits in ((1.0, 0.015, 5e-4), (3.0, 0.03, 1e-3))] + [(3, 9.0, 0.25, 0.02)],
)
def test_repulsion_on_a_grid_is_near_that_of_all_pairs(d, size, force, normalization):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(900, d)) * size + size * rng.normal(size=(9, d)).repeat(100, axis=0)
    exact, sums = exact_field(Y, run_in_one_thread)(Y)
    field = grid_field(Y, run_in_one_thread, 1)
    found, found_sums = field(Y)
    assert np.abs(found - exact).max() < force * np.abs(exact).max()
    assert found_sums.sum() == pytest.approx(sums.sum(), rel=normalization)
    between = (Y[::2] + Y[1::2]) / 2
    apart = np.abs(field(between)[0] - exact_field(Y, run_in_one_thread)(between)[0])
    assert apart.max() < force * np.abs(exact).max()


@pytest.mark.parametrize(("n", "d", "is_exact"), [(600, 2, True), (601, 2, False), (2000, 3, True), (2000, 4, True)])
def test_few_samples_and_many_coordinates_have_the_exact_repulsion(n, d, is_exact):
    Y = np.random.default_rng(0).normal(size=(n, d))
    forces, _ = compute_repulsion(Y, run_in_one_thread, 1)
    assert np.array_equal(forces, exact_field(Y, run_in_one_thread)(Y)[0]) == is_exact


# Threads and order


@pytest.mark.parametrize(("n", "d"), [(300, 2), *one_fast((900, 2), (900, 1), (700, 3), (700, 4))])
def test_threads_and_the_order_of_samples_change_no_bit(n, d, monkeypatch):
    for module in (_layout, _repulsion):
        monkeypatch.setattr(module, "SAMPLE_ROWS", 16)
    monkeypatch.setattr(_repulsion, "GRID_ROWS", 4)
    X, order = make_groups(n), np.random.default_rng(0).permutation(n)
    one = embed(X, n_components=d, n_jobs=1, **LAYOUT).Y
    np.testing.assert_array_equal(embed(X, n_components=d, n_jobs=2, **LAYOUT).Y, one)
    np.testing.assert_array_equal(embed(X[order], n_components=d, n_jobs=2, **LAYOUT).Y, one[order])


@pytest.mark.parametrize("column", [-1, 4])
def test_a_descent_rejects_affinities_of_missing_samples(column):
    P = csr_array(np.full((4, 4), 1 / 16, dtype=np.float32))
    P.indices[-1] = column
    with pytest.raises(ValueError, match="indices"):
        descend(P, np.eye(4)[:, :2], 1)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_threads_change_no_bit_of_the_repulsion(d, monkeypatch):
    monkeypatch.setattr(_repulsion, "SAMPLE_ROWS", 16)
    monkeypatch.setattr(_repulsion, "GRID_ROWS", 4)
    Y = np.random.default_rng(0).normal(size=(700, d)) * 5
    expected = grid_field(Y, run_in_one_thread, 1)(Y)
    for n_threads in (2, 3):
        with row_workers(n_threads) as run:
            for found, one in zip(grid_field(Y, run, n_threads)(Y), expected, strict=True):
                np.testing.assert_array_equal(found, one)


# The layout as a whole


def test_a_layout_is_centered_along_its_axes_in_the_scale_of_the_samples(groups, fitted):
    Y = fitted.Y
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-9 * np.abs(Y).max())
    covariance = np.cov(Y.T)
    assert covariance[0, 0] > covariance[1, 1]
    assert abs(covariance[0, 1]) < 1e-9 * covariance[0, 0]
    # By least squares over all pairs, no other size is nearer to the distances.
    drawn, true = pdist(Y), pdist(groups)
    assert (drawn @ true) / (drawn @ drawn) == pytest.approx(1.0)
    assert fitted.core.kl_divergence > 0
    assert trustworthiness(groups, Y) > 0.95


def test_the_loss_is_lower_than_that_of_the_start(groups, fitted, monkeypatch):
    monkeypatch.setattr(_layout, "STEPS", 0)
    assert fitted.core.kl_divergence < embed(groups, **LAYOUT).core.kl_divergence - 1


def test_leaving_out_a_few_samples_moves_a_layout_little():
    for X in (make_groups(500), load_digits().data[:500]):
        whole, rng = embed(X, **LAYOUT).Y, np.random.default_rng(0)
        for _ in range(3):
            rows = np.sort(rng.permutation(500)[15:])
            assert procrustes_error(embed(X[rows], **LAYOUT).Y, whole[rows]) < 0.05


def test_duplicates_share_their_coordinates_and_change_no_others(groups, fitted):
    twice = embed(np.vstack([groups, groups[:40], groups[:10]]), **LAYOUT).Y
    np.testing.assert_array_equal(twice[:300], fitted.Y)
    np.testing.assert_array_equal(twice[300:], np.vstack([fitted.Y[:40], fitted.Y[:10]]))


def test_single_precision_in_is_single_precision_out(groups):
    single = groups.astype(np.float32)
    Y = embed(single, **LAYOUT).Y
    assert Y.dtype == np.float32
    np.testing.assert_array_equal(Y, embed(single.astype(float), **LAYOUT).Y.astype(np.float32))


def test_layouts_of_dense_and_sparse_samples_of_distances_and_of_given_neighbors_agree(groups, fitted):
    n, graph = 300, fitted.graph
    distances, known = squareform(pdist(groups)), {"metric": "precomputed"}
    for X, more in (
        (csr_array(groups), {}),
        (distances, known),
        # All distances, stored as a sparse matrix.
        (kneighbors_graph(groups, n - 1, mode="distance"), known),
        (groups, {"neighbors": (graph.indices, graph.distances)}),
        (groups, {"neighbors": kneighbors_graph(groups, 10, mode="distance")}),
    ):
        # Attraction is computed in single precision, and the descent magnifies its rounding.
        assert procrustes_error(embed(X, **LAYOUT, **more).Y, fitted.Y) < 1e-4


def test_known_distances_are_enough_for_a_layout_near_that_of_all_and_as_stable(groups):
    known = {"n_neighbors": 5, "metric": "precomputed", **LAYOUT}
    Y = embed(kneighbors_graph(groups, 200, mode="distance"), **known).Y
    assert procrustes_error(Y, embed(cdist(groups, groups), **known).Y) < 0.05
    rows = np.sort(np.random.default_rng(0).permutation(300)[9:])
    part = embed(kneighbors_graph(groups[rows], 200, mode="distance"), **known).Y
    assert procrustes_error(part, Y[rows]) < 0.05


def test_shortest_paths_along_known_distances_give_the_start():
    line = np.arange(40.0)
    lengths = squareform(pdist(line[:, None]))
    known = csr_array(np.where(lengths <= 3, lengths, 0.0))
    Y = scale_shortest_paths(Distances(known), 2)
    np.testing.assert_allclose(np.abs(Y[:, 0]), np.abs(line - line.mean()), atol=1e-9)
    np.testing.assert_allclose(Y[:, 1], 0, atol=1e-5)
    # Without a path between them, two lines are twice as far from each other as their ends.
    apart = scale_shortest_paths(Distances(csr_array(block_diag([known, known]))), 1)[:, 0]
    assert np.ptp(apart[:40]) < 1e-6 + np.abs(apart[:40].mean() - apart[40:].mean())
    assert (apart[:40].max() < apart[40:].min()) or (apart[:40].min() > apart[40:].max())


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_layouts_scale_with_the_unit_of_the_samples(groups, fitted, factor):
    np.testing.assert_allclose(embed(groups * factor, **LAYOUT).Y / factor, fitted.Y, atol=1e-3 * np.ptp(fitted.Y))


# Disconnected and degenerate data


def rms_radius(Y):
    return np.sqrt(((Y - Y.mean(axis=0)) ** 2).sum(axis=1).mean())


@pytest.fixture(scope="module")
def large_and_small():
    """Return a component of 500 samples and one of 5, far apart."""
    X = np.random.default_rng(0).normal(size=(505, 10))
    X[500:, 0] += 30
    return frozen(X)


@pytest.mark.parametrize("pieces", ["separate", "join"])
def test_a_small_connected_component_is_small_in_the_layout_and_apart(large_and_small, pieces):
    with advised(r"2 pieces \(of 500, 5 samples\)"):
        Y = embed(large_and_small, n_neighbors=4, pieces=pieces, **LAYOUT).Y
    large, small = Y[:500], Y[500:]
    assert rms_radius(small) < 0.02 * rms_radius(large)
    assert cdist(large, small).min() > 0.5 * rms_radius(large)


def test_the_largest_connected_component_alone_has_the_layout_of_its_samples(large_and_small):
    with advised("only the largest is embedded"):
        Y = embed(large_and_small, n_neighbors=4, pieces="largest", **LAYOUT).Y
    assert np.isnan(Y[500:]).all()
    alone = embed(large_and_small[:500], n_neighbors=4, **LAYOUT).Y
    assert procrustes_error(Y[:500], alone) < 1e-6


def test_a_layout_of_disconnected_samples_is_refused_where_that_is_an_error(large_and_small):
    with pytest.raises(DisconnectedGraphError, match=r"got 2 pieces \(of 500, 5 samples\)"):
        embed(large_and_small, n_neighbors=4, pieces="raise", **LAYOUT)


def test_samples_without_any_edges_have_places_of_their_own_and_one_alone_is_at_zero(groups):
    lists = (np.full((300, 3), -1), None)
    with advised("300 pieces"):
        result = embed(groups, neighbors=lists, **LAYOUT)
    assert len(np.unique(result.Y, axis=0)) == 300
    assert np.isfinite(result.Y).all()
    assert result.core.kl_divergence == 0
    with advised("only the largest"):
        alone = embed(groups, neighbors=lists, pieces="largest", **LAYOUT)
    np.testing.assert_array_equal(alone.Y[np.isfinite(alone.Y).all(axis=1)], [[0.0, 0.0]])


def test_few_samples_have_a_layout_and_one_or_equal_ones_have_none():
    X = np.array([[1.0, 2.0, 2.0], [1.0, 5.0, 6.0], [4.0, 2.0, 2.0]])
    two = embed(X[:2], n_components=1, **LAYOUT).Y
    np.testing.assert_allclose(np.abs(two[0] - two[1]), 5.0)
    # Three samples are all neighbors of each other, at whatever distance.
    between = pdist(embed(X, **LAYOUT).Y)
    assert between.min() > 0.5 * between.max()
    for few, n_components, message in (
        (X[:1], 1, "at least 2 samples"),
        (X[:2], 2, "at least 3 samples"),
        (np.ones((9, 3)), 2, "different samples, got 9 samples that are all equal"),
        (make_groups(50, n_features=2), 3, "at least 3 features"),
    ):
        with pytest.raises(InputError, match=message):
            embed(few, n_components=n_components, **LAYOUT)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("n", [50, 120])
def test_samples_in_one_direction_have_a_layout_by_the_cosine(kind, n):
    # Their directions, from which the start is computed, are all equal.
    X = np.arange(1.0, n + 1)[:, None]
    assert np.isfinite(embed(kind(X), n_components=1, metric="cosine", **LAYOUT).Y).all()


def test_samples_that_all_start_at_the_center_stay_there():
    P = csr_array(np.array([[0, 0.5], [0.5, 0]], dtype=np.float32))
    np.testing.assert_array_equal(descend(P, np.zeros((2, 1)), 1)[0], 0)


@pytest.mark.parametrize("constant", [0.0, 7.0])
def test_a_column_of_identical_values_changes_nothing(groups, fitted, constant):
    wide = np.column_stack([groups, np.full(300, constant)])
    assert procrustes_error(embed(wide, **LAYOUT).Y, fitted.Y) < 1e-6


@pytest.mark.parametrize("kind", [np.asarray, csr_array, lambda X: cdist(X, X)], ids=["dense", "sparse", "distances"])
def test_samples_with_fewer_dimensions_than_coordinates_have_a_layout(kind):
    line = np.outer(np.arange(40.0), [1.0, 2.0, 3.0])
    X = kind(line)
    Y = embed(X, metric="precomputed" if X.shape == (40, 40) else "euclidean", **LAYOUT).Y
    order = np.argsort(Y[:, 0])
    assert order.tolist() in (list(range(40)), list(range(39, -1, -1)))


# Interrupts


class Interrupt:
    """Listener that raises at one of the steps of the descent."""

    def begin(self, stage):
        pass

    def end(self, stage, result, seconds):
        pass

    def step(self, task, done, total):
        if (task, done) == ("descent", 50):
            raise KeyboardInterrupt


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_descent_is_interrupted_at_any_step_and_leaves_no_thread(groups, n_jobs):
    model, before = HNE(coordinates="layout", n_jobs=n_jobs), threading.active_count()
    with pytest.raises(KeyboardInterrupt), listening(Interrupt()):
        model.fit(groups)
    assert threading.active_count() == before
    assert not hasattr(model, "embedding_")
