"""Forecast: grows with the problem, says what does not fit, and the pipeline refuses it before it starts."""

import numpy as np
import pytest

from hne import embed, forecast
from hne.core import forecast as _forecast
from hne.core import pipeline as _workbench
from hne.core.eigen import costs as _costs
from hne.core.neighbors import graph as _start
from hne.datasets import make_swiss_roll
from hne.exceptions import InputError, InputTypeError, TooLargeError
from hne.settings import Settings


def test_more_of_anything_needs_more():
    base = forecast(50_000, 3, 8)
    assert base.fits
    for larger in (forecast(100_000, 3, 8), forecast(50_000, 300, 8), forecast(50_000, 3, 12)):
        assert larger.peak_bytes > base.peak_bytes
    direct = {"intrinsic_dimension": 3, "coordinates": "chart", "eigen_solver": "direct"}
    assert forecast(50_000, 3, 8, **direct).peak_bytes > base.peak_bytes


def test_a_chart_needs_more_than_the_eigenvectors_of_the_published_method():
    published = forecast(50_000, 3, 8, coordinates="eigenvectors")
    assert forecast(50_000, 3, 8, coordinates="chart").peak_bytes > published.peak_bytes


def test_samples_of_more_dimensions_than_coordinates_get_a_layout_without_eigenpairs():
    assert forecast(50_000, 50, intrinsic_dimension=2).solver != "none"
    layout = forecast(50_000, 50, intrinsic_dimension=3)
    assert (layout.solver, layout.n_neighbors) == ("none", 10)
    assert str(layout) == str(forecast(50_000, 50, intrinsic_dimension=3, coordinates="layout"))
    assert [*layout.stages] == ["neighbors", "weights", "layout"]
    assert [*layout.seconds] == ["neighbors", "short circuits", "weights", "layout", "trust"]
    assert layout.stages["layout"] > layout.stages["weights"]
    larger = forecast(100_000, 50, intrinsic_dimension=3)
    assert larger.seconds["layout"] == pytest.approx(2 * layout.seconds["layout"])
    # All pairs are summed for more than three coordinates.
    four, twice = (forecast(n, 50, intrinsic_dimension=9, n_components=4) for n in (10_000, 20_000))
    assert twice.seconds["layout"] == pytest.approx(4 * four.seconds["layout"], rel=0.1)
    assert forecast(20_000, 50, intrinsic_dimension=9, n_components=3).seconds["layout"] < four.seconds["layout"]
    # Joint rows grow with the dimensions that samples fill.
    assert forecast(50_000, 50, intrinsic_dimension=9).seconds["layout"] > layout.seconds["layout"]
    assert "4 neighbors" in str(forecast(5, 3, coordinates="layout"))


def test_neighbors_that_are_left_open_are_those_of_a_surface():
    assert str(forecast(1000, 3)) == str(forecast(1000, 3, 12))
    assert str(forecast(20_000, 3)) == str(forecast(20_000, 3, 8))
    assert "5 x 3 with 4 neighbors" in str(forecast(5, 3))


def test_rows_are_those_of_real_neighbors(roll):
    sizes = embed(roll.X, n_neighbors=8).weights.J.nnz / len(roll.X)
    joint_row, row_entries = _forecast.row_sizes(len(roll.X), 8, 2)
    assert abs(joint_row / sizes - 1) < 0.15
    assert row_entries > joint_row


@pytest.mark.slow
def test_high_dimensions_go_to_the_iterative_solver():
    assert forecast(20_000, 50, 10, intrinsic_dimension=10, coordinates="chart").solver == "iterative"


def test_the_solver_is_foreseen():
    assert forecast(20_000, 50, 10).solver == "direct"
    assert forecast(200, 5).solver == "dense"


def test_it_says_everything_in_a_line():
    line = str(forecast(20_000, 3, 8))
    assert "20000 x 3 with 8 neighbors, filling 2 dimensions: peak 0." in line
    assert "direct solver" in line
    assert line.endswith("it fits.")


@pytest.mark.parametrize("solver", ["auto", "direct", "iterative", "dense", "slepc"])
def test_what_does_not_fit_says_so(solver):
    huge = forecast(10**10, 3, 8, eigen_solver=solver)
    assert not huge.fits
    assert str(huge).endswith("transform the rest, or spread them over Dask workers (see the guide on large data).")
    wide = forecast(10**9, 300, 8, eigen_solver=solver)
    assert str(wide).endswith("Reduce the features (PCA), or embed a part of the samples and transform the rest.")


