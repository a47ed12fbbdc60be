"""Principal coordinates: centered, orthogonal columns, no more than a few samples can span, and quickly of many."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from hne.core.pieces.arrange import MAX_COVARIANCE, leading_coordinates, principal_coordinates
from hne.core.samples.kinds import Distances

THREE = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])


@pytest.mark.parametrize("X", [THREE, THREE + 9e12 * np.array([1.0, -0.7, 0.3]), Distances(cdist(THREE, THREE))])
def test_three_samples_span_a_plane_however_far_from_the_origin(X):
    coordinates = principal_coordinates(X, np.arange(3), 3)
    assert not coordinates[:, 2].any()
    products = coordinates.T @ coordinates
    np.testing.assert_allclose(products - np.diag(np.diag(products)), 0, atol=1e-12)
    np.testing.assert_allclose(coordinates.sum(axis=0), 0, atol=1e-12)


def test_distances_give_the_coordinates_of_the_samples():
    by_distance = principal_coordinates(Distances(cdist(THREE, THREE)), np.arange(3), 2)
    np.testing.assert_allclose(by_distance, principal_coordinates(THREE, np.arange(3), 2), atol=1e-12)


@pytest.mark.parametrize("n_features", [3, MAX_COVARIANCE, MAX_COVARIANCE + 1])
def test_many_samples_have_the_coordinates_that_few_would_have(n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, n_features)) + 5
    X[:, :2] *= [30.0, 20.0]
    exact = principal_coordinates(X, np.arange(300), 2)
    np.testing.assert_allclose(leading_coordinates(X, 2), exact, atol=1e-6 * np.abs(exact).max())


def test_directions_that_are_alike_lose_next_to_nothing_of_the_variance():
    X = np.random.default_rng(0).normal(size=(500, 2 * MAX_COVARIANCE))
    exact, found = principal_coordinates(X, np.arange(500), 2), leading_coordinates(X, 2)
    assert found.var() > 0.97 * exact.var()


def test_coordinates_beyond_those_there_are_come_out_as_zero():
    assert not leading_coordinates(np.outer(np.arange(5.0), [3.0, 4.0]), 3)[:, 2].any()
