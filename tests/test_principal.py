"""principal_coordinates: centered, orthogonal columns, no more than a few samples can span."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from hne._principal import principal_coordinates
from hne._samples import Distances

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
