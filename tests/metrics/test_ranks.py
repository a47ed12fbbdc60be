"""Ranks of neighbors: against scikit-learn, against loops over the co-ranking matrix, and against themselves."""

import tracemalloc

import numpy as np
import pytest
import sklearn.manifold
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from hne.exceptions import InputError, InputTypeError
from hne.metrics import continuity, coranking, neighborhood_preservation, rank_quality, trustworthiness
from hne.metrics import rows as _rows
from tests.conftest import frozen, lattice_clouds


def rank_loop(points):
    """Ranks (n, n) from the definition: by squared distance, then index; the sample itself 0."""
    n = len(points)
    ranks = np.zeros((n, n), dtype=int)
    for i in range(n):
        others = sorted((((points[i] - points[j]) ** 2).sum(), j) for j in range(n) if j != i)
        for position, (_, j) in enumerate(others, start=1):
            ranks[i, j] = position
    return ranks


def coranking_matrix(X, Y):
    """Lee and Verleysen's matrix: pairs of samples by their rank in X, a row, and in Y, a column."""
    n = len(X)
    matrix = np.zeros((n - 1, n - 1), dtype=int)
    for rank_X, rank_Y in zip(rank_loop(X).ravel(), rank_loop(Y).ravel(), strict=True):
        if rank_X:
            matrix[rank_X - 1, rank_Y - 1] += 1
    return matrix


def quality_loop(X, Y, k):
    """Trustworthiness, continuity and preservation of the definitions, from the co-ranking matrix."""
    n, matrix = len(X), coranking_matrix(X, Y)
    strangers = sum((r + 1 - k) * matrix[r, c] for r in range(k, n - 1) for c in range(k))
    lost = sum((c + 1 - k) * matrix[r, c] for r in range(k) for c in range(k, n - 1))
    most = n * k * (2 * n - 3 * k - 1) / 2
    return 1 - strangers / most, 1 - lost / most, matrix[:k, :k].sum() / (n * k)


def embedded(n, n_features=4, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return frozen(X), frozen(X[:, :2] + noise * rng.normal(size=(n, 2)))


@given(st.integers(0, 2**32 - 1), st.integers(12, 120), st.integers(1, 5), st.floats(0, 3))
def test_trustworthiness_is_that_of_scikit_learn(seed, n, k, noise):
    X, Y = embedded(n, 5, seed, noise)
    theirs = sklearn.manifold.trustworthiness(X, Y, n_neighbors=k)
    assert trustworthiness(X, Y, k) == pytest.approx(theirs, abs=1e-12)
    # What is lost on the way there is strange on the way back.
    assert continuity(Y, X, k) == pytest.approx(theirs, abs=1e-12)


@given(lattice_clouds(min_samples=11), st.integers(1, 5), st.integers(0, 99))
def test_one_pass_gives_what_the_definitions_do_whatever_the_ties(X, k, seed):
    Y = np.random.default_rng(seed).integers(-3, 3, size=(len(X), 2)).astype(float)
    quality = rank_quality(X, Y, k)
    found = (quality.trustworthiness, quality.continuity, quality.preservation)
    np.testing.assert_allclose(found, quality_loop(X, Y, k), atol=1e-12)
    assert (trustworthiness(X, Y, k), continuity(X, Y, k), neighborhood_preservation(X, Y, k)) == found
    assert quality.is_exact
    assert quality.n_rows_measured == len(X)
    assert quality.preservation_standard_error == 0.0


@given(lattice_clouds(min_samples=4), st.integers(0, 99))
def test_curves_are_those_of_the_coranking_matrix(X, seed):
    Y = np.random.default_rng(seed).integers(-3, 3, size=(len(X), 2)).astype(float)
    n, matrix, curves = len(X), coranking_matrix(X, Y), coranking(X, Y)
    Q = np.array([matrix[:K, :K].sum() / (K * n) for K in range(1, n - 1)])
    R = np.array([((n - 1) * Q[K - 1] - K) / (n - 1 - K) for K in range(1, n - 1)])
    np.testing.assert_array_equal(curves.sizes, np.arange(1, n - 1))
    np.testing.assert_allclose(curves.Q, Q, atol=1e-12)
    np.testing.assert_allclose(curves.R, R, atol=1e-12)
    np.testing.assert_allclose(curves.area, sum(R / curves.sizes) / sum(1 / curves.sizes), atol=1e-12)


def test_preservation_is_the_curve_at_that_size():
    X, Y = embedded(90)
    curves = coranking(X, Y)
    for k in (1, 7, 30):
        assert neighborhood_preservation(X, Y, k) == pytest.approx(curves.Q[k - 1], abs=1e-14)


def test_a_turned_and_scaled_embedding_is_perfect_and_order_does_not_matter():
    X, Y = embedded(70, 2)
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(2, 2)))
    perfect = rank_quality(X, 3 * X @ turn + 1)
    assert (perfect.trustworthiness, perfect.continuity, perfect.preservation) == (1.0, 1.0, 1.0)
    assert coranking(X, 3 * X @ turn + 1).area == pytest.approx(1.0)
    order = np.random.default_rng(2).permutation(70)
    assert rank_quality(X[order], 1e200 * Y[order]) == rank_quality(1e-200 * X, Y)
    assert coranking(X[order], Y[order]).area == coranking(X, Y).area


