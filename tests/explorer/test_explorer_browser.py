"""The explorer in a real browser, against its running server."""

import io
import re
import shlex
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hne import HNE, embed
from hne.cli import explore as command
from hne.datasets import make_swiss_roll
from hne.explorer.request import Request
from hne.explorer.server import Explorer
from hne.explorer.session import Session
from hne.explorer.source import Source, table_of
from tests.helpers.pages import Page

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=window.hacked=1>\"'&${alert(1)}"
IDLE = "hneExplorer.state().result !== null && !hneExplorer.state().busy && !hneExplorer.state().moving"


def explorer_of(X, **facts):
    parameters = facts.pop("parameters", {})
    table = table_of(X, **facts)
    return Explorer(Session(Source(table, facts.get("title", "trees.csv"), Request.start(parameters))))


def rolled(n=300):
    roll = make_swiss_roll(n, random_state=0)
    half = np.where(roll.chart[:, 0] > np.median(roll.chart[:, 0]), "outer", "inner")
    return roll, {"labels": {"half": half, "turn": roll.chart[:, 0]}, "ids": [f"tree-{i}" for i in range(n)]}


class Served:
    """A server in a thread."""

    def __init__(self, explorer):
        self.explorer = explorer
        self.thread = threading.Thread(target=explorer.run, daemon=True)
        self.thread.start()

    def close(self):
        self.explorer.stop()
        self.thread.join(timeout=30)


@pytest.fixture(scope="module")
def served():
    roll, facts = rolled()
    one = Served(explorer_of(roll.X, parameters={"n_neighbors": 14}, **facts))
    yield one
    one.close()


