"""A notebook in a real JupyterLab: the widget drawn by its front end, its settings and selection read by Python."""

import re
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

from hne import embed
from hne.datasets import make_swiss_roll

pytestmark = pytest.mark.browser
nbformat = pytest.importorskip("nbformat", reason="needs JupyterLab: make test-browser installs it")
pytest.importorskip("jupyterlab", reason="needs JupyterLab: make test-browser installs it")

TOKEN = "notebook"
CELLS = [
    """import hne
from hne.datasets import make_swiss_roll
roll = make_swiss_roll(300, random_state=0)
widget = hne.explore(roll.X, n_neighbors=8, color=roll.chart[:, 0])
widget""",
    "print('k', widget.settings['parameters']['n_neighbors'], widget.embedding.settings.n_neighbors)",
    "print('selected', sorted(widget.selection))",
    "widget.settings = {'parameters': {'n_neighbors': 6}}\nwidget.selection = [1, 2, 3]",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, folder / "roll.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [f"--port={port}", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"]
    options += ["--no-browser", "--allow-root", "--LabApp.news_url=None", "--ServerApp.ip=127.0.0.1"]
    command = [sys.executable, "-m", "jupyterlab", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder) as process:
        try:
            end = time.monotonic() + 60
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token={TOKEN}", timeout=5).close()
                    break
                except OSError:
                    assert time.monotonic() < end
                    time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/lab/tree/roll.ipynb?token={TOKEN}&reset"
        finally:
            process.terminate()
            process.wait(timeout=60)


def test_the_widget_is_drawn_and_python_hears_what_its_user_does(browser, lab):
    context = browser.new_context(viewport={"width": 1500, "height": 1400})
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(lab)
    page.wait_for_selector(".jp-CodeCell", timeout=120_000)
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=120_000)

    def run(cell):
        """Execute a cell; what is pressed before the kernel is ready is lost in silence."""
        prompt = page.locator(".jp-CodeCell").nth(cell).locator(".jp-InputPrompt")
        for _ in range(20):
            page.locator(".jp-CodeCell .jp-InputArea-editor").nth(cell).click()
            page.keyboard.press("Control+Enter")
            page.wait_for_timeout(3_000)
            if re.search(r"\d|\*", prompt.inner_text()):
                return

    def printed(cell, start):
        line = page.locator(".jp-CodeCell").nth(cell).locator(".jp-OutputArea-output").filter(has_text=start)
        line.wait_for(timeout=60_000)
        return line.inner_text().split(maxsplit=1)[1].strip()

    run(0)
    page.locator("#verdict-word").filter(has_text=".").wait_for(timeout=120_000)
    roll = make_swiss_roll(300, random_state=0)
    assert page.locator("#verdict-text").inner_text() == embed(roll.X, n_neighbors=8).trust.verdict
    # Pixels of the plot in the shadow root are painted.
    painted = page.evaluate("""() => {
        const host = [...document.querySelectorAll("*")].find((one) => one.shadowRoot?.getElementById("plot"));
        const canvas = host.shadowRoot.getElementById("points");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let count = 0; for (let at = 3; at < data.length; at += 4) if (data[at]) count++;
        return count; }""")
    assert painted > 3000
    slider = page.locator("#n_neighbors-slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.locator("#lead").filter(has_text="with 9 neighbors").wait_for(timeout=60_000)
    # What is typed in the widget is no shortcut of the notebook, where x cuts a cell.
    n_cells = page.locator(".jp-CodeCell").count()
    page.keyboard.press("x")
    page.keyboard.press("ArrowDown")
    page.locator("#lead").filter(has_text="with 8 neighbors").wait_for(timeout=60_000)
    page.keyboard.press("ArrowUp")
    page.locator("#lead").filter(has_text="with 9 neighbors").wait_for(timeout=60_000)
    assert page.locator(".jp-CodeCell").count() == n_cells
    run(1)
    assert printed(1, "k ") == "9 9"
    box = page.locator("#plot").bounding_box()
    page.locator("#mode-box").click()
    page.locator("#plot").scroll_into_view_if_needed()
    box = page.locator("#plot").bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] - 50, steps=5)
    page.mouse.up()
    page.locator("#selection-count").filter(has_text="samples selected").wait_for(timeout=30_000)
    run(2)
    assert np.array(eval(printed(2, "selected"))).size > 200
    # And the other way round.
    run(3)
    page.locator("#lead").filter(has_text="with 6 neighbors").wait_for(timeout=60_000)
    page.locator("#selection-count").filter(has_text="3 of 300").wait_for(timeout=30_000)
    assert complaints == []
    context.close()
