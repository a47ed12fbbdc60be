"""Errors against a known chart: 0 for the truth in another guise, 1 for what is lost."""

import numpy as np
import pytest
import scipy.spatial

from hne.exceptions import InputError
from hne.metrics import affine_errors, procrustes_error


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


def test_a_moved_turned_and_scaled_truth_is_perfect_for_procrustes():
    rng = np.random.default_rng(4)
    chart = rng.normal(size=(40, 3))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    assert procrustes_error(7 * chart @ turn - 3, chart) < 1e-28
    assert procrustes_error(chart * [1, 1, -1], chart) < 1e-28


def test_procrustes_knows_one_scale_alone():
    # Columns of lengths 2 and 1, unit columns: (2 + 1)^2 of 2 * 5 are explained.
    chart = np.array([[2.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [-2.0, -1.0]])
    np.testing.assert_allclose(procrustes_error(chart / [2.0, 1.0], chart), 0.1)


def test_procrustes_agrees_with_scipy():
    rng = np.random.default_rng(5)
    chart, Y = rng.normal(size=(2, 60, 2))
    np.testing.assert_allclose(procrustes_error(Y, chart), scipy.spatial.procrustes(chart, Y)[2])


def test_columns_that_one_side_lacks_are_flat():
    rng = np.random.default_rng(6)
    chart, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 3))
    padded = np.column_stack([chart, np.zeros(30)])
    np.testing.assert_allclose(procrustes_error(Y, chart), procrustes_error(Y, padded))
    np.testing.assert_allclose(procrustes_error(chart, Y), procrustes_error(padded, Y))


def test_a_collapsed_embedding_has_lost_everything():
    assert procrustes_error(np.ones((20, 2)), np.random.default_rng(1).random((20, 2))) == pytest.approx(1.0)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_units_do_not_matter_to_procrustes(scale):
    chart, Y = np.random.default_rng(7).random((2, 30, 2))
    np.testing.assert_allclose(procrustes_error(Y * scale, chart), procrustes_error(Y, chart), rtol=1e-6)


def test_a_chart_of_one_point_is_refused():
    with pytest.raises(InputError, match=r"^chart must vary, got equal coordinates for all samples"):
        procrustes_error(np.eye(4), np.ones((4, 2)))


def test_no_samples_are_refused():
    with pytest.raises(InputError, match=r"^Y must have samples, got 0 sample\(s\)"):
        affine_errors(np.empty((0, 2)), np.empty((0, 2)))
