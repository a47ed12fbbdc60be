"""Reports in a real browser: quiet, alone with their file, and doing what they say."""

import time
from pathlib import Path

import numpy as np
import pytest

from hne import embed
from hne.core.trust.verdict import Finding
from hne.datasets import make_swiss_roll
from hne.viz.report import Details, write_report
from hne_paper.datasets import make_faces
from tests.helpers.judged import some_trust

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>\"'&\u2028\u202e${alert(1)}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


class Watched:
    """A page with a report, and whatever it complained of or asked for."""

    def __init__(self, browser, path, before="", **context):
        self.complaints, self.requests = [], []
        self.context = browser.new_context(**({"viewport": {"width": 1200, "height": 800}} | context))
        self.page = self.context.new_page()
        self.page.add_init_script(before)
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = Path(path).as_uri()
        self.page.route("**/*", lambda route: route.continue_() if route.request.url == self.url else route.abort())
        self.page.goto(self.url)
        self.until("window.hneReport !== undefined")
        # A verdict of many findings may push the lower part of the picture out of the window.
        self.page.locator("#plot").scroll_into_view_if_needed()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if error[0] is None:
            assert self.complaints == []
            assert self.requests == [self.url]
        self.context.close()

    def state(self):
        # A frame later, what was asked for is drawn.
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self.page.evaluate("hneReport.state()")

    def until(self, condition):
        """Wait until an expression is true; the policy of the page forbids Playwright's own way, which is to eval."""
        end = time.monotonic() + 10
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, condition
            self.page.wait_for_timeout(20)

    def pixel(self, i):
        return self.page.evaluate(f"hneReport.pixelOf({i})")

    def words(self, selector):
        return self.page.locator(selector).inner_text()

    def ink(self, canvas):
        """How many pixels of a canvas are not empty."""
        return self.page.evaluate(
            """(id) => { const shown = document.getElementById(id); const canvas = shown.cloneNode();
            const context = canvas.getContext("2d", { willReadFrequently: true }); context.drawImage(shown, 0, 0);
            const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
            let count = 0; for (let at = 3; at < data.length; at += 4) if (data[at]) count++; return count; }""",
            canvas,
        )

    def drag(self, places, *, shift=False):
        if shift:
            self.page.keyboard.down("Shift")
        self.page.mouse.move(*places[0])
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*place, steps=4)
        self.page.mouse.up()
        if shift:
            self.page.keyboard.up("Shift")


def rolled(n, **details):
    roll = make_swiss_roll(n, random_state=0)
    kinds = np.array(["ash", "elm", None, "oak"], dtype=object)[np.arange(n) % 4]
    columns = {"kind": kinds, "turn": roll.chart[:, 0], "skewed": np.exp(np.arange(n) % 9), "class": np.arange(n) % 3}
    defaults = {"columns": columns, "color": "turn", "ids": [f"tree-{i}" for i in range(n)], "title": "Trees"}
    return embed(roll.X), Details(**(defaults | details))


@pytest.fixture(scope="module")
def roll_path(folder):
    write_report(folder / "roll.html", *rolled(400, command="hne embed trees.csv"))
    return folder / "roll.html"


@pytest.fixture
def roll_page(browser, roll_path):
    with Watched(browser, roll_path) as watched:
        yield watched


def test_hover_tells_of_the_nearest_sample_and_a_click_pins_it(roll_page):
    roll_page.page.mouse.move(*roll_page.pixel(17))
    assert roll_page.state()["hovered"] == 17
    assert "tree-17" in roll_page.words("#card")
    assert "kind" in roll_page.words("#card")
    roll_page.page.mouse.click(*roll_page.pixel(17))
    assert roll_page.state()["pinned"] == 17
    assert "tree-17" in roll_page.words("#pinned")
    roll_page.until("document.getElementById('live').textContent.startsWith('Pinned: sample tree-17')")
    roll_page.page.locator("#unpin").click()
    assert roll_page.state()["pinned"] == -1


def test_links_of_both_layers_are_drawn_on_demand(roll_page):
    page = roll_page.page
    page.locator("#inner").uncheck()
    page.mouse.click(*roll_page.pixel(5))
    assert roll_page.state()["links"] == roll_page.ink("links") == 0
    page.locator("#inner").check()
    graph = rolled(400)[0].graph.indices
    # Two of its twelve lead to another turn, and were cut.
    assert roll_page.state()["links"] == (graph[5] >= 0).sum() == 10
    inner = roll_page.ink("links")
    assert inner > 0
    page.locator("#outer").check()
    lists = [row[row >= 0] for row in graph]
    assert 10 + 3 * 10 <= roll_page.state()["links"] <= 10 + sum(len(lists[near]) for near in lists[5])
    assert roll_page.ink("links") > inner
    page.locator("#all").check()
    assert roll_page.state()["links"] > 2400


