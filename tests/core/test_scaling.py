"""Units: ordinary data is left alone, extreme data comes into range without losing a digit, or is refused."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hne import HNE, PUBLISHED
from hne.core.samples.scaling import InputScaling, check_within_reach
from hne.exceptions import InputError
from tests.conftest import frozen

X = frozen(np.random.default_rng(0).normal(size=(30, 3)))


def test_ordinary_numbers_are_left_alone():
    for ordinary in (X, X * 1e80, X * 1e-80, np.zeros((2, 2))):
        assert InputScaling.fit(ordinary).transform(ordinary) is ordinary
        assert InputScaling.fit(ordinary).inverse_transform(ordinary) is ordinary


@pytest.mark.parametrize("scale", [1e-308, 1e-150, 1e150, 1e307])
def test_extreme_numbers_come_into_range_and_back(scale):
    extreme = X * scale
    units = InputScaling.fit(extreme)
    assert np.log2(units.scale) == int(np.log2(units.scale))
    inside = units.transform(extreme)
    assert 1e-8 < np.abs(inside).max() < 10
    np.testing.assert_allclose(units.inverse_transform(inside), extreme, rtol=1e-12, atol=1e-15 * scale)


def test_the_largest_numbers_there_are_do_not_overflow():
    largest = np.where(X > 0, 1.7e308, -1.7e308)
    inside = InputScaling.fit(largest).transform(largest)
    assert np.isfinite(inside).all()
    np.testing.assert_allclose(InputScaling.fit(largest).inverse_transform(inside), largest)


def test_a_huge_constant_column_does_not_set_the_units():
    inside = InputScaling.fit(np.column_stack([X, np.full(30, 1e200)])).transform(
        np.column_stack([X, np.full(30, 1e200)])
    )
    assert (inside[:, 3] == 0).all()
    assert 0.1 < np.abs(inside[:, :3]).max() < 10


def test_an_outlier_does_not_become_the_origin():
    data = np.vstack([[[1e120] * 3], X])
    inside = InputScaling.fit(data).transform(data)
    assert len(np.unique(inside[1:], axis=0)) == 30


def test_an_outlier_beyond_what_squares_can_tell_is_refused_with_the_numbers():
    with pytest.raises(
        InputError, match=r"X must not mix magnitudes .* got differences from .* to 1e\+200\. Drop the sam"
    ):
        InputScaling.fit(np.vstack([X, [[1e200] * 3]]))
    with pytest.raises(InputError, match="must not mix magnitudes"):
        InputScaling.fit(np.vstack([[[1e200] * 3], X]))


def test_new_samples_out_of_reach_are_named_by_row():
    new = np.array(X[:3])
    new[2] = 1e200
    with pytest.raises(
        InputError, match=r"X must be within 3e\+150 of the fitted .* got 1.0e\+200 in row 2\. Check the"
    ):
        check_within_reach(new, InputScaling.fit(X))
    assert check_within_reach(X, InputScaling.fit(X)) is X


def test_what_float64_cannot_hold_is_infinite_without_further_ado():
    X = np.array([[-1.7e308, 0.0], [1.7e308, 0.0], [1.7e308, 1.7e308], [0.0, 1.7e308], [0.0, 0.0]])
    settings = {"n_neighbors": 2, "reg": 1e3}
    model = HNE(**PUBLISHED | settings, n_components=1).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert not np.isnan(model.inverse_transform(1e6 * model.embedding_)).any()
    units = InputScaling.fit(X)
    assert units.restore_lengths(np.array([4.0]))[0] == np.inf
    # A chart has the lengths of X: the first sample is farther from the middle of all than the largest number.
    with pytest.raises(InputError, match=r"needs an X whose lengths float64 holds, got coordinates of about 1e\+308"):
        HNE(**settings, n_components=1).fit(X)


def test_sparse_samples_out_of_reach_of_tiny_ones_are_refused_without_further_ado():
    model = HNE(n_components=1).fit(csr_array(np.random.default_rng(0).normal(size=(30, 2)) * 1e-300))
    with pytest.raises(InputError, match=r"X must be within .* in row 0"):
        model.transform(csr_array([[1e300, 0.0]]))


@pytest.mark.parametrize("convert", [np.asarray, csr_array])
def test_what_vanishes_beside_the_largest_is_refused_with_the_numbers(convert):
    X = np.array([[1e-272], [1e-65], [4e-159], [2e281], [8e229]])
    with pytest.raises(InputError, match=r"X must not mix magnitudes .* got differences from 1e-\d+ to 2e\+281"):
        InputScaling.fit(convert(X))


def test_samples_that_are_equal_beside_the_largest_are_refused():
    X = np.concatenate([[-1e95, 2e-200, 1e-200], np.linspace(-1e-54, -2e-54, 9)])[:, None]
    with pytest.raises(InputError, match="got 12 different samples of which float64 tells 11 apart"):
        HNE(2, n_components=1).fit(X)


def test_a_distance_that_overflows_is_told_by_the_value():
    units = InputScaling.fit(X * 1e-300)
    with pytest.raises(InputError, match=r"got 1\.0e\+300 in row 0"):
        check_within_reach(np.full((1, 3), 1e300), units)
