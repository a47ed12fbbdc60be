"""Datasets: on their surface, with the truth that belongs to them, the same for the same seed."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial import cKDTree

from hne.datasets import make_swiss_roll
from hne.datasets._synthetic import spiral_angle, spiral_length
from hne.exceptions import InputError, InputTypeError


@pytest.mark.parametrize("even", [False, True])
def test_samples_lie_on_the_roll_at_their_true_place(even):
    roll = make_swiss_roll(200, even=even, random_state=4)
    t = np.hypot(roll.X[:, 0], roll.X[:, 2])
    assert (t >= 1.5 * np.pi - 1e-9).all()
    assert (t <= 4.5 * np.pi + 1e-9).all()
    np.testing.assert_allclose(roll.X[:, 0], t * np.cos(t), atol=1e-9)
    np.testing.assert_allclose(roll.chart, np.column_stack([spiral_length(t), roll.X[:, 1]]), atol=1e-9)
    assert 0 <= roll.chart[:, 1].min() <= roll.chart[:, 1].max() <= 21


def test_the_arc_length_is_the_integral_along_the_spiral():
    integral, _ = quad(lambda t: np.sqrt(1 + t**2), 0, 7.0)
    assert spiral_length(np.array([7.0]))[0] == pytest.approx(integral)
    t = np.linspace(1.0, 15.0, 40)
    np.testing.assert_allclose(spiral_angle(spiral_length(t)), t, rtol=1e-13)


def test_even_samples_keep_their_distance_on_the_strip():
    def nearest(even):
        chart = make_swiss_roll(300, even=even, random_state=1).chart
        return np.median(cKDTree(chart).query(chart, 2)[0][:, 1])

    assert nearest(True) > 1.3 * nearest(False)


@pytest.mark.parametrize("even", [False, True])
def test_a_seed_makes_the_same_roll_and_another_seed_another(even):
    first, again, other = (make_swiss_roll(50, even=even, random_state=seed).X for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1


@pytest.mark.parametrize("n_samples", [1, 2, 3, 255, 256, 257])
def test_any_number_of_samples_can_be_had(n_samples):
    assert make_swiss_roll(n_samples, even=True).X.shape == (n_samples, 3)


def test_bad_requests_are_refused():
    with pytest.raises(InputError, match=r"n_samples must be at least 1, got 0\. Try n_samples=1000"):
        make_swiss_roll(0)
    with pytest.raises(InputTypeError, match="random_state must be an integer, got None"):
        make_swiss_roll(5, random_state=None)
