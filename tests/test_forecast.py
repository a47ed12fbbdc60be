"""Forecast: grows with the problem, says what does not fit, and the walk refuses it before it starts."""

import numpy as np
import pytest

from hne import _embed, _forecast, embed, forecast
from hne.datasets import make_swiss_roll
from hne.exceptions import InputError, InputTypeError, TooLargeError


def test_more_of_anything_needs_more():
    base = forecast(50_000, 3, 8)
    assert base.fits
    for larger in (forecast(100_000, 3, 8), forecast(50_000, 300, 8), forecast(50_000, 3, 12)):
        assert larger.peak_bytes > base.peak_bytes
    direct = {"intrinsic_dimension": 3, "eigen_solver": "direct"}
    assert forecast(50_000, 3, 8, **direct).peak_bytes > base.peak_bytes


def test_rows_are_those_of_real_neighbors(roll):
    sizes = embed(roll.X, n_neighbors=8).weights.J.nnz / len(roll.X)
    joint_row, row_entries = _forecast.row_sizes(len(roll.X), 8, 2)
    assert abs(joint_row / sizes - 1) < 0.15
    assert row_entries > joint_row


def test_high_dimensions_go_to_the_iterative_solver():
    assert forecast(20_000, 50, 10, intrinsic_dimension=10).solver == "iterative"
    assert forecast(20_000, 50, 10).solver == "direct"
    assert forecast(300, 5).solver == "dense"


def test_it_says_everything_in_a_line():
    line = str(forecast(20_000, 3, 8))
    assert "20000 x 3 with 8 neighbors, filling 2 dimensions: peak 0." in line
    assert "direct solver" in line
    assert line.endswith("fits")


@pytest.mark.parametrize("solver", ["auto", "direct", "iterative", "dense"])
def test_what_does_not_fit_says_so(solver):
    huge = forecast(10**10, 3, 8, eigen_solver=solver)
    assert not huge.fits
    assert str(huge).endswith("does not fit")


def test_the_walk_refuses_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr(_embed, "FORECAST_MIN_SAMPLES", 100)
    monkeypatch.setattr(_forecast, "available_bytes", lambda: 1_000_000)
    monkeypatch.setattr(_embed, "knn_graph", lambda *_: pytest.fail("neighbors were searched"))
    message = r"an embedding of 200 samples with n_neighbors=6 needs about .* GB, got 0.001 GB of free memory\. "
    with pytest.raises(TooLargeError, match=message):
        embed(make_swiss_roll(200).X)


def test_bad_shapes_are_refused():
    with pytest.raises(InputError, match="n_neighbors=6 needs at least 7 samples, got n_samples=5"):
        forecast(5, 3)
    with pytest.raises(InputTypeError, match=r"n_samples must be an integer, got 1\.5"):
        forecast(1.5, 3)
    with pytest.raises(InputError, match="intrinsic_dimension must be at least 1, got 0"):
        forecast(100, 3, intrinsic_dimension=0)
    assert forecast(100, 3, intrinsic_dimension=np.int64(7)).intrinsic_dimension == 3
