"""Distinct samples: copies share a place, and the order of places does not depend on that of the samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from hne.core.samples import unique as _distinct
from hne.core.samples.kinds import Distances
from hne.core.samples.unique import unique_samples
from tests.conftest import frozen, lattice_clouds

KINDS = {"dense": lambda X: X, "sparse": csr_array, "distances": lambda X: Distances(cdist(X, X))}


@pytest.mark.parametrize("kind", KINDS)
@given(X=lattice_clouds(), seed=st.integers(0, 99))
def test_copies_share_a_place_with_their_first_and_nobody_else_does(kind, X, seed):
    X = X[np.random.default_rng(seed).integers(0, len(X), 2 * len(X))]
    found = unique_samples(KINDS[kind](X))
    rows, count = np.unique(X, axis=0, return_inverse=True)
    assert found.n_places == len(rows)
    np.testing.assert_array_equal(X[found.index][found.inverse], X)
    for place, first in enumerate(found.index):
        assert first == np.flatnonzero(found.inverse == place)[0]
    assert len(set(zip(found.inverse.tolist(), count.ravel().tolist(), strict=True))) == len(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_in_another_order_have_their_places_in_the_same(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X = np.vstack([X, X[:7]])
    order = rng.permutation(len(X))
    here, there = (unique_samples(KINDS[kind](one)) for one in (X, X[order]))
    np.testing.assert_array_equal(X[here.index], X[order][there.index])
    np.testing.assert_array_equal(there.inverse, here.inverse[order])


FORMS = {
    "twice as large": lambda X: 2 * X,
    "beyond normal numbers": lambda X: X * 2.0**-1060,
    "at the end of float64": lambda X: X * 2.0**1015,
    "sparse": csr_array,
    "with constant columns": lambda X: np.insert(X, [0, 2], [1e300, 5.0], axis=1),
    "with constant columns, sparse": lambda X: csr_array(np.insert(X, [0, 2], [1e300, 5.0], axis=1)),
}


@pytest.mark.parametrize("form", FORMS)
def test_samples_in_another_form_have_the_same_places(form):
    X = np.random.default_rng(0).integers(-4, 5, size=(200, 4)).astype(float)
    here, there = unique_samples(X), unique_samples(FORMS[form](X))
    np.testing.assert_array_equal(there.inverse, here.inverse)


@pytest.mark.parametrize("scale", [2.0, 2.0**-1060, 2.0**1015])
@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_distances_in_another_power_of_two_give_the_same_places(scale, kind):
    # Of a graph of distances, all are known here.
    D = np.random.default_rng(0).integers(1, 6, size=(30, 30)).astype(float)
    D = np.triu(D, 1) + np.triu(D, 1).T
    here, there = (unique_samples(Distances(kind(one))) for one in (D, D * scale))
    np.testing.assert_array_equal(there.inverse, here.inverse)


def test_samples_without_a_column_that_differs_are_copies():
    assert unique_samples(np.ones((5, 3))).n_places == 1
    assert unique_samples(csr_array((5, 3))).n_places == 1


def test_a_graph_of_distances_tells_copies_by_its_zeros():
    X = frozen(np.repeat(np.random.default_rng(0).normal(size=(9, 2)), 2, axis=0))
    D = cdist(X, X)
    rows, columns = np.nonzero(D < 1)
    graph = csr_array((D[rows, columns], (rows, columns)), shape=D.shape)
    assert unique_samples(Distances(graph)).n_places == 9


def test_both_zeros_are_one_number():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, -0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(unique_samples(X).index, [0, 2])


def test_samples_whose_fingerprints_collide_are_still_told_apart(monkeypatch):
    monkeypatch.setattr(_distinct, "scrambled", np.zeros_like)
    X = np.column_stack([np.zeros(6), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]])
    assert unique_samples(frozen(X)).n_places == 3


def test_weights_over_places_spread_over_samples():
    X = np.array([[5.0], [1.0], [5.0], [3.0]])
    found = unique_samples(X)
    # Places in the order 1, 3, 5: the place of 5 leans on that of 1.
    wide = found.spread(csr_array(([2.0], ([2], [0])), shape=(3, 3))).toarray()
    np.testing.assert_array_equal(wide, [[0, 2, 0, 0], [0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("kind", ["real", "counts"])
def test_sparse_samples_stand_in_the_order_of_the_same_dense_ones(kind):
    rng = np.random.default_rng(0)
    X = sparse.random_array((80, 30), density=0.1, rng=rng).toarray()
    X = np.rint(2 * X) if kind == "counts" else X
    dense, found = unique_samples(X), unique_samples(sparse.csr_array(X))
    np.testing.assert_array_equal(found.index, dense.index)
    np.testing.assert_array_equal(found.inverse, dense.inverse)
