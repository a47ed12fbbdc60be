"""A notebook in a real JupyterLab: the widget drawn by its front end, its settings and selection read by Python."""

import ast
import re
import socket
import subprocess
import sys
import time
import urllib.request

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


class Notebook:
    """A notebook in JupyterLab, whose kernel is idle."""

    def __init__(self, browser, address):
        self.context = browser.new_context(viewport={"width": 1500, "height": 1400})
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)
        self.page.wait_for_selector(".jp-CodeCell", timeout=120_000)
        self.page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=120_000)

    def run(self, cell):
        """Execute a cell; what is pressed before the kernel is ready is lost in silence."""
        prompt = self.page.locator(".jp-CodeCell").nth(cell).locator(".jp-InputPrompt")
        for _ in range(20):
            if self.page.locator(".jp-Dialog").count():  # JupyterLab's own, as of a connection that was slow to open
                self.page.keyboard.press("Escape")
            self.page.locator(".jp-CodeCell .jp-InputArea-editor").nth(cell).click()
            self.page.keyboard.press("Control+Enter")
            self.page.wait_for_timeout(3_000)
            if re.search(r"\d|\*", prompt.inner_text()):
                return

    def printed(self, cell, start):
        """What a cell has printed after this word."""
        line = self.page.locator(".jp-CodeCell").nth(cell).locator(".jp-OutputArea-output").filter(has_text=start)
        line.wait_for(timeout=60_000)
        return line.inner_text().split(maxsplit=1)[1].strip()

    def until(self, selector, text):
        self.page.locator(selector).filter(has_text=text).wait_for(timeout=120_000)

    def painted(self):
        """Pixels of the plot that are not empty; it is in a shadow root."""
        return self.page.evaluate("""() => {
            const host = [...document.querySelectorAll("*")].find((one) => one.shadowRoot?.getElementById("plot"));
            const canvas = host.shadowRoot.getElementById("points");
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let count = 0; for (let at = 3; at < data.length; at += 4) if (data[at]) count++;
            return count; }""")

    def drag_over_the_plot(self):
        self.page.locator("#plot").scroll_into_view_if_needed()
        box = self.page.locator("#plot").bounding_box()
        self.page.mouse.move(box["x"] + 30, box["y"] + 40)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] - 50, steps=5)
        self.page.mouse.up()


def test_the_widget_is_drawn_and_python_hears_what_its_user_does(browser, lab):
    notebook = Notebook(browser, lab)
    page, keys = notebook.page, notebook.page.keyboard
    notebook.run(0)
    notebook.until("#verdict-word", ".")
    roll = make_swiss_roll(300, random_state=0)
    assert page.locator("#verdict-text").inner_text() == embed(roll.X, n_neighbors=8).trust.verdict
    assert notebook.painted() > 3000
    page.locator("#n_neighbors-slider").focus()
    keys.press("ArrowRight")
    notebook.until("#lead", "with 9 neighbors")
    # What is typed in the widget is no shortcut of the notebook, where x cuts a cell.
    n_cells = page.locator(".jp-CodeCell").count()
    keys.press("x")
    keys.press("ArrowDown")
    notebook.until("#lead", "with 8 neighbors")
    keys.press("ArrowUp")
    notebook.until("#lead", "with 9 neighbors")
    assert page.locator(".jp-CodeCell").count() == n_cells
    notebook.run(1)
    assert notebook.printed(1, "k ") == "9 9"
    page.locator("#mode-box").click()
    notebook.drag_over_the_plot()
    notebook.until("#selection-count", "samples selected")
    notebook.run(2)
    assert len(ast.literal_eval(notebook.printed(2, "selected"))) > 200
    # And the other way round.
    notebook.run(3)
    notebook.until("#lead", "with 6 neighbors")
    notebook.until("#selection-count", "3 of 300")
    assert notebook.complaints == []
    notebook.context.close()
