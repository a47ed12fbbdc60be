"""Distances by products: the same neighbors and ranks as by differences, to the integer, whatever the data."""

import logging
import tracemalloc

import numpy as np
import pytest
import sklearn.manifold
from hypothesis import given
from hypothesis import strategies as st

from hne.metrics import rank_quality, trustworthiness
from hne.metrics import rows as _rows
from tests.conftest import frozen, lattice_clouds

N, D = 240, 90


def cloud(case, seed=0):
    """Samples on which products fail in one way or another."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    return CLOUDS[case](X, rng)


def corners(rng):
    """Corners of a cube: most pairs are at one of a few distances."""
    return rng.integers(0, 2, size=(N, D))


CLOUDS = {
    "general": lambda X, _: X,
    "lattice": lambda X, _: np.round(X) / 8,
    "thirds": lambda _, rng: corners(rng) / 3,
    "whole": lambda _, rng: corners(rng) * 255.0,
    "copies": lambda X, rng: X[rng.integers(0, 12, N)],
    "near copies": lambda X, rng: 1e3 + X[rng.integers(0, 12, N)] + 1e-9 * X,
    "equal": lambda X, _: np.full_like(X, 0.1),
    "far": lambda X, _: X + 1e9,
    "tiny": lambda X, _: 1e-70 * X,
    "vanishing": lambda X, _: np.hstack([1e-161 * X, np.ones((N, 1))]),
    "huge": lambda X, _: 1e80 * X,
    "outlier": lambda X, _: np.vstack([X[:-1], np.full((1, D), 1e12)]),
    "mixed": lambda X, _: X * np.logspace(-60, 0, D),
    "several chunks": lambda _, rng: rng.normal(size=(N, 3 * _rows.CHUNK + 7)),
}


def by_differences(points, rows):
    return _rows.squared_distances(np.ascontiguousarray(points.T), rows)


def sums_by_differences(X, Y, rows, k):
    return _rows.neighbor_sums(by_differences(X, rows), by_differences(Y, rows), k)


@pytest.mark.parametrize("k", [1, 5, 30])
@pytest.mark.parametrize("case", CLOUDS)
def test_products_give_the_integers_of_differences(case, k):
    X, rows = cloud(case), np.array([0, 1, 5, 77, 200, N - 1])
    for other in ("general", "lattice", "copies"):
        Y = cloud(other, seed=1)[:, :2]
        space = _rows.products(frozen(X))
        in_X, in_Y = space.squared_distances(rows), by_differences(Y, rows)
        _rows.settle(space, None, rows, in_X, in_Y, k)
        np.testing.assert_array_equal(_rows.neighbor_sums(in_X, in_Y, k), sums_by_differences(X, Y, rows, k))


@pytest.mark.parametrize(("case", "other"), [("general", "lattice"), ("thirds", "copies"), ("far", "outlier")])
def test_both_spaces_can_be_wide(case, other):
    X, Y, rows = cloud(case), cloud(other, seed=1), np.arange(N)
    ours, others = _rows.products(X), _rows.products(Y)
    in_X, in_Y = ours.squared_distances(rows), others.squared_distances(rows)
    _rows.settle(ours, others, rows, in_X, in_Y, 5)
    np.testing.assert_array_equal(_rows.neighbor_sums(in_X, in_Y, 5), sums_by_differences(X, Y, rows, 5))


@given(lattice_clouds(min_samples=11), st.integers(1, 5), st.integers(0, 99), st.sampled_from([1.0, 1 / 3, 1e-9]))
def test_ties_are_broken_as_by_differences(X, k, seed, step):
    X = X * step
    Y, rows = np.random.default_rng(seed).integers(-3, 3, size=(len(X), 2)).astype(float), np.arange(len(X))
    space = _rows.products(X)
    in_X, in_Y = space.squared_distances(rows), by_differences(Y, rows)
    _rows.settle(space, None, rows, in_X, in_Y, k)
    np.testing.assert_array_equal(_rows.neighbor_sums(in_X, in_Y, k), sums_by_differences(X, Y, rows, k))


@pytest.mark.parametrize("case", CLOUDS)
def test_no_product_errs_by_more_than_its_slack(case):
    X, rows = cloud(case), np.arange(N)
    space = _rows.products(X)
    errors = np.abs(space.squared_distances(rows) - by_differences(X, rows))
    assert (errors <= np.add.outer(space.slacks, space.slacks)).all()
    assert space.is_exact == (case == "whole")
    assert not (space.is_exact and errors.any())


def test_the_worst_rounding_is_within_the_slack():
    # All products of a chunk have one sign, and every addition is rounded the same way: errors add up.
    X = np.full((4, 4 * _rows.CHUNK), 1 + 2.0**-12) * np.array([[1.0], [-1.0], [1 + 2.0**-13], [2.0**-13 - 1]])
    space, rows = _rows.products(X), np.arange(4)
    errors = np.abs(space.squared_distances(rows) - by_differences(X, rows))
    assert (errors <= np.add.outer(space.slacks, space.slacks)).all()


def test_whole_numbers_are_exact_up_to_those_of_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, size=(50, 2 * _rows.CHUNK)).astype(float)
    pixels[0], pixels[1] = 255.0, 0.0
    space = _rows.products(pixels)
    assert space.is_exact
    expected = by_differences(pixels, np.arange(50))
    np.testing.assert_array_equal(space.squared_distances(np.arange(50)), expected)
    assert not _rows.products(2 * pixels).is_exact
    assert not _rows.products(pixels + 0.5).is_exact


def test_few_distances_are_measured_again(monkeypatch):
    rng = np.random.default_rng(0)
    X, n_measured = rng.normal(size=(3000, 784)), []
    plain = _rows.Products.measure

    def counting(self, sample, distances, found):
        n_measured.append(len(found))
        plain(self, sample, distances, found)

    monkeypatch.setattr(_rows.Products, "measure", counting)
    rank_quality(X, X[:, :2], n_sampled=50)
    assert sum(n_measured) / 50 < 0.02 * 3000


@pytest.mark.parametrize("n_features", [100, 784])
def test_trustworthiness_of_many_features_is_that_of_scikit_learn(n_features):
    X = np.random.default_rng(n_features).normal(size=(400, n_features))
    for k in (5, 40):
        ours, theirs = trustworthiness(X, X[:, :2], k), sklearn.manifold.trustworthiness(X, X[:, :2], n_neighbors=k)
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_neither_products_nor_blocks_nor_threads_change_a_bit(monkeypatch):
    X, Y = cloud("general"), cloud("lattice")
    with monkeypatch.context() as patch:
        patch.setattr(_rows, "PRODUCT_FEATURES", (10**9, 0))
        whole = [rank_quality(X, Y, k, n_sampled=40) for k in (5, 30)]
    patched = {"PRODUCT_FEATURES": (1, 0), "MOST_IN_DOUBT": 1.0}
    for change in ({}, {"BLOCK_BYTES": 1}):
        with monkeypatch.context() as patch:
            for name, value in (patched | change).items():
                patch.setattr(_rows, name, value)
            assert [rank_quality(X, Y, k, n_sampled=40, n_jobs=2) for k in (5, 30)] == whole


def test_features_and_neighbors_decide_about_products_and_the_log_tells(caplog):
    wide = np.random.default_rng(2).normal(size=(50, 784))
    assert [_rows._products_of(wide[:, :width], 5) is None for width in (100, 209, 210)] == [True, True, False]
    assert _rows._products_of(wide, 300) is None  # as many comparisons cost more than differences
    assert _rows._products_of(wide, None) is None  # all ranks are asked for
    X, rng = np.random.default_rng(0).normal(size=(2000, 250)), np.random.default_rng(1)
    clusters = X + 1e4 * rng.integers(0, 2, size=(2000, 1))
    outlier = np.vstack([X, np.full((1, 250), 1e9)])
    # Single precision does not tell the samples of a tight cluster apart; a far one is no reason to measure the others.
    for samples, kind in ((X, "products"), (clusters, "differences"), (outlier, "products")):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="hne"):
            rank_quality(samples, samples[:, :2], n_sampled=50)
        assert f"ranks: 50 of {len(samples)} samples, {kind} in X, differences in Y" in caplog.text


def test_memory_of_products_stays_within_that_of_blocks(monkeypatch):
    monkeypatch.setattr(_rows, "BLOCK_BYTES", 2**23)
    X = np.random.default_rng(0).normal(size=(3000, 250))
    tracemalloc.start()
    rank_quality(X, X[:, :2].copy(), n_sampled=600, n_jobs=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Besides blocks, the samples once more in single precision, and in double as they are being made of those.
    assert peak < 2**23 + 1.5 * X.nbytes + 2**21
