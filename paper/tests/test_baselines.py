"""published_embedding: CLLE and LLC under one call, checked as the baselines of the library are."""

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn import config_context

from hne.exceptions import BaselineError, DisconnectedGraphWarning, InputError
from hne.metrics import affine_errors
from hne_paper.baselines import METHODS, published_embedding
from tests.conftest import frozen

every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def plane():
    """A sheet of two by one, turned in three dimensions, with a jittered lattice of samples; and its chart."""
    rng = np.random.default_rng(0)
    lattice = np.stack(np.meshgrid(np.arange(20.0), np.arange(10.0)), axis=-1).reshape(-1, 2)
    chart = (lattice + rng.uniform(-0.35, 0.35, lattice.shape)) / 10
    return frozen(chart @ ortho_group.rvs(3, random_state=0)[:2] + 5), chart


def islands(count, size=30):
    """Curved sheets far from each other, one above the other."""
    u, v = np.random.default_rng(1).random((2, size))
    sheet = np.column_stack([u, v, u**2 + v**3])
    return np.vstack([sheet * (1 + 0.1 * number) + 100 * number for number in range(count)])


@every_method
def test_a_flat_sheet_is_recovered(plane, method):
    X, chart = plane
    assert affine_errors(published_embedding(method, X, n_neighbors=8), chart).max() < 1e-3


@every_method
def test_copies_count_once_in_any_order_whatever_scikit_learn_gives_to_others(plane, method):
    X = plane[0][:80]
    expected = published_embedding(method, X, n_neighbors=8)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(X)), 3))
    with config_context(transform_output="pandas"):
        Y = published_embedding(method, X[rows], n_neighbors=8)
    np.testing.assert_array_equal(Y, expected[rows])
    assert not np.array_equal(published_embedding(method, X, n_neighbors=8, reg=1e-1), expected)


@every_method
def test_pieces_that_are_put_at_a_point_each_are_no_embedding(method):
    with pytest.raises(BaselineError, match=rf"method='{method}' needs .* got 5 pieces \(of 30, 30"):
        published_embedding(method, islands(5), n_neighbors=8)


@every_method
def test_two_pieces_are_warned_about(method):
    match = rf"has 2 pieces \(of 30, 30 distinct samples\): coordinates of method='{method}'"
    with pytest.warns(DisconnectedGraphWarning, match=match):
        published_embedding(method, islands(2), n_neighbors=8)


def test_other_methods_are_refused(plane):
    with pytest.raises(InputError, match=r"method must .* got 'lle'"):
        published_embedding("lle", plane[0])
