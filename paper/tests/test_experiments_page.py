"""The page: all claims, all pictures, nothing from elsewhere, nothing unescaped."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from hne_paper.experiments import Claim, Picture, Score, Section, Table
from hne_paper.experiments._methods import CHART
from hne_paper.experiments._page import page, write_page

HOSTILE = "<script>alert('x')</script> & \"quoted\""


def section_of(text, verdict="holds"):
    return Section(
        name="sparse",
        title=f"title {text}",
        text=f"text {text}",
        claims=(Claim(f"says {text}", f"measured {text}", verdict, f"seeds {text}"),),
        pictures=(Picture("figures/a.png", f"caption {text}"),),
        tables=(Table(f"table {text}", (f"head {text}", "k"), ((f"row {text}", "1"), ("BHNE", "2")), f"note {text}"),),
        scores=(Score(f"kind {text}", "k = 5", 30, {"LLE": 3, "BHNE": 29}),),
        settings=f"settings {text}",
    )


class Reader(HTMLParser):
    """Tags, words, and which tags are still open."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in {"meta", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_everything_a_section_has_is_on_the_page():
    read = Reader(page([section_of("plain")], "hne-paper reproduce --quick"))
    words = "".join(read.words)
    for part in (
        "title",
        "text",
        "says",
        "measured",
        "seeds",
        "caption",
        "table",
        "head",
        "row",
        "note",
        "settings",
        "kind",
    ):
        assert f"{part} plain" in words
    assert "hne-paper reproduce --quick" in words
    assert ("img", {"src": "figures/a.png", "alt": "caption plain", "loading": "lazy"}) in read.tags
    assert not read.open


def test_text_from_outside_is_escaped():
    text = page([section_of(HOSTILE)], HOSTILE)
    assert "<script" not in text
    assert HOSTILE in "".join(Reader(text).words)


def test_the_page_asks_nothing_of_any_network():
    assert not re.search(r"https?:|//|@import|url\(", page([section_of("plain")], "hne-paper reproduce"))


def test_links_lead_to_sections_of_the_page():
    read = Reader(page([section_of("plain")], ""))
    names = {attributes["id"] for _, attributes in read.tags if "id" in attributes}
    links = {attributes["href"] for tag, attributes in read.tags if tag == "a"}
    assert {link[1:] for link in links if link.startswith("#")} <= names


@pytest.mark.parametrize("verdict", ["holds", "holds in part", "does not hold", "shown"])
def test_verdicts_are_counted(verdict):
    counted = "".join(Reader(page([section_of("plain", verdict)], "")).words)
    expected = [int(verdict == one) for one in ("holds", "holds in part", "does not hold")]
    assert "{} hold, {} hold in part, {} do not hold".format(*expected) in counted


def test_our_methods_stand_out_in_tables():
    assert '<tr class="ours"><td>BHNE</td>' in page([section_of("plain")], "")


def test_a_scoreboard_counts_over_all_kinds_of_data():
    words = Reader(page([section_of("one"), section_of("two")], "")).words
    row = words.index("kind two, k = 5")
    assert words[row : row + 5] == ["kind two, k = 5", "30", "3", "29", "BHNE"]
    assert "On how many data sets" not in page([Section(name="a", title="b", text="c")], "")


def test_a_chart_stands_beside_the_score_and_does_not_compete():
    section = replace(section_of("one"), scores=(Score("kind", "k = 5", 30, {"LLE": 3, "BHNE": 29, CHART: 30}),))
    words = [word for word in Reader(page([section], "")).words if word.strip()]
    row = words.index("kind, k = 5")
    assert words[row : row + 6] == ["kind, k = 5", "30", "3", "29", "BHNE", "30"]
    assert "does not compete" in page([section], "")


def test_claims_of_the_paper_are_told_from_further_questions():
    section = section_of("plain")
    further = replace(section.claims[0], says="asked next", in_paper=False)
    text = page([replace(section, claims=(*section.claims, further))], "")
    assert text.index("The claims of the paper") < text.index("says plain") < text.index("Further questions")
    assert text.index("Further questions") < text.index("asked next")
    assert "1 hold, 0 hold in part, 0 do not hold" in text


def test_a_section_comes_back_from_its_file():
    section = section_of(HOSTILE)
    assert Section.from_json(json.loads(json.dumps(section.as_json()))) == section


def test_the_page_is_written_whole(tmp_path):
    write_page([section_of("plain")], tmp_path / "index.html", "hne-paper reproduce")
    assert (tmp_path / "index.html").read_text().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
