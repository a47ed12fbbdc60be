"""Files of charts: what they say of charts, cuts and eigenvectors comes back, or is refused by name."""

import numpy as np
import pytest

from hne import HNE, PUBLISHED
from hne.core.records import ALONG_GRAPH, UNFOLDED
from hne.datasets import make_swiss_roll
from hne.exceptions import ModelFileError
from tests.estimators.test_model_file import assert_same, changed, forge, kept

# Two that have charts, and one so small that it is drawn by its principal axes.
PIECES = np.vstack(
    [
        make_swiss_roll(150, even=True, random_state=3).X,
        np.random.default_rng(0).normal(size=(60, 3)) * 3 + 200,
        np.random.default_rng(1).normal(size=(5, 3)) + 500,
    ]
)


@pytest.fixture(scope="module")
def model():
    return HNE(8).fit(PIECES)


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model.hne")
    return tmp_path / "model.hne"


def test_charts_of_pieces_come_back_with_all_their_numbers(model, saved):
    rescaled = model._fitted.core.rescaled
    assert [chart is None for chart in rescaled.charts] == [False, False, True]
    for chart in rescaled.charts[:2]:
        assert np.isfinite(chart.way_stress) == (chart.route == ALONG_GRAPH)
    # The larger piece has more eigenvectors than the other.
    assert [len(pairs.values) for pairs in model._fitted.core.parts] == [20, 10, 2]
    again = HNE.load(saved)
    assert_same(kept(model), kept(again))
    assert_same(model._fitted.core.rescaled, again._fitted.core.rescaled)
    np.testing.assert_array_equal(model.short_circuits_, again.short_circuits_)


def test_the_published_method_has_no_charts_in_its_file(tmp_path):
    model = HNE(**PUBLISHED).fit(PIECES[:150])
    model.save(tmp_path / "model.hne")
    with np.load(tmp_path / "model.hne") as file:
        assert "eigen.vectors" not in file.files
        assert file["chart.stress"].shape == (0, 2)
        assert file["rescaled.A"].shape == (2, 2)
    again = HNE.load(tmp_path / "model.hne")
    assert again.chart_ is None
    assert_same(kept(model), kept(again))


ROUTE = {"route": UNFOLDED, "n_put_back": 0}


@pytest.mark.parametrize(
    "charts",
    [
        [ROUTE],
        [ROUTE, ROUTE, ROUTE, ROUTE],
        [ROUTE, ROUTE, ROUTE],
        [{"route": "by hand", "n_put_back": 0}, ROUTE, None],
        [{"route": UNFOLDED}, ROUTE, None],
        [{"route": UNFOLDED, "n_put_back": -1}, ROUTE, None],
        [{"route": UNFOLDED, "n_put_back": True}, ROUTE, None],
        [{"route": [UNFOLDED], "n_put_back": 0}, ROUTE, None],
        ["chart", ROUTE, None],
    ],
)
def test_headers_that_lie_about_charts_are_told(saved, charts):
    forge(saved, lambda header: header.update(charts=charts))
    with pytest.raises(ModelFileError, match=r"'charts' in its header must say of each piece how its chart was found"):
        HNE.load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.pop("charts") and None, "its header lacks 'charts'"),
        (lambda header: header.update(charts={}), "'charts' in its header must be list, got dict"),
        (lambda header: header.update(charts=[]), r"array 'chart.stress' must have shape \(0, 2\), got \(2, 2\)"),
        (
            lambda header: header.update(charts=[ROUTE, None, None]),
            r"array 'chart.stress' must have shape \(1, 2\), got \(2, 2\)",
        ),
        (lambda header: header.update(is_refused=0), "'is_refused' in its header must be bool, got int"),
    ],
)
def test_headers_that_lack_charts_are_told(saved, change, message):
    forge(saved, change)
    with pytest.raises(ModelFileError, match=rf"^cannot read '.*model\.hne': {message}"):
        HNE.load(saved)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("rescaled.ends", lambda held: None, "array 'rescaled.ends' is missing"),
        ("rescaled.A", lambda held: held["rescaled.A"][:-1], "array 'rescaled.ends' must hold numbers from 0 to 29"),
        ("rescaled.A", lambda held: held["rescaled.A"][:, :1], r"array 'rescaled.A' must have shape \('any', 2\)"),
        (*changed("rescaled.A", (0, 0), np.nan), "array 'rescaled.A' must be finite, got inf or NaN"),
        (*changed("rescaled.ends", 0, 1), "array 'rescaled.ends' must ascend from 0 to 30"),
        (*changed("rescaled.ends", 1, 31), "array 'rescaled.ends' must hold numbers from 0 to 30, got 31"),
        (*changed("rescaled.ends", 1, 1), "array 'rescaled.A' must have a row for each eigenvector"),
        (*changed("rescaled.ends", 2, 29), "array 'chart.spectrum' must have shape|array 'rescaled.A' must have a row"),
        (*changed("rescaled.Y", (0, 0), np.nan), "array 'rescaled.Y' must have coordinates where 'Y' has"),
        ("chart.stress", lambda held: None, "array 'chart.stress' is missing"),
        (
            "chart.stress",
            lambda held: held["chart.stress"][:1],
            r"'chart.stress' must have shape \(2, 2\), got \(1, 2\)",
        ),
        (*changed("chart.stress", (0, 0), -1.0), "'chart.stress' and 'chart.spectrum' must hold numbers of zero and"),
        (*changed("chart.stress", (0, 0), np.nan), "'chart.stress' and 'chart.spectrum' must hold numbers of zero and"),
        ("chart.spectrum", lambda held: held["chart.spectrum"][:3], r"array 'chart.spectrum' must have shape \(30,\)"),
        (*changed("chart.spectrum", 0, np.inf), "array 'chart.spectrum' must be finite"),
        (*changed("chart.spectrum", 0, -1.0), "'chart.stress' and 'chart.spectrum' must hold numbers of zero and more"),
        (*changed("short_circuits", (0, 0), -1), "array 'short_circuits' must hold numbers from 0 to 214, got -1"),
        (*changed("short_circuits", (0, 1), 215), "array 'short_circuits' must hold numbers from 0 to 214, got 215"),
        ("short_circuits", lambda held: held["short_circuits"][:, :1], "array 'short_circuits' must have shape"),
        ("short_circuits", lambda held: held["short_circuits"] * 1.0, "array 'short_circuits' must be of kind i8"),
        ("eigen.vectors", lambda held: held["eigen.vectors"][:, :1], "'eigen.vectors' must have 2 columns at least"),
        ("eigen.vectors", lambda held: held["eigen.vectors"][:, :9], r"'eigen.values' must have shape \(3, 9\)"),
        (*changed("eigen.values", (0, 0), np.nan), "array 'eigen.values' must have 2 numbers at least for a piece"),
        (*changed("eigen.values", (2, slice(1, None)), np.nan), "array 'eigen.values' must have 2 numbers at least"),
    ],
)
def test_arrays_that_lie_about_charts_are_told(saved, name, change, message):
    with np.load(saved) as file:
        held = {one: file[one] for one in file.files}
    # There is a short circuit to lie about.
    held["short_circuits"] = np.array([[0, 1]])
    forge(saved, **{"short_circuits": held["short_circuits"], name: change(held)})
    with pytest.raises(ModelFileError, match=rf"^cannot read '.*model\.hne': .*({message})"):
        HNE.load(saved)