def test_a_random_embedding_keeps_what_chance_does():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(500, 4)), rng.normal(size=(500, 2))
    quality, curves = rank_quality(X, Y), coranking(X, Y)
    assert abs(curves.area) < 0.01
    assert quality.trustworthiness == pytest.approx(0.5, abs=0.02)
    assert quality.preservation == pytest.approx(5 / 499, abs=0.01)


def test_copies_of_a_sample_are_neighbors_and_the_sample_itself_is_none():
    X = np.array([[0.0], [0.0], [0.0], [5.0], [6.0], [7.0]])
    np.testing.assert_array_equal(rank_loop(X)[1], [1, 0, 2, 3, 4, 5])
    assert rank_quality(X, X, 2).trustworthiness == 1.0
    assert rank_quality(X, np.zeros((6, 1)), 2).preservation == pytest.approx(quality_loop(X, np.zeros((6, 1)), 2)[2])


@pytest.mark.parametrize("k", [5, 40])
@pytest.mark.parametrize("case", ["general", "ties", "copies", "crowded"])
def test_kernels_count_what_sorting_tells(case, k):
    rng = np.random.default_rng(k)
    X, Y = (rng.normal(size=(150, d)) for d in (40, 2))
    if case == "ties":
        X, Y = np.round(X[:, :3]), np.round(2 * Y)
    if case == "copies":
        X, Y = X[rng.integers(0, 20, 150)], np.zeros((150, 2))
    if case == "crowded":
        # Distances that agree in all leading digits, and one far away: short keys do not tell them apart.
        X = np.vstack([1e3 * np.eye(149) + 1e-7 * rng.normal(size=(149, 149)), np.full((1, 149), 1e150)])
    rows = np.array([0, 3, 77, 149])
    in_X, in_Y = (_rows.squared_distances(np.ascontiguousarray(points.T), rows) for points in (X, Y))
    for points, distances in ((X, in_X), (Y, in_Y)):
        expected = cdist(points[rows], points, "sqeuclidean")
        expected[np.arange(4), rows] = -1.0
        np.testing.assert_array_equal(distances, expected)
    ranks_X, ranks_Y = (np.argsort(np.argsort(each, axis=1, kind="stable"), axis=1) for each in (in_X, in_Y))
    sums = [
        (np.maximum(in_one - k, 0).sum(where=in_other <= k), np.maximum(in_other - k, 0).sum(where=in_one <= k))
        for in_one, in_other in zip(ranks_X, ranks_Y, strict=True)
    ]
    found = _rows.neighbor_sums(in_X, in_Y, k)
    np.testing.assert_array_equal(found[:, :2], sums)
    np.testing.assert_array_equal(found[:, 2], ((ranks_X <= k) & (ranks_Y <= k)).sum(axis=1) - 1)
    larger = [np.bincount(np.maximum(*pair), minlength=150) for pair in zip(ranks_X, ranks_Y, strict=True)]
    np.testing.assert_array_equal(_rows.larger_rank_counts(in_X, in_Y), larger)