def test_another_color_is_another_legend(roll_page):
    page = roll_page.page
    assert page.locator("#legend .bar").count() == 1
    page.select_option("#color", label="kind")
    assert page.locator("#legend .entry").all_inner_texts() == ["ash\n100", "elm\n100", "oak\n100", "missing\n100"]
    page.locator("#legend .entry", has_text="elm").click()
    assert roll_page.state()["shown"] == 300
    page.locator("#legend .entry", has_text="oak").hover()
    assert roll_page.state()["shown"] == 100
    page.locator("#show-all").click()
    page.locator("#find").focus()
    assert roll_page.state()["shown"] == 400
    page.locator("#legend .entry", has_text="oak").dblclick()
    assert roll_page.state()["shown"] == 100
    page.select_option("#color", label="skewed")
    page.select_option("#color", label="class")
    assert page.locator("#legend .entry").count() == 3
    page.locator("#as-categories").uncheck()
    assert page.locator("#legend .bar").count() == 1
    page.select_option("#color", label="one color")
    assert roll_page.state()["shown"] == 400


def expected_inside(watched, n, inside):
    places = np.array([watched.pixel(i) for i in range(n)])
    return np.flatnonzero(inside(*places.T)).tolist()


def test_box_and_lasso_select_what_is_inside(roll_page):
    page = roll_page.page
    box = page.locator("#plot").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.locator("#mode-box").click()
    roll_page.drag([(x - 80, y - 60), (x + 90, y + 70)])
    expected = expected_inside(roll_page, 400, lambda a, b: (abs(a - x - 5) < 85) & (abs(b - y - 5) < 65))
    assert len(expected) > 10
    assert roll_page.state()["selected"] == expected
    assert f"{len(expected)} of 400 samples selected" in roll_page.words("#selection-count")
    assert page.locator("#selection-list button").count() == min(100, len(expected))
    assert "median" in roll_page.words("#selection-summary")
    page.locator("#mode-move").click()
    roll_page.drag([(x, y - 100), (x + 100, y + 100), (x - 100, y + 100)], shift=True)
    triangle = expected_inside(
        roll_page, 400, lambda a, b: (b < y + 100) & (b - y + 100 > 2 * abs(a - x))
    )  # fmt: skip
    assert roll_page.state()["selected"] == triangle
    with page.expect_download() as download:
        page.locator("#download").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(triangle) + 1
    assert lines[0] == "sample,chart coordinate 1,chart coordinate 2,reconstruction error,kind,turn,skewed,class,row"
    assert lines[1].startswith(f"tree-{triangle[0]},")
    page.locator("#selection-list button").first.click()
    assert roll_page.state()["pinned"] == triangle[0]
    page.locator("#clear").click()
    assert roll_page.state()["selected"] == []
    roll_page.requests[:] = [url for url in roll_page.requests if not url.startswith("blob:")]


