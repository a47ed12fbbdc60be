"""Several plots on a desk, and several desks in a document, in a real browser."""

from pathlib import Path

import numpy as np
import pytest

from hne.viz.report.page import environment
from hne.viz.report.scripts import joined_modules, static_text

pytestmark = pytest.mark.browser

# A place for two plots in the document, and for another desk in a shadow root.
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>desks</title><style>{style}</style>
<body>{picture}<div class="plot" id="second" style="height: 240px"></div><div id="host"></div>
<template id="inside"><style>{style} .stage {{ --tall: 300px; }}</style>{picture}</template>
<script>(() => {{ {modules}
window.kit = {{ createData, createDesk }}; }})();</script><script>{start}</script>"""

START = Path(__file__).parent / "modules" / "desks.js"


@pytest.fixture(scope="module")
def desk_path(tmp_path_factory):
    modules = joined_modules("viz/report/static/desk.js")
    picture = environment().get_template("picture.html").render()
    parts = {
        "style": static_text("base.css", "report.css"),
        "picture": picture,
        "modules": modules,
        "start": START.read_text(encoding="utf-8"),
    }
    path = tmp_path_factory.mktemp("desks") / "desks.html"
    path.write_text(PAGE.format(**parts), encoding="utf-8")
    return path


@pytest.fixture
def page(browser, desk_path):
    context = browser.new_context(viewport={"width": 1200, "height": 1400})
    opened, complaints = context.new_page(), []
    opened.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(desk_path.as_uri())
    yield opened
    assert complaints == []
    context.close()


def show_both(page):
    page.evaluate("first.show(picture(false)); second.show(picture(true)); frame()")


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def test_a_desk_without_a_picture_is_empty_and_knows_its_columns(page):
    assert page.evaluate("frame().then(() => [ink(first.canvases.points), ink(first.canvases.over)])") == [0, 0]
    assert page.locator("#legend .entry").count() == 3
    assert page.evaluate("first.columns.map(({ key }) => key)") == ["data-1", "data-2", "row"]
    page.locator("#plot").hover()
    page.locator("#zoom-in").click()
    assert page.evaluate("desk.state.hovered") == -1


def test_who_is_hovered_in_one_plot_is_ringed_in_the_other(page):
    show_both(page)
    before = page.evaluate("[first, second].map((plot) => ink(plot.canvases.over))")
    page.mouse.move(*page.evaluate("pageOf(second, 17)"))
    assert page.evaluate("frame().then(() => desk.state.hovered)") == 17
    after = page.evaluate("[first, second].map((plot) => ink(plot.canvases.over))")
    assert all(after[k] > before[k] for k in (0, 1))
    assert page.evaluate("[first.card.hidden, second.card.hidden]") == [True, False]
    assert "sample 18" in page.evaluate("second.card.textContent")
    # Both layers of links are of each picture's own graph.
    assert page.evaluate("[first.counts.links, second.counts.links]") == [2, 2]
    page.mouse.move(*page.evaluate("pageOf(first, 23)"))
    assert page.evaluate("[desk.state.hovered, first.card.hidden, second.card.hidden]") == [23, False, True]


def test_what_is_selected_in_one_plot_is_selected_in_the_other(page):
    show_both(page)
    page.locator("#mode-box").click()
    (x0, y0), (x1, y1) = page.evaluate("[pageOf(second, 0), pageOf(second, 12)]")
    drag(page, (x0 - 9, y0 + 9), (x1 + 9, y1 - 9))
    wanted = [0, 1, 2, 10, 11, 12]
    assert page.evaluate("desk.state.selected") == wanted
    assert page.evaluate("[first, second].map((plot) => plot.levels.filter((level) => level === 2).length)") == [6, 6]
    assert page.locator("#selection-count").inner_text().startswith("6 of 60")
    page.mouse.click(*page.evaluate("pageOf(first, 33)"))
    page.select_option("#color", label="size")
    assert page.evaluate("told") == [["select", wanted], ["pin", 33], ["color", "data-2"]]
    page.locator("#plot").press("Escape")
    page.locator("#plot").press("Escape")
    assert page.evaluate("[desk.state.pinned, desk.state.selected.length]") == [-1, 0]


def test_points_move_from_the_old_to_the_new_picture_and_what_was_chosen_stays(page):
    show_both(page)
    places = page.evaluate("""async () => {
      desk.on.pin(7); desk.on.select([7, 8]); const seen = [pageOf(first, 7)];
      const moved = first.show(picture(true), { duration: 600 }); seen.push(pageOf(first, 7));
      await new Promise((done) => setTimeout(done, 300)); seen.push(pageOf(first, 7));
      const during = first.nearestTo(...first.pixelOf(7), 14);
      await moved; seen.push(pageOf(first, 7)); await frame();
      const { pinned, selected, color } = desk.state;
      return { seen, during, state: [pinned, selected, color], drawn: ink(first.canvases.points) }; }""")
    start, begin, middle, end = np.array(places["seen"])
    np.testing.assert_allclose(begin, start, atol=1e-6)
    assert np.linalg.norm(middle - start) > 1
    assert np.linalg.norm(middle - end) > 1
    assert places["during"] == -1
    assert places["state"] == [7, [7, 8], "data-1"]
    assert places["drawn"] > 0
    at_once = page.evaluate("first.show(picture(true)).then(() => pageOf(first, 7))")
    np.testing.assert_allclose(end, at_once, atol=1e-6)


def test_a_picture_that_comes_during_the_movement_goes_on_from_there(page):
    show_both(page)
    seen, end = page.evaluate("""async () => {
      const early = first.show(picture(true), { duration: 5000 });
      await new Promise((done) => setTimeout(done, 1500));
      const before = pageOf(first, 9); const late = first.show(picture(false), { duration: 60 });
      const after = pageOf(first, 9); await Promise.all([early, late]);
      return [[before, after], [pageOf(first, 9), first.motion]]; }""")
    np.testing.assert_allclose(seen[0], seen[1], atol=1e-6)
    assert end[1] is None
    np.testing.assert_allclose(
        end[0], page.evaluate("first.show(picture(false)).then(() => pageOf(first, 9))"), atol=1e-6
    )


def test_nothing_moves_for_who_wants_it_still(browser, desk_path):
    context = browser.new_context(reduced_motion="reduce")
    still = context.new_page()
    still.goto(desk_path.as_uri())
    moving = "first.show(picture(false)); first.show(picture(true), { duration: 5000 }); first.motion"
    assert still.evaluate(moving) is None
    context.close()


def test_a_window_that_was_moved_stays_where_that_is_asked_for(page):
    show_both(page)
    page.evaluate("first.view.zoomAt(4, 100, 100); first.show(picture(false), { keepView: true })")
    assert page.evaluate("first.view.zoom") == pytest.approx(4)
    page.evaluate("first.show(picture(false))")
    assert page.evaluate("first.view.zoom") == 1


def test_axes_and_colors_are_kept_by_key_as_far_as_a_picture_has_them(page):
    show_both(page)
    page.select_option("#y-axis", label="size")
    page.select_option("#color", label="reconstruction error")
    line = "picture(false, { columns: picture(false).columns.filter(({ key }) => key === 'coordinate-1') })"
    page.evaluate(f"first.show({line})")
    assert page.evaluate("first.axes().map(({ key }) => key)") == ["coordinate-1", "data-2"]
    assert page.evaluate("document.getElementById('color').selectedOptions[0].textContent") == "one color"
    page.evaluate("desk.on.axes(null, null)")
    assert page.evaluate("[first, second].map((plot) => plot.axes()[1].key)") == ["row", "coordinate-2"]
    page.evaluate("first.show(picture(false))")
    assert page.locator("#legend-title").inner_text() == "reconstruction error"
    assert page.evaluate("first.axes()[1].key") == "coordinate-2"


def test_edges_are_clicked_before_samples_and_further_lines_are_drawn(page):
    show_both(page)
    page.evaluate("frame()")
    before = page.evaluate("ink(first.canvases.links)")
    page.evaluate("""() => { const pairs = [[0, 9], [50, 59]]; desk.clicks = [];
      first.extraLinks = [{ pairs, color: "--short", dash: [7, 4], width: 2 }]; desk.redraw("overlay");
      desk.onClick = (plot, x, y) => desk.clicks.push(plot.edgeAt(x, y, pairs, 6)) > 0; }""")
    assert page.evaluate("frame().then(() => ink(first.canvases.links))") > before
    page.mouse.click(*page.evaluate("pageOf(first, 55)"))
    assert page.evaluate("[desk.clicks, desk.state.pinned]") == [[1], -1]
    page.mouse.move(*page.evaluate("pageOf(first, 0)"))
    page.evaluate("desk.onClick = null")
    page.mouse.click(*page.evaluate("pageOf(first, 55)"))
    assert page.evaluate("desk.state.pinned") == 55


def test_other_samples_empty_the_plots_and_a_plot_can_go(page):
    show_both(page)
    page.evaluate("desk.on.pin(59); desk.on.select([59]); desk.setData(kit.createData({ n: 5, columns: [] })); frame()")
    assert page.evaluate("[desk.state.pinned, desk.state.selected, first.picture, first.levels.length]") == [
        -1,
        [],
        None,
        5,
    ]
    assert page.evaluate("[first, second].map((plot) => ink(plot.canvases.points))") == [0, 0]
    assert page.locator("#selection-count").inner_text().startswith("Nothing selected")
    page.evaluate("desk.setData(dataOf()); first.show(picture(false)); desk.removePlot(second); frame()")
    assert page.evaluate("desk.plots.length") == 1
    assert page.locator("#legend-title").inner_text() == "kind"
    page.locator("#second").hover()
    page.locator("#second").click()
    assert page.evaluate("[desk.state.hovered, desk.state.pinned]") == [-1, -1]


def test_a_desk_in_a_shadow_root_is_one_of_its_own(page):
    show_both(page)
    inner = page.evaluate("""async () => {
      shadow.append(document.getElementById("inside").content.cloneNode(true));
      window.other = kit.createDesk(shadow, dataOf(), { color: "data-2" });
      window.third = other.addPlot(shadow.getElementById("plot")); third.show(picture(false)); await frame();
      third.element.scrollIntoView(); return [ink(third.canvases.points), third.view.width]; }""")
    assert min(inner) > 100
    assert page.locator("#legend-title").all_inner_texts() == ["kind", "size"]
    page.mouse.click(*page.evaluate("pageOf(third, 21)"))
    assert page.evaluate("[other.state.pinned, desk.state.pinned]") == [21, -1]
    assert "sample 22" in page.evaluate("shadow.getElementById('pinned').textContent")
    paper = "(at) => getComputedStyle(at).getPropertyValue('--plot').trim()"
    shades = f"[third.element, first.element].map({paper})"
    assert page.evaluate(shades) == ["#ffffff", "#ffffff"]
    page.evaluate("host.dataset.theme = 'dark'; other.themed()")
    assert page.evaluate(shades) == ["#1b1d21", "#ffffff"]
    assert page.evaluate("[other, desk].map(({ style }) => style.paper)") == ["#1b1d21", "#ffffff"]
    background = "getComputedStyle(host).backgroundColor"
    assert page.evaluate(background) == "rgb(23, 25, 28)"
    page.evaluate("other.close()")
    page.mouse.click(*page.evaluate("pageOf(third, 5)"))
    assert page.evaluate("[other.plots.length, other.state.pinned]") == [0, 21]
