"""Affine errors: 0 for any affine image of the truth, 1 for what is lost."""

import numpy as np
import pytest

from hne.exceptions import InputError
from hne.metrics import affine_errors


def test_an_affine_image_of_the_truth_is_perfect():
    chart = np.random.default_rng(0).random((50, 2))
    np.testing.assert_allclose(affine_errors(chart @ [[2.0, 1.0], [-1.0, 3.0]] + 7, chart), 0.0, atol=1e-12)


def test_the_error_is_one_minus_r_squared():
    chart = np.array([[0.0], [1.0], [2.0], [3.0]])
    Y = np.array([[0.0], [2.0], [1.0], [3.0]])
    # Both have variance 1.25, their covariance is 1: R^2 = 1 / 1.5625 = 0.64.
    np.testing.assert_allclose(affine_errors(Y, chart), [0.36])


def test_a_collapsed_embedding_explains_nothing():
    chart = np.random.default_rng(1).random((20, 2))
    np.testing.assert_allclose(affine_errors(np.ones((20, 2)), chart), 1.0)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_units_of_the_chart_do_not_matter(scale):
    chart = np.random.default_rng(2).random((30, 2))
    Y = chart + 0.1 * np.random.default_rng(3).random((30, 2))
    np.testing.assert_allclose(affine_errors(Y * scale, chart * scale), affine_errors(Y, chart), rtol=1e-6)


def test_messages_name_the_argument():
    good, bad = np.eye(4), np.full((4, 4), np.nan)
    with pytest.raises(InputError, match=r"^Y must be finite"):
        affine_errors(bad, good)
    with pytest.raises(InputError, match=r"^chart must be finite"):
        affine_errors(good, bad)


def test_rows_must_match():
    with pytest.raises(InputError, match=r"chart must have as many rows as Y, got 4 and 5\. Pass matching rows"):
        affine_errors(np.ones((5, 2)), np.ones((4, 2)))


def test_a_constant_coordinate_cannot_be_explained():
    chart = np.column_stack([np.arange(5.0), np.full(5, 0.1)])
    with pytest.raises(InputError, match=r"chart must vary in every column, got a constant column 1\. Drop it"):
        affine_errors(np.random.default_rng(0).random((5, 2)), chart)