class Visited:
    """A page of the explorer, and whatever it complained of or asked for."""

    def __init__(self, browser, address, **context):
        self.complaints, self.requests = [], []
        settings = {"viewport": {"width": 1400, "height": 900}, "accept_downloads": True}
        self.context = browser.new_context(**(settings | context))
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.origin = address.split("/?")[0]
        self.page.goto(address)
        self.until("window.hneExplorer !== undefined")
        self.rest()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if error[0] is None:
            assert self.complaints == []
            assert all(url.startswith((f"{self.origin}/", "blob:", "data:")) for url in self.requests)
        self.context.close()

    def until(self, condition, seconds=30):
        """Wait until an expression is true; the policy of the page forbids Playwright's own way, which is to eval."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, condition
            self.page.wait_for_timeout(20)

    def rest(self):
        self.until(IDLE)

    def state(self):
        return self.page.evaluate("hneExplorer.state()")

    def slide(self, name, value):
        """Move a slider as a hand does, and let go."""
        move = """([id, value]) => { const slider = document.getElementById(id); slider.value = value;
            slider.dispatchEvent(new Event("input", { bubbles: true })); }"""
        self.page.evaluate(move, [f"{name}-slider", value])

    def let_go(self, name):
        self.page.evaluate(f"document.getElementById('{name}-slider').dispatchEvent(new Event('change'))")

    def turn(self, name, value):
        self.slide(name, value)
        self.let_go(name)
        self.until(f"hneExplorer.state().request.parameters.{name} === {value}")
        self.rest()

    def words(self, selector):
        return self.page.locator(selector).inner_text()

    def pixel(self, i, plot=0):
        return self.page.evaluate(f"hneExplorer.pixelOf({i}, {plot})")

    def drag(self, places):
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=4)
        self.page.mouse.up()

    def lasso(self, around, margin=6):
        """Draw a line around samples: a box about their pixels."""
        pixels = np.array([self.pixel(i) for i in around])
        (left, top), (right, bottom) = pixels.min(axis=0) - margin, pixels.max(axis=0) + margin
        self.page.locator("#mode-lasso").click()
        self.drag([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)])

    def download(self, selector):
        with self.page.expect_download() as waiting:
            self.page.locator(selector).click()
        return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


@pytest.fixture
def page(browser, served):
    with Visited(browser, served.explorer.address) as visited:
        yield visited


def test_the_first_picture_is_that_of_the_command_with_its_verdict(page):
    roll, _ = rolled()
    result = embed(roll.X, n_neighbors=14)
    assert page.words("#title") == "trees.csv"
    assert page.words("#verdict-text") == result.trust.verdict
    assert page.state()["level"] == result.trust.level
    assert "with 14 neighbors" in page.words("#lead")
    assert page.page.locator("#n_neighbors-field").input_value() == "14"
    assert not page.page.locator("#n_neighbors-suits").is_checked()
    assert page.page.locator("#reg-suits").is_checked()
    chips = page.words("#measures")
    assert "Stress" in chips
    assert "Score" in chips


def test_sliders_embed_again_and_points_move_to_their_new_places(page):
    before = np.array([page.pixel(i) for i in range(40)])
    page.turn("n_neighbors", 9)
    assert page.state()["request"]["parameters"]["n_neighbors"] == 9
    assert "with 9 neighbors" in page.words("#lead")
    after = np.array([page.pixel(i) for i in range(40)])
    # Turned to the picture before it: a roll stays where it was, more or less.
    plot = page.page.locator("#plot").bounding_box()
    assert 0 < np.abs(after - before).max() < plot["width"] / 4
    page.slide("reg", 400)
    page.let_go("reg")
    page.until("!document.getElementById('reg-suits').checked")
    page.rest()
    assert page.state()["request"]["parameters"]["reg"] > 0
    page.page.locator("#reg-suits").check()
    page.rest()
    assert page.state()["request"]["parameters"]["reg"] is None
    for name, value in [
        ("variant", "rhne"),
        ("coordinates", "eigenvectors"),
        ("short_circuits", "keep"),
        ("metric", "manhattan"),
    ]:
        page.page.select_option(f"#{name}-choice", value)
        page.until(f"hneExplorer.state().request.parameters.{name} === '{value}'")
        page.rest()
    assert "by rhne" in page.words("#lead")
    assert "suspected" in page.words("#edges-text") or "None" in page.words("#edges-text")
    page.page.locator("#reset").click()
    page.rest()
    assert page.state()["request"]["parameters"]["n_neighbors"] == 14


def test_points_are_seen_on_their_way(browser, served):
    with Visited(browser, served.explorer.address) as page:
        page.slide("n_neighbors", 5)
        page.until("hneExplorer.state().moving")
        page.rest()
    with Visited(browser, served.explorer.address, reduced_motion="reduce") as page:
        page.slide("n_neighbors", 5)
        page.until("hneExplorer.state().request.parameters.n_neighbors === 5 && !hneExplorer.state().busy")
        assert not page.state()["moving"]


def test_the_next_change_cancels_what_is_under_way(browser):
    X = np.random.default_rng(0).normal(size=(6000, 10))
    one = Served(explorer_of(X, parameters={"n_neighbors": 5}))
    try:
        with Visited(browser, one.explorer.address) as page:
            before = page.state()["cancelled"]
            page.page.select_option("#variant-choice", "bhne")
            page.page.wait_for_timeout(150)
            for k in (22, 21, 20, 6):
                page.slide("n_neighbors", k)
                page.page.wait_for_timeout(120)
            page.let_go("n_neighbors")
            page.until("hneExplorer.state().request.parameters.n_neighbors === 6")
            page.until(IDLE, seconds=120)
            assert page.state()["cancelled"] > before
            assert "with 6 neighbors" in page.words("#lead")
            # By hand, too: the picture stays, and the page says that it was left.
            page.slide("n_neighbors", 25)
            page.page.locator("#cancel").click()
            page.until("!hneExplorer.state().busy")
            assert "with 6 neighbors" in page.words("#lead")
    finally:
        one.close()


def test_what_cannot_be_is_said_and_the_picture_stays(page):
    page.page.locator("#n_neighbors-field").fill("900")
    page.page.locator("#n_neighbors-field").press("Enter")
    page.until("!document.getElementById('trouble').hidden")
    assert "needs at least 901 samples" in page.words("#trouble")
    assert "with 14 neighbors" in page.words("#lead")
    page.turn("n_neighbors", 12)
    assert page.page.locator("#trouble").is_hidden()


def test_after_a_refusal_knobs_agree_with_the_picture(page):
    page.page.locator("#n_neighbors-field").fill("900")
    page.page.locator("#n_neighbors-field").press("Enter")
    page.until("!document.getElementById('trouble').hidden")
    assert page.page.locator("#n_neighbors-field").input_value() == "14"
    assert page.page.locator("#n_neighbors-slider").input_value() == "14"
    assert page.state()["request"]["parameters"]["n_neighbors"] == 14
    assert "needs at least 901 samples" in page.words("#trouble")


@pytest.mark.parametrize("typed", ["abc", "", "12.5"])
def test_what_is_no_number_is_said(page, typed):
    field = page.page.locator("#n_neighbors-field")
    field.fill(typed)
    field.press("Enter")
    assert "n_neighbors must be a whole number" in page.words("#trouble")
    assert field.get_attribute("aria-invalid") == "true"
    page.page.mouse.wheel(0, 500)
    page.until("scrollY > 0 || document.documentElement.scrollHeight <= innerHeight")
    box = page.page.locator("#trouble").bounding_box()
    assert 0 <= box["y"] < 900  # wherever the page is scrolled to
    field.fill("9")
    field.press("Enter")
    page.until("hneExplorer.state().request.parameters.n_neighbors === 9")
    page.rest()
    assert page.page.locator("#trouble").is_hidden()
    assert field.get_attribute("aria-invalid") is None


def test_a_number_that_was_typed_stays_in_the_trail_when_its_slider_is_dragged(page):
    page.page.locator("#n_neighbors-field").fill("9")
    page.page.locator("#n_neighbors-field").press("Enter")
    page.until("hneExplorer.state().request.parameters.n_neighbors === 9")
    page.rest()
    box = page.page.locator("#n_neighbors-slider").bounding_box()
    at = [(box["x"] + share * box["width"], box["y"] + box["height"] / 2) for share in (0.5, 0.55, 0.6)]
    page.drag(at)
    page.until("hneExplorer.state().request.parameters.n_neighbors > 15")
    page.rest()
    assert page.state()["trail"] == 3
    page.page.locator("#undo").click()
    page.rest()
    assert page.state()["request"]["parameters"]["n_neighbors"] == 9


def test_a_turned_picture_says_so_and_turns_back_to_the_axes_of_the_files(page):
    assert page.page.locator("#turned").is_hidden()
    page.page.select_option("#metric-choice", "cosine")
    page.until("hneExplorer.state().request.parameters.metric === 'cosine'")
    page.rest()
    before = page.state()
    assert before["turned"]
    assert "axes of the files" in page.words("#turned")
    page.page.locator("#turn-back").click()
    page.until("!hneExplorer.state().turned")
    page.rest()
    after = page.state()
    assert (after["trail"], after["at"], after["request"]) == (before["trail"], before["at"], before["request"])
    assert after["result"] != before["result"]
    assert page.page.locator("#turned").is_hidden()
    roll, _ = rolled()
    Y = embed(roll.X, n_neighbors=14, metric="cosine").Y[:40]
    pixels = np.array([page.pixel(i) for i in range(40)]) * (1, -1)
    scale = np.ptp(pixels, axis=0) / np.ptp(Y, axis=0)
    assert np.allclose(pixels - pixels[0], (Y - Y[0]) * scale, atol=0.01)
    page.turn("n_neighbors", 8)  # follows from there
    page.page.locator("#undo").click()
    page.rest()
    assert not page.state()["turned"]


def test_loading_again_begins_with_what_was_seen(page):
    page.turn("n_neighbors", 9)
    page.page.reload()
    page.until("window.hneExplorer !== undefined")
    page.rest()
    assert page.state()["request"]["parameters"]["n_neighbors"] == 9
    assert "with 9 neighbors" in page.words("#lead")
    page.page.locator("#reset").click()
    page.until("hneExplorer.state().request.parameters.n_neighbors === 14")
    page.rest()


def test_settings_that_are_refused_when_loading_again_fall_back_to_the_start(page):
    keep = """() => { const [key] = Object.keys(sessionStorage); const kept = JSON.parse(sessionStorage[key]);
        kept.parameters.n_neighbors = 900; sessionStorage[key] = JSON.stringify(kept); }"""
    page.page.evaluate(keep)
    page.page.reload()
    page.until("window.hneExplorer !== undefined")
    page.rest()
    assert page.state()["request"]["parameters"]["n_neighbors"] == 14
    assert "needs at least 901 samples" in page.words("#trouble")


def test_red_lines_lead_only_between_samples_in_full_and_over_coordinates(page):
    n_all = len(page.state()["shorts"])
    assert page.page.locator("#shorts-choice").is_hidden()
    page.page.locator("#edges-lines").check()
    page.until(f"hneExplorer.state().red === {n_all}")
    page.page.select_option("#x-axis", label="turn")
    page.until("hneExplorer.state().red === 0")
    page.page.select_option("#x-axis", index=0)
    page.page.select_option("#x-axis", label="chart coordinate 1")
    page.until(f"hneExplorer.state().red === {n_all}")
    page.page.select_option("#color", label="half")
    page.page.locator("#legend .entry").first.click()
    page.page.locator("#theme").hover()
    page.until(f"hneExplorer.state().red < {n_all}")


def test_many_red_lines_are_off_until_someone_asks_for_them(page):
    assert len(page.state()["shorts"]) > 40
    assert page.state()["red"] == 0
    assert not page.page.locator("#edges-lines").is_checked()
    assert "Off at first" in page.words("#edges-many")
    page.turn("n_neighbors", 9)
    assert page.state()["red"] == len(page.state()["shorts"]) < 40
    page.page.locator("#edges-lines").uncheck()
    page.until("hneExplorer.state().red === 0")
    page.page.locator("#edges-lines").check()
    page.turn("n_neighbors", 12)
    assert page.state()["red"] == len(page.state()["shorts"]) > 40
    assert page.words("#edges-many") == ""


def test_the_color_goes_into_the_command(browser, tmp_path):
    roll, _ = rolled(120)
    np.savetxt(tmp_path / "roll.csv", roll.X, delimiter=",", header="a,b,c", comments="")
    words = [sys.executable, "-m", "hne", "explore", "roll.csv", "--no-browser", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path) as process:
        try:
            address = re.search(r'"address": "([^"]+)"', process.stdout.readline())[1]
            with Visited(browser, address) as page:
                page.page.select_option("#color", label="b")
                page.until("document.getElementById('take-command').textContent.includes('--color b')")
                page.turn("n_neighbors", 9)
                page.until("document.getElementById('take-command').textContent.includes('--color b')")
                assert "9" in page.words("#take-command")
        finally:
            process.terminate()


def test_escape_closes_the_keys(page):
    page.page.locator("#help-toggle").click()
    assert page.page.locator("#help").is_visible()
    page.page.keyboard.press("Escape")
    assert page.page.locator("#help").is_hidden()
    assert page.page.locator("#help-toggle").get_attribute("aria-expanded") == "false"


def test_knobs_are_folded_when_a_window_becomes_narrow(page):
    assert page.page.locator(".knobs details[open]").count() == 2
    page.page.set_viewport_size({"width": 420, "height": 850})
    page.until("document.querySelectorAll('.knobs details[open]').length === 0")
    assert page.page.locator("#plot").bounding_box()["y"] < 550
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 420
    page.page.set_viewport_size({"width": 1400, "height": 900})
    page.until("document.querySelectorAll('.knobs details[open]').length === 2")


def test_a_trail_leads_back_and_forth(page):
    page.turn("n_neighbors", 9)
    page.turn("n_neighbors", 7)
    assert page.state()["trail"] == 3
    assert page.page.locator("#tries li").count() == 3
    sent = len(page.requests)
    page.page.locator("#tries .try").first.click()
    page.rest()
    assert page.state()["request"]["parameters"]["n_neighbors"] == 14
    assert page.page.locator("#n_neighbors-field").input_value() == "14"
    assert len(page.requests) == sent  # from memory
    page.page.locator("#undo").click()
    page.rest()
    assert page.state()["request"]["parameters"]["n_neighbors"] == 7
    page.page.locator("#plot").focus()
    page.page.keyboard.press("z")
    page.rest()
    assert page.state()["request"]["parameters"]["n_neighbors"] == 9
    page.page.keyboard.press("Shift+Z")
    page.rest()
    assert page.state()["request"]["parameters"]["n_neighbors"] == 7
    assert page.page.locator("#tries [aria-current]").count() == 1


def test_two_settings_side_by_side_share_hover_and_selection(page):
    page.turn("n_neighbors", 8)
    page.page.locator("#tries li").first.locator(".beside").click()
    page.until("hneExplorer.state().plots === 2")
    page.rest()
    assert "k 14" in page.words("#held-text")
    assert "k 8" in page.words("#main-text")
    page.page.mouse.move(*page.pixel(17, 1))
    assert page.state()["hovered"] == 17
    page.page.mouse.move(*page.pixel(23, 0))
    assert page.state()["hovered"] == 23
    page.lasso([3, 5, 9])
    chosen = page.state()["selected"]
    assert {3, 5, 9} <= {*chosen}
    page.until("document.querySelectorAll('#contrast li').length > 0")
    box = page.page.locator("#contrast-panel").bounding_box()
    assert 0 <= box["y"] < 900
    assert "Score" in page.words("#held-text")
    page.page.locator("#held-swap").click()
    page.rest()
    assert page.state()["request"]["parameters"]["n_neighbors"] == 14
    assert "k 8" in page.words("#held-text")
    assert page.state()["selected"] == chosen
    page.turn("n_neighbors", 10)
    assert "k 8" in page.words("#held-text")
    page.page.locator("#held-close").click()
    assert page.state()["plots"] == 1


def test_a_lasso_tells_what_sets_a_group_apart(page):
    roll, _ = rolled()
    inner = np.argsort(roll.chart[:, 0])[:40]
    page.lasso(inner)
    page.until("document.querySelectorAll('#contrast li').length > 0")
    assert len(page.state()["selected"]) >= 40
    first = page.page.locator("#contrast li").first.inner_text()
    assert "turn" in first or "half" in first
    assert "inside" in page.words("#contrast")
    assert "of their neighbors are in the group" in page.words("#contrast-edges")
    assert page.page.locator("#contrast-worst button").count() > 0
    page.page.locator("#contrast-worst button").first.click()
    assert page.state()["pinned"] in page.state()["selected"]
    page.page.locator("#clear").click()
    assert page.page.locator("#contrast-panel").is_hidden()


def test_an_edge_that_was_cut_is_put_back_and_cut_again(page):
    state = page.state()
    assert len(state["shorts"]) > 1
    edge = state["shorts"][0]
    page.page.locator("#edges li").first.get_by_role("button", name="Put back").click()
    page.until("hneExplorer.state().request.keep.length === 1")
    page.rest()
    after = page.state()
    assert sorted(after["request"]["keep"][0]) == sorted(edge)
    assert edge not in after["shorts"]
    assert "keep_edges" in page.words("#take-python")
    page.page.locator("#edits").get_by_role("button", name="Undo").click()
    page.until("hneExplorer.state().request.keep.length === 0")
    page.rest()
    assert edge in page.state()["shorts"]


def test_a_red_line_can_be_clicked_and_a_neighbor_cut_by_hand(page):
    one, other = page.state()["shorts"][0]
    (x0, y0), (x1, y1) = page.pixel(one), page.pixel(other)
    page.page.mouse.click((x0 + 2 * x1) / 3, (y0 + 2 * y1) / 3)
    focused = page.page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused is None or "Put back" in focused
    page.page.mouse.click(*page.pixel(20))
    page.until("hneExplorer.state().pinned === 20")
    page.page.locator("#near").get_by_role("button", name="Cut").first.click()
    page.until("hneExplorer.state().request.cut.length === 1")
    page.rest()
    (edge,) = page.state()["request"]["cut"]
    assert 20 in edge
    assert "cut_edges" in page.words("#take-python")
    page.page.locator("#edits").get_by_role("button", name="Undo").click()
    page.until("hneExplorer.state().request.cut.length === 0")


def test_columns_are_chosen_and_scaled(page):
    page.page.locator("#features-group summary").click()
    page.page.select_option("#scale-choice", "standard")
    page.until("hneExplorer.state().request.scale === 'standard'")
    page.rest()
    page.page.locator("#features input").nth(1).uncheck()
    page.until("hneExplorer.state().request.columns !== null")
    page.rest()
    assert page.state()["request"]["columns"] == ["x1", "x3"]
    page.page.locator("#features-find").fill("x2")
    page.until("document.querySelectorAll('#features li').length === 1")
    page.page.locator("#features-find").fill("")
    page.page.locator("#features-all").click()
    page.until("hneExplorer.state().request.columns === null")
    page.rest()


def test_the_map_of_settings_can_be_clicked(page):
    page.page.locator("#tune").click()
    page.until("document.querySelectorAll('#maps td button').length > 10", seconds=60)
    page.page.locator("#maps td.chosen button").click()
    page.rest()
    asked = page.state()["request"]["parameters"]
    assert isinstance(asked["n_neighbors"], int)
    assert asked["reg"] > 0
    page.page.locator("#map-close").click()
    assert page.page.locator("#map").is_hidden()


def test_every_file_opens_again(page, tmp_path):
    roll, _ = rolled()
    page.turn("n_neighbors", 11)
    Y = embed(roll.X, n_neighbors=11).Y
    name, content = page.download("[data-export=csv]")
    assert name == "trees-map.csv"
    frame = pd.read_csv(io.BytesIO(content), converters={"hne1": float, "hne2": float})
    assert np.array_equal(frame[["hne1", "hne2"]].to_numpy(), Y)
    _, content = page.download("[data-export=parquet]")
    frame = pd.read_parquet(io.BytesIO(content))
    assert np.array_equal(frame[["hne1", "hne2"]].to_numpy(), Y)
    assert {"ids", "distances"} == frame["neighbors"][0].keys()
    name, content = page.download("[data-export=model]")
    (tmp_path / name).write_bytes(content)
    assert np.array_equal(HNE.load(tmp_path / name).embedding_, Y)
    name, content = page.download("[data-export=report]")
    report = Page(content.decode())
    assert report.is_balanced
    assert "tree-17" in report.meta()["ids"]
    _, content = page.download("#save-svg")
    drawing = ET.fromstring(content)
    assert drawing.tag.endswith("svg")
    assert content.count(b"h0") + content.count(b"<circle") >= 290
    _, content = page.download("#save-png")
    from PIL import Image

    picture = Image.open(io.BytesIO(content)).convert("RGB")
    assert min(picture.size) > 600
    assert len(picture.getcolors(10**6)) > 50
    names = {"X": roll.X}
    exec(page.words("#take-python"), names)
    assert np.array_equal(names["Y"], Y)


def test_the_command_of_a_file_makes_the_same_coordinates(browser, tmp_path):
    roll, _ = rolled(120)
    np.savetxt(tmp_path / "my roll.csv", roll.X, delimiter=",", header="a,b,c", comments="")
    words = [sys.executable, "-m", "hne", "explore", "my roll.csv", "--no-browser", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path) as process:
        try:
            address = re.search(r'"address": "([^"]+)"', process.stdout.readline())[1]
            with Visited(browser, address) as page:
                page.turn("n_neighbors", 9)
                page.page.locator("#features-group summary").click()
                page.page.select_option("#scale-choice", "robust")
                page.until("hneExplorer.state().request.scale === 'robust'")
                page.rest()
                shell = page.words("#take-command")
                _, content = page.download("[data-export=csv]")
        finally:
            process.terminate()
    again = [*shlex.split(shell.replace("--report map.html", "-o map.csv"))[1:]]
    subprocess.run([sys.executable, "-m", "hne", *again], check=True, capture_output=True, cwd=tmp_path)
    assert (tmp_path / "map.csv").read_bytes() == content
    assert command.REPORT in shell


def test_all_is_done_by_the_keyboard_alone(page):
    keys = page.page.keyboard
    page.page.locator("#n_neighbors-slider").focus()
    keys.press("ArrowLeft")
    page.until("hneExplorer.state().request.parameters.n_neighbors === 13")
    page.rest()
    seen, page_keys = set(), "document.activeElement.id || document.activeElement.getAttribute('data-export') || ''"
    page.page.locator("#theme").focus()
    while "save-svg" not in seen:  # from the top of the page to its end
        seen.add(page.page.evaluate(page_keys))
        assert len(seen) < 300
        keys.press("Tab")
    wanted = {"theme", "reset", "tune", "n_neighbors-slider", "n_neighbors-field", "reg-slider", "variant-choice"}
    wanted |= {
        "coordinates-choice",
        "plot",
        "color",
        "edges-lines",
        "csv",
        "model",
        "report",
        "save-png",
        "copy-python",
    }
    assert wanted <= seen
    page.page.locator("#plot").focus()
    keys.press("n")
    assert page.state()["hovered"] >= 0
    keys.press("Enter")
    assert page.state()["pinned"] >= 0
    page.page.locator("#near").get_by_role("button", name="Cut").first.focus()
    keys.press("Enter")
    page.until("hneExplorer.state().request.cut.length === 1")
    page.rest()
    page.page.locator("#tries .try").first.focus()
    keys.press("Enter")
    page.rest()
    assert page.state()["request"]["cut"] == []


def luminance(page, selector):
    color = page.page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).backgroundColor")
    return sum(map(int, re.findall(r"\d+", color)[:3]))


def test_light_and_dark_are_the_browsers_or_chosen(browser, served):
    with Visited(browser, served.explorer.address, color_scheme="dark") as page:
        assert luminance(page, "body") < 150
        page.page.locator("#theme").click()
        assert luminance(page, "body") > 600
    with Visited(browser, served.explorer.address, color_scheme="light") as page:
        assert luminance(page, "body") > 600


@pytest.mark.parametrize("width", [420, 800])
def test_narrow_windows_show_all_without_scrolling_sideways(browser, served, width):
    with Visited(browser, served.explorer.address, viewport={"width": width, "height": 850}) as page:
        assert page.page.evaluate("document.documentElement.scrollWidth") <= width
        plot = page.page.locator("#plot").bounding_box()
        assert plot["width"] > 0.8 * min(width, 420)
        if width < 600:
            page.page.locator(".knobs summary").first.click()
        page.turn("n_neighbors", 10)
        page.page.locator("#tries li").first.locator(".beside").click()
        page.until("hneExplorer.state().plots === 2")
        assert page.page.evaluate("document.documentElement.scrollWidth") <= width
        page.page.locator("#held-close").click()


def test_data_never_becomes_markup(browser):
    roll, _ = rolled(60)
    facts = {
        "labels": {HOSTILE: [HOSTILE, "b", "c"] * 20},
        "ids": [f"{HOSTILE}{i}" for i in range(60)],
        "title": HOSTILE,
    }
    title = facts.pop("title")
    session = Session(Source(table_of(roll.X, **facts), title, Request.start({"n_neighbors": 9})))
    one = Served(Explorer(session))
    try:
        with Visited(browser, one.explorer.address) as page:
            page.page.mouse.move(*page.pixel(3))
            page.page.mouse.click(*page.pixel(3))
            page.lasso(range(20))
            page.until("document.querySelectorAll('#contrast li').length > 0")
            assert HOSTILE in page.words("#title")
            assert page.page.evaluate("window.hacked === undefined")
            _, content = page.download("#save-svg")
            ET.fromstring(content)
    finally:
        one.close()


def test_a_tab_that_is_closed_leaves_the_server_to_others(browser, served):
    with Visited(browser, served.explorer.address) as page:
        page.slide("n_neighbors", 40)
        page.page.close()
    with Visited(browser, served.explorer.address) as page:
        page.turn("n_neighbors", 6)


def test_a_server_that_has_ended_is_said_in_words(browser):
    roll, facts = rolled(60)
    one = Served(explorer_of(roll.X, **facts))
    visited = Visited(browser, one.explorer.address)
    one.close()
    visited.slide("n_neighbors", 9)
    visited.until("!document.getElementById('trouble').hidden")
    assert "does not answer" in visited.words("#trouble")
    visited.context.close()


def test_many_samples_begin_with_a_patch(browser, monkeypatch):
    from hne.explorer import source as sources

    monkeypatch.setattr(sources, "MAX_SAMPLES", 500)
    monkeypatch.setattr(sources, "PATCH_SAMPLES", 200)
    roll, facts = rolled(600)
    one = Served(explorer_of(roll.X, parameters={"n_neighbors": 8}, **facts))
    try:
        with Visited(browser, one.explorer.address) as page:
            assert "200 of 600" in page.words("#patch-text").replace("\u00a0", " ")
            page.turn("n_neighbors", 9)
            page.page.locator("#patch-whole").click()
            page.until("hneExplorer.state().request.whole")
            page.rest()
            assert "600 samples" in page.words("#lead").replace("\u00a0", " ")
            page.turn("n_neighbors", 10)
            assert page.state()["request"]["whole"]
    finally:
        one.close()
