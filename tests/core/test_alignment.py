"""Alignment: G = gamma A'A + B'B is symmetric, PSD, G @ 1 == 0; its triangle is the same in any blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hne import embed
from hne.core import records as _types
from hne.core.eigen.alignment import alignment, upper_triangle
from hne.core.neighbors.graph import knn_graph
from hne.core.weights.layers import layer_weights
from hne.settings import VARIANTS, Settings
from tests.conftest import lattice_clouds


def aligned(X, k=3, gamma=1.0, **parameters):
    return alignment(layer_weights(X, knn_graph(X, k), Settings(n_neighbors=k, **parameters)), gamma)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=20)
@given(X=lattice_clouds(), gamma=st.sampled_from([0.1, 1.0, 10.0]))
def test_g_is_symmetric_psd_and_annihilates_the_constant(variant, X, gamma):
    G = aligned(X, gamma=gamma, variant=variant).matrix().toarray()
    scale = np.abs(G).max()
    np.testing.assert_allclose(G, G.T, atol=1e-14 * scale)
    assert np.linalg.eigvalsh(G)[0] > -1e-12 * scale
    np.testing.assert_allclose(G @ np.ones(len(X)), 0.0, atol=1e-10 * scale)


@settings(max_examples=20)
@given(X=lattice_clouds(), gamma=st.sampled_from([0.1, 1.0, 10.0]))
def test_every_form_of_g_is_the_same_matrix(X, gamma):
    record = aligned(X, gamma=gamma)
    A, B = record.A.toarray(), record.B.toarray()
    G = gamma * A.T @ A + B.T @ B
    Y = np.random.default_rng(0).normal(size=(len(X), 2))
    scale = np.abs(G).max()
    np.testing.assert_allclose(record.matrix().toarray(), G, atol=1e-13 * scale)
    np.testing.assert_allclose(record.apply(Y), G @ Y, atol=1e-12 * scale)
    np.testing.assert_allclose(record.diagonal(), np.diag(G), atol=1e-13 * scale)
    stacked = record.stacked(Y)
    np.testing.assert_allclose(stacked.T @ stacked, Y.T @ G @ Y, atol=1e-12 * scale)


def test_a_sample_without_neighbors_is_not_drawn_to_the_origin(cloud):
    lists = knn_graph(cloud, 5).indices.copy()
    lists[3] = -1
    result = embed(cloud, n_neighbors=5, neighbors=(lists, None), coordinates="eigenvectors")
    assert not result.weights.W[[3]].nnz
    G = alignment(result.core.weights, 1.0).matrix()
    np.testing.assert_allclose(G @ np.ones(60), 0, atol=1e-9 * G.diagonal().max())
    assert result.eigenpairs.residuals.max() < 1e-9 * G.diagonal().max()


@settings(max_examples=20)
@given(X=lattice_clouds(), gamma=st.sampled_from([0.1, 1.0, 10.0]))
def test_it_is_the_upper_triangle_of_g_with_its_diagonal_first(X, gamma):
    record = aligned(X, gamma=gamma)
    upper = upper_triangle(record)
    expected = np.triu(record.matrix().toarray())
    np.testing.assert_allclose(upper.toarray(), expected, atol=1e-13 * np.abs(expected).max())
    assert upper.has_sorted_indices
    np.testing.assert_array_equal(upper.indices[upper.indptr[:-1]], np.arange(len(X)))


def test_blocks_and_threads_do_not_change_a_bit(roll):
    record = aligned(roll.X, 6)
    whole = upper_triangle(record, 1)
    split = upper_triangle(record, 4, block_rows=17)
    np.testing.assert_array_equal(whole.data, split.data)
    np.testing.assert_array_equal(whole.indices, split.indices)


def test_entries_are_numbered_in_int32_until_there_are_too_many(roll, monkeypatch):
    record = aligned(roll.X, 6)
    small = upper_triangle(record)
    assert small.indices.dtype == np.int32
    monkeypatch.setattr(_types, "INT32_MAX", 100)
    large = upper_triangle(record)
    assert large.indices.dtype == large.indptr.dtype == np.int64
    assert abs(large - small).max() == 0.0
