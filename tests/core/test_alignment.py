"""Alignment: G = gamma A'A + B'B is symmetric, positive semidefinite, and G @ 1 == 0."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hne import embed
from hne.core.eigen.alignment import alignment
from hne.core.neighbors.graph import knn_graph
from hne.core.records import Settings
from hne.core.weights.layers import layer_weights
from tests.conftest import lattice_clouds


def aligned(X, k=3, gamma=1.0, **parameters):
    settings = Settings(n_neighbors=k, **parameters)
    return alignment(layer_weights(X, knn_graph(X, k), settings), gamma)


@pytest.mark.parametrize("variant", ["ihne", "rhne", "bhne"])
@given(X=lattice_clouds(), gamma=st.sampled_from([0.1, 1.0, 10.0]))
def test_g_is_symmetric_psd_and_annihilates_the_constant(variant, X, gamma):
    G = aligned(X, gamma=gamma, variant=variant).matrix().toarray()
    scale = np.abs(G).max()
    np.testing.assert_allclose(G, G.T, atol=1e-14 * scale)
    assert np.linalg.eigvalsh(G)[0] > -1e-12 * scale
    np.testing.assert_allclose(G @ np.ones(len(X)), 0.0, atol=1e-10 * scale)


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
    result = embed(cloud, n_neighbors=5, neighbors=(lists, None))
    assert not result.weights.W[[3]].nnz
    G = alignment(result.core.weights, 1.0).matrix()
    np.testing.assert_allclose(G @ np.ones(60), 0, atol=1e-9 * G.diagonal().max())
    assert result.eigenpairs.residuals.max() < 1e-9 * G.diagonal().max()
