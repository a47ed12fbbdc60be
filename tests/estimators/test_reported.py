"""Models that show themselves: `report` from Python, and the cell of a notebook."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.exceptions import NotFittedError

from hne import HNE
from hne.datasets import make_swiss_roll
from hne.exceptions import InputError, InputTypeError
from hne.settings import STAGES
from hne.viz.report import notebook_html


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(200, even=True, random_state=3)


@pytest.fixture(scope="module")
def model(roll):
    return HNE().fit(roll.X)


@pytest.fixture
def page(tmp_path):
    return tmp_path / "page.html"


def test_a_report_has_the_title_the_features_and_the_parameters(model, page):
    model.report(page, title="My <roll>")
    text = page.read_text(encoding="utf-8")
    assert "<title>My &lt;roll&gt;" in text
    assert '"x1"' in text
    assert "n_neighbors" in text
    assert "eigenpairs" in text


def test_colors_are_values_or_the_name_of_a_column(model, roll, page):
    model.report(page, color=roll.chart[:, 0])
    assert '"color"' in page.read_text(encoding="utf-8")
    model.report(page, color="x2")
    with pytest.raises(InputError, match=r"got 'age'. There are: 'x1', 'x2', 'x3'"):
        model.report(page, color="age")
    with pytest.raises(InputError, match="200 samples, got 3"):
        model.report(page, color=[1, 2, 3])


def test_given_colors_win_over_a_column_of_that_name(model, page):
    model.report(page, columns={"color": ["red"] * 200}, color=np.arange(200))
    assert {one["key"]: one["name"] for one in shown(page)["columns"]}[shown(page)["color"]] == "color 2"
    assert [column["name"] for column in shown(page)["columns"]][3:] == ["color 2", "color"]
    with pytest.raises(InputError, match="must be one-dimensional"):
        model.report(page, color=np.zeros((200, 3)))


def shown(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(text.split('id="meta">')[1].split("</script>")[0])


def test_a_path_may_start_at_home(model, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    model.report("~/x.html")
    assert (tmp_path / "x.html").exists()


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame])
def test_columns_come_as_a_mapping_or_a_frame(model, page, kind):
    columns = kind({"group": ["a", "b"] * 100, "age": np.arange(200.0)})
    model.report(page, columns=columns, color="group", ids=range(200))
    text = page.read_text(encoding="utf-8")
    assert '"group"' in text
    assert '"age"' in text
    assert '"x1"' not in text


def test_missing_values_of_a_frame_are_taken(model, page):
    frame = pd.DataFrame({"group": ["a", None] * 100, "age": [1.0, np.nan] * 100})
    frame["category"] = pd.Categorical(frame["group"])
    frame["nullable"] = pd.array([1, None] * 100, dtype="Int64")
    frame["day"] = pd.Timestamp("2026-01-01")
    frame["flag"] = True
    model.report(page, columns=frame)
    assert '"nullable"' in page.read_text(encoding="utf-8")


def test_what_does_not_fit_is_refused_and_no_page_is_left(model, page):
    with pytest.raises(InputTypeError, match=r"columns must be .* got list"):
        model.report(page, columns=[1, 2])
    with pytest.raises(InputError, match=r"ids must .* got 2"):
        model.report(page, ids=["a", "b"])
    with pytest.raises(InputError, match="images must be"):
        model.report(page, images=np.zeros((200, 3)))
    assert not page.exists()


def test_a_model_that_is_not_fitted_has_nothing_to_report(page):
    with pytest.raises(NotFittedError):
        HNE().report(page)


def test_images_become_thumbnails(page):
    pixels = np.random.default_rng(0).random((60, 30))
    HNE().fit(pixels).report(page, images=pixels.reshape(-1, 6, 5))
    assert "image/png" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "make",
    [
        lambda X: HNE().fit(csr_array(np.round(X))),
        lambda X: HNE(metric="precomputed").fit(cdist(X, X)),
        lambda X: HNE(n_components=1).fit(X),
        lambda X: HNE().fit(X.astype(np.float32)),
        lambda X: HNE(metric="cosine").fit(X),
    ],
    ids=["sparse", "distances", "one coordinate", "single precision", "cosine"],
)
def test_every_kind_of_fit_can_be_reported(make, roll, page):
    make(roll.X).report(page)
    assert page.stat().st_size > 10_000


def test_a_loaded_model_reports_without_timings(model, page, tmp_path):
    model.save(tmp_path / "model.hne")
    again = HNE.load(tmp_path / "model.hne")
    again.report(page)
    assert again.timings_ == {}
    assert list(model.timings_) == list(STAGES)


def test_a_notebook_shows_parameters_before_and_the_picture_after_a_fit(roll):
    model = HNE(n_neighbors=7)
    before = model._repr_mimebundle_()
    assert "hne-fragment" not in before["text/html"]
    after = model.fit(roll.X)._repr_mimebundle_()["text/html"]
    assert after.endswith(notebook_html(model._fitted))
    assert before["text/plain"] == "HierarchicNeighborsEmbedding(n_neighbors=7)"


def test_a_notebook_that_wants_text_gets_text(model):
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
