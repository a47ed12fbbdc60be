"""Rebuilt samples: J X, and the error of the paper's tables."""

import numpy as np

from hne.core.neighbors.graph import knn_graph
from hne.core.records import Settings
from hne.core.weights import layers as _layers
from hne.core.weights.layers import layer_weights, reconstruct, reconstruction_errors
from tests.helpers import reference


def joint_weights(X):
    return layer_weights(X, knn_graph(X, 6), Settings()).J


def test_samples_are_rebuilt_by_their_joint_weights(cloud):
    J = joint_weights(cloud)
    np.testing.assert_allclose(reconstruct(cloud, J), J.toarray() @ cloud, atol=1e-12)


def test_errors_are_lengths_not_squares(cloud, monkeypatch):
    J = joint_weights(cloud)
    expected = reference.reconstruction_errors(cloud, J.toarray())
    np.testing.assert_allclose(reconstruction_errors(cloud, J), expected, atol=1e-12)
    monkeypatch.setattr(_layers, "BLOCK_BYTES", 1)
    np.testing.assert_allclose(reconstruction_errors(cloud, J), expected, atol=1e-12)


def test_errors_far_from_the_origin_keep_their_digits(cloud):
    near, far = cloud, cloud + 1e8
    J = joint_weights(near)
    # The shift itself rounds the samples by 1e-8.
    np.testing.assert_allclose(reconstruction_errors(far, J), reconstruction_errors(near, J), atol=1e-6)
