"""The page about a search for settings: its pictures, its colors, and that nothing of the data becomes markup."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hne.datasets import make_swiss_roll
from hne.exceptions import InputError
from hne.tuning import tune
from hne.viz.report import write_tuning_report
from hne.viz.report.tuning import align_embeddings
from tests.helpers.pages import Page

ROLL = make_swiss_roll(150, even=True, random_state=0)
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>\"'&"


@pytest.fixture(scope="module")
def found():
    return tune(ROLL.X, grid={"n_neighbors": [5, 6], "reg": [1e-3, 1e-4], "variant": ["ihne", "bhne"]})


def test_axes_of_pictures_are_equal_and_turned_alike():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(50, 2)) * [5, 1]
    angle = np.array([[0, 1], [-1, 0.0]])
    first, second = align_embeddings([Y, (Y + 3) @ angle])
    assert np.allclose(first, second)
    assert math.isclose(np.linalg.norm(first[0] - first[1]), np.linalg.norm(Y[0] - Y[1]))
    assert np.ptp(first[:, 0]) > np.ptp(first[:, 1])


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (np.arange(150.0), "c0 c16"),
        (np.array(["a", "b", None] * 50, dtype=object), "c17 c18 c19"),
        (np.array([f"{i % 12}?" for i in range(150)], dtype=object), "c18 c27 c28"),
        (np.array(["2024-01-01", "2024-02-01"] * 75, dtype=object), "c0 c16"),
        (np.where(np.arange(150) % 2, np.nan, 10.0 ** (np.arange(150) / 20)), "c0 c16 c17"),
    ],
)
def test_samples_are_colored_by_values(found, tmp_path, values, classes):
    write_tuning_report(found, tmp_path / "r.html", color=values, color_name="what")
    page = Page((tmp_path / "r.html").read_text())
    assert set(classes.split()) <= {one["class"] for name, one in page.elements if name == "path"}


def test_the_score_of_layouts_is_explained_as_what_it_is(found, tmp_path):
    layouts = tune(np.random.default_rng(0).normal(size=(80, 6)), grid={"n_neighbors": [8, 12]}, reg=0.1)
    assert layouts.settings.coordinates == "layout"
    write_tuning_report(layouts, tmp_path / "layouts.html")
    write_tuning_report(found, tmp_path / "charts.html")
    of_layouts, of_charts = (Page((tmp_path / name).read_text()).text for name in ("layouts.html", "charts.html"))
    assert "what a layout loses of neighborhoods: one minus its trustworthiness" in of_layouts
    assert "Layouts, which preserve neighborhoods and not distances, both axes alike" in of_layouts
    assert "In lengths of the samples" not in of_layouts
    assert "of the plane in which a sample" in of_charts


def test_one_coordinate_and_three_are_drawn_too(tmp_path):
    for d in (1, 3):
        many = tune(np.random.default_rng(0).random((80, 4)), grid={"n_neighbors": [8]}, n_components=d, reg=1e-3)
        write_tuning_report(many, tmp_path / f"{d}.html")
        text = (tmp_path / f"{d}.html").read_text()
        assert ("height means nothing" in text) == (d == 1)
        assert ("principal axes are drawn" in text) == (d == 3)


def test_colors_of_another_length_are_refused(found, tmp_path):
    with pytest.raises(InputError, match="color must have one value"):
        write_tuning_report(found, tmp_path / "r.html", color=[1, 2])


def test_nothing_that_data_says_becomes_markup(found, tmp_path):
    color = np.array([HOSTILE, "b"] * 75, dtype=object)
    path = tmp_path / "r.html"
    write_tuning_report(
        found,
        path,
        title=HOSTILE,
        color=color,
        color_name=HOSTILE,
        source=HOSTILE,
        command=HOSTILE,
        data_notes=[HOSTILE],
    )
    page = Page(path.read_text())
    assert not page.all("img")
    assert len(page.all("script")) == 1
    assert page.words("title") == [HOSTILE]
    assert page.is_balanced


def test_settings_without_a_score_say_why(found, tmp_path):
    *first, stopped, failed, late = found.trials
    others = (
        replace(stopped, outcome="stopped early", score=0.25, reason="cannot win"),
        replace(failed, outcome="failed", score=math.nan, reason="no memory"),
        replace(late, outcome="not reached", score=math.nan),
    )
    write_tuning_report(replace(found, trials=(*first, *others)), tmp_path / "r.html")
    page = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    cells = page.all("td", "none")
    assert sorted(cell["title"].split(": ")[1] for cell in cells) == [
        "failed, no memory", "not reached", "stopped early, cannot win",
    ]  # fmt: skip
    assert {">0.25", "failed", "·", "> 0.2500", "failed: no memory"} <= set(page.words("td"))
    assert "settings not measured: 1 stopped early, 1 failed, 1 not reached 3" in page.text


@pytest.mark.browser
def test_the_page_is_quiet_in_a_browser_copies_and_turns_dark(found, tmp_path, browser):
    path = tmp_path / "r.html"
    write_tuning_report(found, path, title=HOSTILE, command="hne embed x.csv")
    heard = []
    page = browser.new_page(viewport={"width": 420, "height": 800}, color_scheme="dark")
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url) if request.url != Path(path).as_uri() else None)
    page.goto(Path(path).as_uri())
    assert page.locator("#theme").inner_text() == "Light"
    stroke = "getComputedStyle(document.querySelector('path.c0')).stroke"
    dark = page.evaluate(stroke)
    page.locator("#theme").click()
    assert page.evaluate(stroke) != dark
    page.locator(".copy").first.click()
    page.wait_for_function("document.querySelector('.copy').innerText !== 'Copy'")
    assert page.locator(".copy").first.inner_text() in {"Copied", "Could not copy"}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("window.hacked") is None
    page.close()
    assert heard == []