def test_neither_blocks_nor_threads_change_a_bit(monkeypatch):
    X, Y = embedded(250)
    whole = rank_quality(X, Y, n_sampled=200), rank_quality(X, Y, 60), coranking(X, Y, n_sampled=200)
    changes = ({"BLOCK_BYTES": 1}, {"BLOCK_BYTES": 200_000})
    for change in changes:
        with monkeypatch.context() as patch:
            for name, value in change.items():
                patch.setattr(_rows, name, value)
            assert rank_quality(X, Y, n_sampled=200, n_jobs=2) == whole[0]
            assert rank_quality(X, Y, 60, n_jobs=2) == whole[1]
            curves = coranking(X, Y, n_sampled=200, n_jobs=2)
            np.testing.assert_array_equal(curves.R, whole[2].R)
            assert (curves.area, curves.area_standard_error) == (whole[2].area, whole[2].area_standard_error)


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_of_rows_is_within_its_standard_errors(seed):
    X, Y = embedded(600, 3, seed)
    exact, sampled = rank_quality(X, Y), rank_quality(X, Y, n_sampled=150, random_state=seed)
    for name in ("trustworthiness", "continuity", "preservation"):
        error = getattr(sampled, f"{name}_standard_error")
        assert 0 < error < 0.03
        assert abs(getattr(sampled, name) - getattr(exact, name)) < 5 * error
    assert (sampled.n_rows_measured, sampled.is_exact) == (150, False)
    curves, estimate = coranking(X, Y), coranking(X, Y, n_sampled=150, random_state=seed)
    assert 0 < estimate.area_standard_error < 0.02
    assert abs(estimate.area - curves.area) < 5 * estimate.area_standard_error
    assert "+-" in str(estimate)
    assert "+-" in str(sampled)
    assert "+-" not in str(exact)


def test_the_standard_error_is_that_of_many_draws():
    X, Y = embedded(300, 3)
    draws = [rank_quality(X, Y, n_sampled=60, random_state=seed) for seed in range(60)]
    spread = np.std([draw.preservation for draw in draws])
    assert np.mean([draw.preservation_standard_error for draw in draws]) == pytest.approx(spread, rel=0.25)
    areas = [coranking(X, Y, n_sampled=60, random_state=seed) for seed in range(60)]
    assert np.mean([draw.area_standard_error for draw in areas]) == pytest.approx(
        np.std([draw.area for draw in areas]), rel=0.25
    )


def test_more_samples_than_can_be_exact_are_sampled(monkeypatch):
    monkeypatch.setattr(_rows, "EXACT_MAX_SAMPLES", 100)
    monkeypatch.setattr(_rows, "DEFAULT_SAMPLED", 30)
    X, Y = embedded(101)
    assert rank_quality(X, Y).n_rows_measured == 30
    assert rank_quality(X[:100], Y[:100]).is_exact
    assert rank_quality(X, Y, n_sampled=101).is_exact


@pytest.mark.parametrize("function", [rank_quality, coranking])
def test_memory_stays_far_below_a_square_matrix(function, monkeypatch):
    monkeypatch.setattr(_rows, "BLOCK_BYTES", 2**23)
    X, Y = embedded(3000)
    tracemalloc.start()
    function(X, Y, n_sampled=600, n_jobs=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**23 + 2**21
    assert peak < 3000 * 3000 * 8 / 5


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"n_neighbors": 10},
            InputError,
            r"^n_neighbors=10 needs at least 21 samples, .*, got n_samples=20",
        ),
        ({"n_neighbors": 0}, InputError, r"^n_neighbors must be at least 1, got 0"),
        ({"n_neighbors": 2.0}, InputTypeError, "^n_neighbors must be an integer"),
        ({"n_sampled": 1}, InputError, r"^n_sampled must be at least 2, got 1"),
        ({"n_sampled": 21}, InputError, r"^n_sampled must be at most n_samples=20, got 21"),
        ({"n_jobs": 0}, InputError, r"^n_jobs must be positive, or negative to count from all cores, got 0"),
        ({"random_state": "x"}, InputError, r"^random_state must be an integer, None or a RandomState, got 'x'"),
        ({"Y": np.zeros((19, 2))}, InputError, r"^Y must have as many rows as X, got 19 and 20"),
        ({"X": np.full((20, 2), np.inf)}, InputError, r"^X must be finite, got inf"),
    ],
)
def test_what_cannot_be_ranked_is_refused(options, error, message):
    X, Y = embedded(20)
    with pytest.raises(error, match=message):
        rank_quality(**({"X": X, "Y": Y} | options))


def test_two_samples_have_no_curve():
    with pytest.raises(InputError, match=r"^X must have at least 3 samples to rank them, got n_samples=2"):
        coranking(np.eye(2), np.eye(2))


def test_rows_drawn_without_a_seed_are_others_every_time():
    X = np.random.default_rng(0).normal(size=(200, 3))
    drawn = {rank_quality(X, X[:, :2], n_sampled=20, random_state=None).trustworthiness for _ in range(5)}
    assert len(drawn) > 1
    assert len({rank_quality(X, X[:, :2], n_sampled=20).trustworthiness for _ in range(3)}) == 1
