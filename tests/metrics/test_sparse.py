"""Measures of sparse samples: the numbers of the dense ones, and nothing large made dense."""

import tracemalloc
from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse

from hne.exceptions import InputError, InputTypeError
from hne.metrics import (
    affine_errors,
    continuity,
    coranking,
    geodesic_quality,
    geodesic_rank_correlation,
    intrinsic_dimension,
    neighborhood_preservation,
    rank_quality,
    reconstruction_errors,
    residual_variance,
    tangent_score,
    trustworthiness,
)
from hne.metrics.rows import settle, sparse_products
from tests.conftest import frozen, one_fast

N = 120


def samples(kind):
    """Samples of few values each: real ones, counts with many ties, or real ones with copies."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((N, 200), density=0.05, rng=rng).toarray()
    X[:, :2] = rng.random((N, 2)) * 3
    if kind == "counts":
        X = np.rint(4 * X)
    elif kind == "copies":
        X[N // 2 :] = X[: N // 2]
    return frozen(X)


def embedding():
    return frozen(samples("real")[:, :2] + np.random.default_rng(1).normal(size=(N, 2)) * 0.2)


MEASURES = [
    *(trustworthiness, continuity, neighborhood_preservation, rank_quality, coranking),
    *(geodesic_quality, geodesic_rank_correlation, residual_variance, tangent_score),
]


def numbers(found):
    """What a measure tells, its words left out."""
    values = [getattr(found, one.name) for one in fields(found)] if hasattr(found, "__dataclass_fields__") else [found]
    return np.concatenate([np.ravel(value) for value in values if not isinstance(value, str)]).astype(float)


@pytest.mark.parametrize("kind", one_fast("copies", "real", "counts"))
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.__name__)
def test_numbers_are_those_of_dense_samples(measure, kind):
    X, Y = samples(kind), embedding()
    # Between copies, the same path is walked from either end: rounding ranks lengths that would be equal.
    rtol = 1e-5 if kind == "copies" else 1e-9
    np.testing.assert_allclose(numbers(measure(sparse.csr_array(X), Y)), numbers(measure(X, Y)), rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("kind", ["real", "counts", "copies"])
@pytest.mark.parametrize("k", [3, 40])
def test_ranks_of_neighbors_are_the_same_integers(kind, k):
    X, Y = samples(kind), embedding()
    assert rank_quality(sparse.csr_array(X), Y, k) == rank_quality(X, Y, k)


def test_what_is_in_doubt_is_measured_from_differences():
    # Two samples nearly as far from a third: products cannot tell who is nearer, differences can.
    X = np.full((40, 30), 1e6)
    X += np.random.default_rng(3).random(X.shape) * 1e-4
    space = sparse_products(sparse.csr_array(X))
    rows = np.arange(40)
    exact = ((X[:, None] - X) ** 2).sum(axis=2)
    by_products = space.squared_distances(rows)
    assert np.abs(by_products - exact)[~np.eye(40, dtype=bool)].max() > 1e-3 * exact.max()
    settle(space, space, rows, by_products, by_products.copy(), 5)
    nearest = np.argsort(by_products, axis=1, kind="stable")[:, 1:6]
    np.testing.assert_array_equal(nearest, np.argsort(exact, axis=1, kind="stable")[:, 1:6])


@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix:scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("matrix", [sparse.csr_array, sparse.csr_matrix])
def test_any_layout_will_do(layout, matrix):
    X, Y = samples("real"), embedding()
    given = matrix(X).asformat(layout)
    assert trustworthiness(given, Y) == trustworthiness(X, Y)


def test_stored_zeros_and_the_given_matrix_stay_as_they_are():
    X, Y = samples("real"), embedding()
    given = sparse.csr_array(X)
    given.data[:3] = 0.0
    before = given.nnz
    assert trustworthiness(given, Y) == trustworthiness(given.toarray(), Y)
    assert given.nnz == before


def test_any_number_of_threads_gives_the_same_numbers():
    X, Y = sparse.csr_array(samples("real")), embedding()
    assert rank_quality(X, Y, n_jobs=1) == rank_quality(X, Y, n_jobs=3)


@pytest.mark.parametrize("kind", ["real", "counts", "copies"])
def test_the_dimension_is_that_of_dense_samples(kind):
    X = samples(kind)
    found, expected = intrinsic_dimension(sparse.csr_array(X)), intrinsic_dimension(X)
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-9)


@pytest.mark.parametrize("include_self", [True, False])
def test_errors_of_rebuilding_are_those_of_dense_samples(include_self):
    X = samples("copies")
    weights = sparse.random_array((N, N), density=0.1, rng=np.random.default_rng(2)).tocsr()
    weights = sparse.diags_array(1 / np.maximum(weights.sum(axis=1), 1e-9)) @ weights
    found = reconstruction_errors(sparse.csr_array(X), weights, include_self=include_self)
    np.testing.assert_allclose(found, reconstruction_errors(X, weights, include_self=include_self), rtol=1e-9)


def test_many_features_are_never_made_dense():
    # 120 x 500 000 numbers are 480 MB.
    n, n_features = 120, 500_000
    X = sparse.random_array((n, n_features), density=2e-4, format="csr", rng=np.random.default_rng(4))
    Y = np.random.default_rng(5).random((n, 2))
    tracemalloc.start()
    rank_quality(X, Y)
    coranking(X, Y)
    geodesic_quality(X, Y)
    intrinsic_dimension(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_what_is_no_finite_number_or_no_row_is_refused():
    X, Y = sparse.csr_array(samples("real")), embedding()
    with pytest.raises(InputError, match=r"^Y must have as many rows as X, got 119 and 120"):
        trustworthiness(X, Y[:-1])
    with pytest.raises(InputError, match=r"^X must have samples, got 0 sample\(s\) \(shape=\(0, 200\)\)"):
        intrinsic_dimension(X[:0])
    X.data[5] = np.nan
    with pytest.raises(InputError, match=r"^X must be finite, got nan in row \d+, column \d+ \(1 NaN and 0 inf in all"):
        trustworthiness(X, Y)


def test_embeddings_are_dense():
    X, Y = samples("real"), embedding()
    with pytest.raises(InputTypeError, match=r"^Y must be a dense array, got a sparse matrix"):
        trustworthiness(X, sparse.csr_array(Y))
    with pytest.raises(InputTypeError, match=r"^Y must be a dense array, got a sparse matrix"):
        affine_errors(sparse.csr_array(Y), Y)
