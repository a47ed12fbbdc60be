"""The verdict of a report: said first, with the numbers behind it, in coordinates that say what they are."""

import re

import numpy as np
import pytest

from hne import PUBLISHED, embed
from hne.core.trust.verdict import LEVELS, Finding
from hne.viz.report import Details, notebook_html, report_page
from tests.helpers.judged import some_trust
from tests.helpers.pages import Page
from tests.viz.test_report import read


@pytest.fixture(scope="module")
def result():
    return embed(np.random.default_rng(7).normal(size=(60, 3)), coordinates="chart")


def test_the_verdict_is_said_before_the_picture_with_its_own_shape_and_word(result):
    shapes = set()
    words = {"good": "Good.", "doubtful": "Doubtful.", "bad": "Bad.", "unknown": "Not known."}
    for level in LEVELS:
        page = report_page(result, Details(trust=some_trust(level=level)))
        top = page[page.index("<main>") : page.index('id="picture"')]
        assert f'<section id="verdict" class="level-{level}"' in top
        assert Page(top).text.startswith(f"Can it be believed? {words[level]} Do not believe it: try n_neighbors=5.")
        assert "2 pairs tie what is far apart. Lower n_neighbors." in Page(top).text
        shapes.add(re.search('class="mark-shape" d="([^"]+)"', top)[1])
        assert page.count("level-note") == 1 + page.count(".level-note")  # what is only to be known speaks for nothing
    assert len(shapes) == len(LEVELS)


def test_an_embedding_that_was_not_judged_is_judged_for_the_page(result, monkeypatch):
    verdict = result.trust.verdict
    monkeypatch.setitem(vars(result), "trust", None)
    assert verdict in read(result).text
    assert verdict in Page(notebook_html(result)).text


def test_what_the_verdict_says_is_not_said_again_among_the_warnings(result):
    verdict = "Do not believe it: try n_neighbors=5."
    page = read(result, trust=some_trust(), embedding_warnings=[f"{verdict} See trust_.", "Neighbors are few."])
    assert page.text.count(verdict) == 1
    assert "Worth knowing Neighbors are few." in page.text


def test_a_finding_that_the_verdict_has_told_is_not_listed_again(result):
    told = Finding("score", "bad", {}, "Try reg='auto'", "neighborhoods lose their shape")
    other = Finding("self", "good", {}, "Pass include_self=False", "samples rebuild themselves")
    verdict = "Do not believe it: neighborhoods lose their shape; try reg='auto'."
    page = read(result, trust=some_trust(verdict=verdict, findings=(told, other)))
    assert page.text.lower().count("neighborhoods lose their shape") == 1
    assert "Samples rebuild themselves. Pass include_self=False." in page.text


def test_an_embedding_shows_what_it_knows_itself(result, monkeypatch):
    monkeypatch.setitem(vars(result), "trust", some_trust(verdict="Its own words."))
    assert "Bad. Its own words." in read(result).text
    assert "Bad.</strong> Its own words." in notebook_html(result)


def test_the_numbers_behind_the_verdict_are_told(result):
    page = read(result, trust=some_trust(), ids=[f"s{i}" for i in range(60)])
    told = page.text.split("How far it can be believed")[1].split("How well neighbors")[0]
    # A quarter, plus three tenths of another quarter and a half, plus a fifth of a half.
    assert "Score 0.575" in told
    assert "the tangent loss, 0.2500, the rank loss, 0.7500, and" in told
    assert "unevenness of its stretching, 0.5000." in told
    assert "Intrinsic dimension 3" in told
    assert "2.75 by likelihood, 2.25 by the two nearest, which do not agree. The embedding has 2, 1 fewer." in told
    assert "Eigenvalue gap 1.500" in told
    assert "Repeated share 87.5%" in told
    assert "Self share 12.5%" in told
    assert "Pieces 1 " in told
    assert "Bridges 4 " in told
    assert "Short circuits 2 " in told
    assert told.endswith("Each button shows its pair in the picture. s3 and s41 s7 and s50 ")
    assert page.text.count("Eigenvalue gap") == 1
    assert page.meta()["shorts"] == [[3, 41], [7, 50]]


def test_what_is_not_known_of_trust_is_explained(result):
    nothing = {"score": None, "dimension": None, "eigenvalue_gap": np.inf, "repeated_share": np.nan}
    unknown = some_trust(short_circuits=np.empty((0, 2), dtype=np.intp), findings=(), **nothing)
    page = read(result, trust=unknown)
    assert page.text.count("not measured") >= 4
    assert "Short circuits 0 " in page.text
    assert page.meta()["shorts"] == []
    assert "Each button" not in page.text


def test_short_circuits_are_kept_among_few_points_and_beyond_many_counted(result):
    limits = {"max_points": 40, "max_shorts": 1}
    page = read(result, limits, trust=some_trust(), rows=np.arange(60) + 101)
    ((first, second),) = page.meta()["shorts"]
    assert page.array("rows", "f8")[[first, second]].tolist() == [104, 142]
    assert "104 and 142 1 more pair not listed." in page.text


def test_a_page_and_a_notebook_say_what_their_axes_are(result):
    page = read(result)
    assert "in chart coordinates, in units of X: the first coordinate across" in page.text
    assert page.meta()["coordinates"] == "chart"
    published = embed(result.core.X, **PUBLISHED)
    page = read(published)
    assert "in eigenvectors: the first coordinate across" in page.text
    assert page.meta()["coordinates"] == "eigenvectors"
    assert "60 samples, eigenvectors" in notebook_html(published)
    assert "in units of X" not in notebook_html(published)
    fragment = notebook_html(result, Details(trust=some_trust(level="doubtful")))
    assert "chart coordinates, in units of X" in fragment
    assert "<strong>Doubtful.</strong> Do not believe it: try n_neighbors=5.</p>" in fragment
    assert fragment.index("hne-verdict hne-doubtful") < fragment.index("Hierarchic Neighbors")


def test_a_notebook_draws_to_one_scale_and_flat_what_is_flat():
    grid = np.random.default_rng(0).random((300, 2)) * [16, 1]
    strip = embed(np.column_stack([grid, np.zeros(300)]), n_neighbors=8)
    fragment = notebook_html(strip)
    places = np.array(re.findall(r"M([0-9.]+) ([0-9.]+)h0", fragment), dtype=float)
    drawn, own = np.ptp(places, axis=0), np.ptp(strip.Y, axis=0)
    np.testing.assert_allclose(drawn[0] / drawn[1], own[0] / own[1], rtol=0.02)
    assert 'width="300" height="100"' in fragment
    assert 'width="300" height="300"' in notebook_html(embed(grid, n_neighbors=8, n_components=1))