@pytest.mark.parametrize("extras", [True, False])
@pytest.mark.parametrize("free", [5e8, 2e9, 5e9, 1e10, 1.7e10, 3e10])
def test_what_the_forecast_lets_through_the_solvers_accept(monkeypatch, extras, free):
    monkeypatch.setattr(_costs, "find_spec", lambda _: object() if extras else None)
    monkeypatch.setattr(_forecast, "available_bytes", lambda: free)
    expected = forecast(1_000_000, 3, 8)
    count = Settings(coordinates="chart").n_eigenvectors(1_000_000)
    sizes = _costs.Sizes(1_000_000, count, 9, *_forecast.row_sizes(1_000_000, 8, 2), n_components=2)
    before_the_solver = expected.stages["eigenpairs"] - _costs.solver_bytes(sizes, expected.solver)
    left = free - (before_the_solver - _forecast.LIBRARIES)
    if expected.fits:
        assert _costs.choose_solver(sizes, "auto", left)[0][0] == expected.solver
    else:
        with pytest.raises(TooLargeError):
            _costs.choose_solver(sizes, "auto", _costs.MEMORY_SHARE * left - 0.1 * before_the_solver)


def test_samples_that_are_there_are_not_counted_again(monkeypatch):
    wide = (60_000, 5_000)
    expected = forecast(*wide)
    samples = 8 * 60_000 * 5_000
    assert expected.peak_bytes > 2.4 * samples  # themselves, and the copies that are searched
    monkeypatch.setattr(_forecast, "available_bytes", lambda: (expected.peak_bytes - 0.9 * samples) / 0.9)
    assert not forecast(*wide).fits
    _forecast.check_fits(*wide, Settings())


def test_a_layout_that_does_not_fit_is_refused_with_a_remedy(monkeypatch):
    expected = forecast(60_000, 20, coordinates="layout")
    enough = (expected.peak_bytes - _forecast.LIBRARIES) / _costs.MEMORY_SHARE
    monkeypatch.setattr(_forecast, "available_bytes", lambda: 1.01 * enough)
    assert forecast(60_000, 20, coordinates="layout").fits
    monkeypatch.setattr(_forecast, "available_bytes", lambda: 0.99 * enough)
    refused = forecast(60_000, 20, coordinates="layout")
    assert not refused.fits
    assert "Lower n_neighbors" in str(refused)
    assert "eigen_solver" not in str(refused)


def test_many_neighbors_are_foreseen_in_no_time():
    few, many = _forecast.row_sizes(10**6, 30, 2), _forecast.row_sizes(10**6, 300, 2)
    assert many == pytest.approx((10 * few[0], 10 * few[1]))


def test_the_walk_refuses_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr(_workbench, "FORECAST_MIN_SAMPLES", 100)
    monkeypatch.setattr(_forecast, "available_bytes", lambda: 100_000)
    monkeypatch.setattr(_start, "knn_graph", lambda *_: pytest.fail("neighbors were searched"))
    with pytest.raises(TooLargeError, match=r"n_neighbors=6 needs .* GB of free"):
        embed(make_swiss_roll(200).X, n_neighbors=6)
    # What is left open is known by then.
    with pytest.raises(TooLargeError, match="n_neighbors=12 needs"):
        embed(make_swiss_roll(200).X)


@pytest.mark.parametrize(
    ("shape", "more", "error", "parameter"),
    [
        ((5, 3, 6), {}, InputError, "n_neighbors"),
        ((100, 3, "auto"), {}, InputTypeError, "n_neighbors"),
        ((100, 3), {"coordinates": "map"}, InputError, "coordinates"),
        ((100, 3), {"n_components": 5}, InputError, "n_components"),
        ((1.5, 3), {}, InputTypeError, "n_samples"),
        ((100, 3), {"intrinsic_dimension": 0}, InputError, "intrinsic_dimension"),
        ((100, 3), {"intrinsic_dimension": "3"}, InputTypeError, "intrinsic_dimension"),
        ((100, 3), {"intrinsic_dimension": 3, "n_components": "auto"}, InputTypeError, "n_components"),
    ],
)
def test_bad_shapes_are_refused(shape, more, error, parameter):
    with pytest.raises(error, match=parameter) as caught:
        forecast(*shape, **more)
    assert caught.value.parameter == parameter


def test_samples_fill_no_more_dimensions_than_they_have_features():
    assert forecast(100, 3, intrinsic_dimension=np.int64(7)).intrinsic_dimension == 3


def test_the_dimension_that_samples_fill_is_measured_on_some_of_them():
    random = np.random.default_rng(0)
    assert _forecast.measured_dimension(make_swiss_roll(3000, random_state=0).X) == 2
    assert _forecast.measured_dimension(random.normal(size=(3000, 5))) == 5
    assert _forecast.measured_dimension(np.zeros((3, 2))) is None


def test_samples_that_fill_many_dimensions_are_filtered():
    expected = forecast(20_000, 50, 5, intrinsic_dimension=29, coordinates="chart")
    assert expected.solver == "iterative"
    least, most = expected.seconds_range
    assert least < sum(expected.seconds.values()) < most