def downloaded(watched):
    """All samples selected and downloaded: lines of a table, cell by cell."""
    page = watched.page
    page.locator("#mode-box").click()
    box = page.locator("#plot").bounding_box()
    right, bottom = box["x"] + box["width"] - 4, box["y"] + box["height"] - 4
    watched.drag([(box["x"] + 4, box["y"] + 4), (right, bottom)])
    with page.expect_download() as download:
        page.locator("#download").click()
    watched.requests[:] = [url for url in watched.requests if not url.startswith("blob:")]
    return [line.split(",") for line in Path(download.value.path()).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def small():
    return embed(np.random.default_rng(7).normal(size=(60, 3)))


def test_numbers_are_downloaded_as_they_were_read(browser, folder, small):
    columns = {"weight": np.full(60, 8.9648), "key": np.full(60, 12345678.0), "day": np.full(60, 20240101.0)}
    write_report(folder / "digits.html", small, Details(columns=columns))
    with Watched(browser, folder / "digits.html") as watched:
        watched.page.mouse.move(*watched.pixel(0))
        assert "20240101" in watched.words("#card")
        lines = downloaded(watched)
        assert len(lines) == 61
        assert lines[1][4:7] == ["8.9648", "12345678", "20240101"]


def test_wheel_zooms_about_the_pointer_drag_moves_and_buttons_reset(roll_page):
    page = roll_page.page
    before = roll_page.pixel(40)
    page.mouse.move(*before)
    page.mouse.wheel(0, -300)
    roll_page.until("hneReport.state().zoom > 1.5")
    zoomed = roll_page.pixel(40)
    np.testing.assert_allclose(zoomed, before, atol=1)  # wheels are at whole pixels
    roll_page.drag([(500, 400), (560, 430)])
    np.testing.assert_allclose(roll_page.pixel(40), [zoomed[0] + 60, zoomed[1] + 30], atol=1e-6)
    zoom = roll_page.state()["zoom"]
    page.locator("#zoom-in").click()
    assert roll_page.state()["zoom"] == pytest.approx(1.5 * zoom)
    page.locator("#zoom-reset").click()
    assert roll_page.state()["zoom"] == 1
    np.testing.assert_allclose(roll_page.pixel(40), before, atol=1e-6)


def test_commands_and_ids_are_copied(browser, roll_path):
    with Watched(browser, roll_path, permissions=["clipboard-read", "clipboard-write"]) as watched:
        watched.page.locator("#copy-command").click()
        watched.until("document.getElementById('copy-command').textContent === 'Copied'")
        assert watched.page.evaluate("navigator.clipboard.readText()") == "hne embed trees.csv"


def test_a_browser_without_the_newest_functions_reads_the_same_numbers(browser, roll_path):
    with Watched(browser, roll_path, before="delete Uint8Array.fromBase64") as watched:
        older = watched.pixel(123)
    with Watched(browser, roll_path) as watched:
        assert watched.pixel(123) == older


def test_axes_to_one_scale_unless_they_are_columns(roll_page):
    assert roll_page.state()["equal"]
    roll_page.page.select_option("#y-axis", label="turn")
    assert not roll_page.state()["equal"]
    roll_page.page.mouse.move(*roll_page.pixel(3))
    assert roll_page.state()["hovered"] == 3


def steps_of(watched, Y):
    """Pixels across and up of a unit, by least squares over some samples; both upward and to the right."""
    rows = np.arange(0, len(Y), 7)
    places = np.array([watched.pixel(i) for i in rows.tolist()])
    slopes = [np.polyfit(Y[rows, axis], places[:, axis], 1)[0] for axis in (0, 1)]
    return slopes[0], -slopes[1]


@pytest.mark.parametrize("size", [(1200, 800), (420, 800)])
def test_a_unit_is_as_long_across_as_up_and_zoom_move_and_resize_keep_it(browser, folder, size):
    grid = np.random.default_rng(0).random((300, 2)) * [8, 1]
    strip = embed(np.column_stack([grid[:, 0], np.sin(grid[:, 0]), grid[:, 1]]), n_neighbors=8)
    write_report(folder / "strip.html", strip)
    with Watched(browser, folder / "strip.html", viewport={"width": size[0], "height": size[1]}) as watched:
        page = watched.page

        def scale():
            across, up = steps_of(watched, strip.Y)
            np.testing.assert_allclose(across, up, rtol=1e-4)
            return across

        first = scale()
        assert watched.state()["equal"]
        plot = page.locator("#plot").bounding_box()
        places = np.array([watched.pixel(i) for i in range(300)])
        assert (np.ptp(places, axis=0) < [plot["width"], plot["height"]]).all()
        assert np.ptp(places[:, 0]) > 6 * np.ptp(places[:, 1])
        page.locator("#zoom-in").click()
        np.testing.assert_allclose(scale(), 1.5 * first, rtol=1e-4)
        x, y = plot["x"] + plot["width"] / 2, plot["y"] + plot["height"] / 2
        watched.drag([(x, y), (x - 50, y + 30)])
        np.testing.assert_allclose(scale(), 1.5 * first, rtol=1e-4)
        page.set_viewport_size({"width": size[0], "height": 560})
        watched.state()
        scale()
        assert "Chart coordinates, in units of X" in page.locator("#scale-note").text_content()


@pytest.fixture(scope="module")
def judged_path(folder):
    write_report(folder / "judged.html", *rolled(400, trust=some_trust()))
    return folder / "judged.html"


CONTRAST = """(selectors) => { const light = (color) => { const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d"); context.fillStyle = color; context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3).map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue; };
  const paper = light(getComputedStyle(document.getElementById("verdict")).backgroundColor);
  return selectors.map(([selector, property]) => { const found = document.querySelector(selector);
    const own = light(getComputedStyle(found)[property]);
    return (Math.max(own, paper) + 0.05) / (Math.min(own, paper) + 0.05); }); }"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_verdict_is_seen_first_and_can_be_read_in_light_and_in_the_dark(browser, judged_path, scheme):
    with Watched(browser, judged_path, color_scheme=scheme) as watched:
        page = watched.page
        page.evaluate("scrollTo(0, 0)")
        box = page.locator("#verdict").bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] < page.locator("#plot").bounding_box()["y"] < 800
        assert watched.words("#verdict .said") == "Bad. Do not believe it: try n_neighbors=5."
        assert page.locator("#verdict .findings li").count() == 3
        seen = [("#verdict .said", "color"), ("#verdict .said strong", "color"), ("#verdict .advice", "color")]
        marks = [(f"#verdict .level-{level} .mark-shape", "fill") for level in ("bad", "doubtful", "note")]
        assert min(page.evaluate(CONTRAST, seen)) >= 4.5
        assert min(page.evaluate(CONTRAST, marks)) >= 3
        page.emulate_media(media="print")
        assert page.locator("#verdict .said .mark").is_visible()
        assert min(page.evaluate(CONTRAST, seen)) >= 4.5


def test_short_circuits_are_drawn_all_at_once_or_shown_one_by_one(browser, judged_path):
    with Watched(browser, judged_path) as watched:
        page = watched.page
        assert (watched.state()["shorts"], watched.ink("links")) == (0, 0)
        page.locator("#shorts").check()
        assert watched.state()["shorts"] == 2
        both = watched.ink("links")
        assert both > 0
        page.locator("#shorts").uncheck()
        for _ in range(8):
            page.locator("#zoom-in").click()
        buttons = page.locator("button[data-short]")
        assert buttons.all_inner_texts() == ["tree-3 and tree-41", "tree-7 and tree-50"]
        buttons.nth(1).click()
        state = watched.state()
        assert (state["short"], state["shorts"]) == (1, 1)
        plot = page.locator("#plot").bounding_box()
        for end in (7, 50):
            x, y = watched.pixel(end)
            assert plot["x"] < x < plot["x"] + plot["width"]
            assert plot["y"] < y < plot["y"] + plot["height"]
        assert watched.words("#shorts-name") == "short circuits that were cut"
        told = "Short circuit that was cut, between tree-7 and tree-50"
        watched.until(f"document.getElementById('live').textContent === '{told}'")
        page.keyboard.press("Escape")
        assert (watched.state()["short"], watched.ink("links")) == (-1, 0)


def test_short_circuits_that_were_kept_are_only_called_so(browser, folder):
    roll = make_swiss_roll(200, random_state=0).X
    write_report(folder / "kept.html", embed(roll, n_neighbors=12, short_circuits="keep"))
    with Watched(browser, folder / "kept.html") as watched:
        assert watched.words("#shorts-name") == "short circuits"


def test_a_page_without_short_circuits_does_not_offer_them(browser, folder):
    write_report(folder / "plane.html", embed(np.random.default_rng(0).random((200, 2))))
    with Watched(browser, folder / "plane.html") as watched:
        assert not watched.page.locator("#shorts-choice").is_visible()
        assert watched.page.locator("#verdict .said .mark").count() == 1


def test_the_download_says_which_coordinates_it_holds(roll_page):
    lines = downloaded(roll_page)
    assert lines[0][1:3] == ["chart coordinate 1", "chart coordinate 2"]
    assert roll_page.words("#download-note") == "Its coordinates are those that are drawn."


@pytest.mark.parametrize(
    ("coordinates", "column", "note"),
    [
        ("eigenvectors", "eigenvector 1", "Eigenvectors of unit length, both axes to one scale"),
        ("layout", "layout coordinate 1", "Layout: neighborhoods and groups are preserved, not distances"),
    ],
)
def test_the_page_and_the_download_say_which_coordinates_are_drawn(browser, folder, coordinates, column, note):
    write_report(folder / "page.html", embed(make_swiss_roll(200, random_state=0).X, coordinates=coordinates))
    with Watched(browser, folder / "page.html") as watched:
        assert downloaded(watched)[0][1] == column
        assert note in watched.page.locator("#scale-note").text_content()


def test_names_of_axes_have_paper_behind_them(roll_page):
    script = """() => { const { width, height } = document.getElementById("over");
      const context = document.getElementById("over").getContext("2d");
      const { data } = context.getImageData(width - 90, height - 40, 84, 18);
      return data.filter((value, at) => at % 4 === 3 && value > 200).length / (data.length / 4); }"""
    roll_page.state()
    assert roll_page.page.evaluate(script) > 0.8


def test_samples_are_found_by_name_and_the_worst_lead_to_their_points(roll_page):
    page = roll_page.page
    page.locator("#find").fill("tree-39")
    roll_page.until("document.querySelectorAll('#found button').length === 11")
    page.locator("#found button").nth(0).click()
    assert roll_page.state()["pinned"] == 39
    worst = page.locator("button[data-worst]")
    assert worst.count() == 20
    worst.nth(3).click()
    assert roll_page.state()["pinned"] == int(worst.nth(3).get_attribute("data-worst"))
    assert page.evaluate("document.activeElement.id") == "plot"


def test_samples_are_found_by_what_columns_say_and_enter_pins_the_first(browser, folder, small):
    names = np.array([f"tea {i}" if i % 2 else None for i in range(60)], dtype=object)
    days = np.array([f"2024-01-{1 + i % 28:02}" for i in range(60)])
    details = Details(columns={"brand": names, "day": days}, ids=[f"s{i}" for i in range(60)])
    write_report(folder / "tea.html", small, details)
    with Watched(browser, folder / "tea.html") as watched:
        find = watched.page.locator("#find")
        find.fill("Tea 17")
        find.press("Enter")
        assert watched.state()["pinned"] == 17
        assert watched.page.locator("#found button").all_inner_texts() == ["s17 brand: tea 17"]
        find.fill("2024-01-28")
        find.press("Enter")
        assert watched.state()["pinned"] == 27
        assert watched.page.locator("#found button").all_inner_texts() == ["s27 day: 2024-01-28", "s55 day: 2024-01-28"]
        find.fill("s5")
        find.press("Enter")
        assert watched.state()["pinned"] == 5
        find.fill("nothing")
        find.press("Enter")
        assert watched.state()["pinned"] == 5
        assert watched.words("#found-count") == "0 found"


def test_rows_have_the_numbers_of_the_file_everywhere(browser, folder, small):
    numbers = np.arange(60) + 101
    write_report(folder / "rows.html", small, Details(rows=numbers))
    with Watched(browser, folder / "rows.html") as watched:
        watched.page.mouse.move(*watched.pixel(7))
        assert "sample 108" in watched.words("#card")
        watched.page.locator("#find").fill("160")
        watched.page.locator("#find").press("Enter")
        assert watched.state()["pinned"] == 59
        lines = downloaded(watched)
        assert [line[0] for line in lines] == ["sample", *map(str, numbers)]
        assert [line[-1] for line in lines] == ["row", *map(str, numbers)]


def test_legends_are_in_natural_order_and_the_rarest_are_others(browser, folder, small):
    numbers = np.array([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1] + [1, 12, 3, 4, 5, 6, 7, 8, 9, 10] * 4 + [12] * 8)
    columns = {"text": numbers.astype(str), "number": numbers % 5, "all": numbers}
    write_report(folder / "legend.html", small, Details(columns=columns, color="text"))
    with Watched(browser, folder / "legend.html") as watched:

        def names():
            return [text.split("\n")[0] for text in watched.page.locator("#legend .entry").all_inner_texts()]

        assert names() == ["1", "3", "4", "5", "6", "7", "8", "9", "10", "12", "other (2 more)"]
        watched.page.locator("#legend .entry", has_text="other").dblclick()
        assert watched.state()["shown"] == 2
        watched.page.select_option("#color", label="number")
        assert names() == ["0", "1", "2", "3", "4"]


def test_dates_are_colored_on_a_scale_and_downloaded_as_dates(browser, folder, small):
    days = np.array(["2024-03-24"] * 20 + ["2024-03-25 06:30"] * 20 + ["2024-12-31"] * 20)
    write_report(folder / "days.html", small, Details(columns={"day": days}))
    with Watched(browser, folder / "days.html") as watched:
        assert watched.words("#legend .ends").split("\n") == ["2024-03-24", "2024-12-31"]
        watched.page.select_option("#y-axis", label="day")
        watched.page.mouse.move(*watched.pixel(25))
        assert "2024-03-25 06:30" in watched.words("#card")
        assert {line[4] for line in downloaded(watched)[1:]} == set(days)


def test_a_tap_shows_the_card_at_the_point_until_it_is_closed(browser, folder, small):
    rng = np.random.default_rng(0)
    details = Details(images=rng.random((60, 8, 8)), columns={f"c{i}": rng.random(60) for i in range(12)})
    write_report(folder / "tap.html", small, details)
    size = {"viewport": {"width": 420, "height": 800}, "has_touch": True, "is_mobile": True}
    with Watched(browser, folder / "tap.html", **size) as watched:
        page, plot = watched.page, watched.page.locator("#plot").bounding_box()
        page.touchscreen.tap(*watched.pixel(8))
        assert watched.state()["pinned"] == 8
        card = page.locator("#card").bounding_box()
        assert plot["x"] <= card["x"] <= card["x"] + card["width"] <= plot["x"] + plot["width"]
        assert plot["y"] <= card["y"] <= card["y"] + card["height"] <= plot["y"] + plot["height"]
        assert page.locator("#card canvas").count() == 1
        assert "sample 9" in watched.words("#card")
        page.touchscreen.tap(card["x"] + 20, card["y"] + card["height"] - 12)
        assert watched.state()["pinned"] == 8
        page.locator("#card-close").tap()
        assert watched.state()["pinned"] == -1
        assert not page.locator("#card").is_visible()
        page.touchscreen.tap(*watched.pixel(8))
        page.locator("#zoom-in").tap()
        assert not page.locator("#card").is_visible()
        page.locator("button[data-worst]").nth(2).tap()
        worst = int(page.locator("button[data-worst]").nth(2).get_attribute("data-worst"))
        assert f"sample {worst + 1}" in watched.words("#card")


def test_pinned_details_come_into_view_beside_the_controls(browser, folder, small):
    columns = {"kind": np.array([f"kind {i % 11}" for i in range(60)])}
    columns |= {f"c{i}": np.arange(60.0) + i for i in range(12)}
    write_report(folder / "panels.html", small, Details(columns=columns))
    inside = """(id) => { const box = document.getElementById(id).getBoundingClientRect();
      const seen = document.elementFromPoint(box.left + box.width / 2, box.bottom - 4);
      return box.top >= 0 && box.bottom <= innerHeight && document.getElementById(id).contains(seen); }"""
    with Watched(browser, folder / "panels.html") as watched:
        page = watched.page
        panels = "document.getElementById('panels')"
        assert page.evaluate(f"{panels}.scrollHeight > {panels}.clientHeight")
        assert page.evaluate(f"{panels}.offsetWidth - {panels}.clientWidth") >= 8  # the bar is seen
        page.locator("button[data-worst]").first.click()
        for seen in ("pinned", "color", "x-axis", "plot"):
            assert page.evaluate(inside, seen), seen
        downloaded(watched)
        for seen in ("selection-count", "color"):
            assert page.evaluate(inside, seen), seen


def test_all_of_it_by_keys_alone(roll_page):
    page = roll_page.page
    page.locator("#help-toggle").focus()
    page.keyboard.press("Enter")
    assert "Enter" in roll_page.words("#help")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "plot"
    page.keyboard.press("n")
    first = roll_page.state()["hovered"]
    assert first >= 0
    page.keyboard.press("n")
    second = roll_page.state()["hovered"]
    assert second not in {-1, first}
    page.keyboard.press("p")
    assert roll_page.state()["hovered"] == first
    page.keyboard.press("Enter")
    assert roll_page.state()["pinned"] == first
    page.keyboard.press("+")
    assert roll_page.state()["zoom"] > 1
    center = roll_page.state()["center"]
    page.keyboard.press("ArrowRight")
    assert roll_page.state()["center"][0] > center[0]
    page.keyboard.press("0")
    assert roll_page.state()["zoom"] == 1
    page.keyboard.press("Escape")
    assert roll_page.state()["pinned"] == -1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "color"


def test_dark_and_light_by_choice_and_by_system(browser, roll_path):
    background = "getComputedStyle(document.body).backgroundColor"
    with Watched(browser, roll_path, color_scheme="dark") as watched:
        assert watched.page.evaluate(background) == "rgb(23, 25, 28)"
        watched.page.locator("#theme").click()
        assert watched.page.evaluate(background) == "rgb(255, 255, 255)"
        watched.page.locator("#theme").click()
        assert watched.page.evaluate(background) == "rgb(23, 25, 28)"
        watched.page.evaluate("delete document.documentElement.dataset.theme")
        watched.page.emulate_media(media="print")
        for selector in ("body", "#plot"):
            shade = watched.page.evaluate(background.replace("document.body", f"document.querySelector('{selector}')"))
            assert shade == "rgb(255, 255, 255)"
        assert not watched.page.locator("#zoom-in").is_visible()


def test_a_small_screen_with_fingers_and_fine_pixels(browser, roll_path):
    size = {"viewport": {"width": 420, "height": 800}, "has_touch": True, "device_scale_factor": 2}
    with Watched(browser, roll_path, **size) as watched:
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= 420
        box = watched.page.locator("#plot").bounding_box()
        assert watched.state()["size"][0] == pytest.approx(2 * (box["width"] - 2))
        watched.page.touchscreen.tap(*watched.pixel(8))
        assert watched.state()["pinned"] == 8
        watched.page.set_viewport_size({"width": 700, "height": 800})
        watched.until("hneReport.state().size[0] > 1000")
        watched.page.mouse.move(*watched.pixel(9))
        assert watched.state()["hovered"] == 9


def test_two_fingers_zoom(browser, roll_path):
    with Watched(browser, roll_path, viewport={"width": 420, "height": 800}, has_touch=True) as watched:
        box = watched.page.locator("#plot").bounding_box()
        x, y = box["x"] + 150, box["y"] + 150
        fingers = watched.context.new_cdp_session(watched.page)
        for kind, apart in (("Start", 40), ("Move", 60), ("Move", 80), ("End", None)):
            points = [] if apart is None else [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
            fingers.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
        assert watched.state()["zoom"] == pytest.approx(2)
        assert watched.state()["pinned"] == -1


def test_no_text_is_too_pale_to_read(browser, roll_path):
    """Contrast of all texts by WCAG 2, at least 4.5 to 1."""
    script = """() => { const shade = (text) => text.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
        .map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, k) => sum + v * [.2126, .7152, .0722][k], 0);
      const under = (node) => { for (let at = node; at; at = at.parentElement) { const color =
        getComputedStyle(at).backgroundColor; if (!/, 0\\)$/.test(color)) return color; } return "rgb(0, 0, 0)"; };
      const pale = []; for (const node of document.querySelectorAll("main *, header *, footer *")) {
        if (![...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim()) || !node.checkVisibility()) continue;
        if (node.closest("svg, select, [aria-pressed=false].entry")) continue;
        const [a, b] = [shade(getComputedStyle(node).color), shade(under(node))].sort();
        const ratio = (b + .05) / (a + .05); if (ratio < 4.5) pale.push(`${node.textContent} ${ratio}`); }
      return pale; }"""
    for scheme in ("light", "dark"):
        with Watched(browser, roll_path, color_scheme=scheme) as watched:
            assert watched.page.evaluate(script) == []
            ids = watched.page.evaluate(
                "[...document.querySelectorAll('input, select')].filter((e) => !e.labels.length)"
            )
            assert ids == []
            heads = watched.page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])")
            assert heads[0] == 1
            assert max(np.diff(heads)) <= 1


def test_hostile_data_is_only_ever_text(browser, folder):
    rows = 80
    labels = np.array([HOSTILE, f"{HOSTILE}2", "x" * 10_000, "\u202eabc", None] * 16, dtype=object)
    columns = {HOSTILE: labels, "__proto__": np.arange(80.0), "<b>": np.full(80, np.nan)}
    details = Details(
        title=HOSTILE, ids=[f"{i}{HOSTILE}" for i in range(rows)], id_name=HOSTILE, columns=columns, color=HOSTILE,
        data_notes=[HOSTILE], source=HOSTILE, command=HOSTILE, timings={HOSTILE: 1},
        trust=some_trust(level="good", verdict=HOSTILE, findings=(Finding("score", "bad", {}, HOSTILE, HOSTILE),)),
    )  # fmt: skip
    result = embed(np.random.default_rng(0).normal(size=(rows, 3)))
    write_report(folder / "hostile.html", result, details)
    with Watched(browser, folder / "hostile.html") as watched:
        page = watched.page
        assert "<script>window.hacked=1</script>" in page.title()
        page.mouse.move(*watched.pixel(4))
        assert f"4{HOSTILE}" in page.evaluate("document.getElementById('card').textContent")
        page.mouse.click(*watched.pixel(4))
        page.locator("#find").fill("img src")
        watched.until("document.querySelectorAll('#found button').length > 5")
        for label in ("__proto__", "<b>", "reconstruction error"):
            page.select_option("#color", label=label)
        page.select_option("#x-axis", label="<b>")
        page.select_option("#x-axis", label="layout coordinate 1")
        page.locator("#mode-box").click()
        box = page.locator("#plot").bounding_box()
        watched.drag([(box["x"] + 5, box["y"] + 5), (box["x"] + box["width"] - 5, box["y"] + box["height"] - 5)])
        assert len(watched.state()["selected"]) == rows
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_images_have_thumbnails(browser, folder):
    faces = make_faces(60, size=24)
    images = faces.X.reshape(-1, 24, 24)
    write_report(folder / "faces.html", embed(faces.X), Details(images=images, columns={"pan": faces.chart[:, 0]}))
    with Watched(browser, folder / "faces.html") as watched:
        watched.page.mouse.move(*watched.pixel(33))
        watched.page.wait_for_timeout(100)
        drawn = watched.page.evaluate(
            "[...document.querySelector('#card canvas').getContext('2d').getImageData(0, 0, 24, 24).data]"
        )
        grey = np.array(drawn).reshape(24, 24, 4)[:, :, 0]
        np.testing.assert_allclose(grey, 255 * images[33], atol=1)
        assert watched.page.locator("button[data-worst] canvas").count() == 20


@pytest.mark.parametrize("d", [1, 4])
def test_lines_and_many_coordinates(browser, folder, d):
    write_report(folder / "d.html", embed(np.random.default_rng(0).normal(size=(50, 5)), n_components=d))
    with Watched(browser, folder / "d.html") as watched:
        axis = watched.page.evaluate("document.querySelector('#y-axis').selectedOptions[0].textContent")
        assert axis == ("row" if d == 1 else "chart coordinate 2")
        watched.page.mouse.move(*watched.pixel(11))
        assert watched.state()["hovered"] == 11
        assert "sample 12" in watched.words("#card")


def test_twenty_thousand_points(browser, folder, small):
    write_report(folder / "many.html", crowd(small, 20_000, np.random.default_rng(0)))
    with Watched(browser, folder / "many.html") as watched:
        assert watched.state()["drawnAs"] == "discs"
        assert watched.page.locator("#all").is_disabled()
        watched.page.mouse.click(*watched.pixel(1234))
        found = watched.state()["pinned"]
        np.testing.assert_allclose(watched.pixel(found), watched.pixel(1234), atol=1)
        assert watched.page.evaluate("hneReport.redrawTime(5)") < 2000


def test_beyond_a_hundred_thousand_points_density_is_shaded_until_few_are_in_view(browser, folder):
    rng = np.random.default_rng(0)
    small = embed(rng.normal(size=(300, 3)))
    write_report(folder / "crowd.html", crowd(small, 120_000, rng), Details(columns={"x": rng.random(120_000)}))
    with Watched(browser, folder / "crowd.html") as watched:
        assert watched.state()["drawnAs"] == "density"
        assert watched.ink("points") > 10_000
        assert "too many" in watched.words("#link-note")
        for _ in range(6):
            watched.page.locator("#zoom-in").click()
        assert watched.state()["drawnAs"] == "discs"
        assert watched.ink("points") > 1000


def crowd(result, n, rng):
    """The embedding with each sample standing for many, scattered about its place."""
    from dataclasses import replace

    from scipy.sparse import vstack

    core, times = result.core, -(-n // len(result.Y))

    def repeated(array):
        return np.concatenate([array] * times)[:n]

    joint = vstack([core.weights.J] * times).tocsr()[:n]
    joint.resize((n, n))
    Y = repeated(core.Y)
    everyone = replace(
        core,
        X=repeated(core.X) + 0.1 * rng.normal(size=(n, 3)),
        Y=Y + 0.05 * Y.std() * rng.normal(size=Y.shape),
        graph=replace(core.graph, indices=repeated(core.graph.indices), distances=repeated(core.graph.distances)),
        pieces=replace(core.pieces, labels=repeated(core.pieces.labels), sizes=np.array([n])),
        weights=replace(core.weights, J=joint, W=joint),
        reconstruction_errors=repeated(core.reconstruction_errors),
    )
    return replace(result, core=everyone, distinct=replace(result.distinct, index=np.arange(n), inverse=np.arange(n)))
