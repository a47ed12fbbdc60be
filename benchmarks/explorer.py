"""The explorer in a real browser: seconds from the turn of a knob to the new picture, and what a fit alone takes."""

import shutil
import statistics
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page, sync_playwright
from sklearn.datasets import make_blobs

from hne import embed
from hne.datasets import make_swiss_roll
from hne.explorer.request import Request
from hne.explorer.server import Explorer
from hne.explorer.session import Session
from hne.explorer.source import Source, table_of
from hne.tuning.auto import MAX_SAMPLES
from tables import table

TITLE = "The explorer"
# Turns of a knob, one after the other: the parameter, and its values there and back and beyond.
TURNS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("n_neighbors", (7, 8, 9, 10, 12)),
    ("reg", (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)),
    ("variant", ("rhne", "bhne")),
    ("n_components", (3, 1, 2)),
    ("coordinates", ("eigenvectors", "layout", "chart")),
    ("short_circuits", ("keep",)),
)
IDLE = "hneExplorer.state().result !== null && !hneExplorer.state().busy && !hneExplorer.state().moving"
# Milliseconds between two looks at the page: each takes some of the machine from the fit.
PAUSE = 100
# Milliseconds into a long fit at which the next change comes.
INTO_IT = 400


@dataclass(frozen=True)
class Case:
    """Samples to explore."""

    name: str
    n: int
    limit: float  # seconds that were promised

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.name}, {self.n}"

    @property
    def samples(self) -> Any:
        """Its samples."""
        if self.name == "a roll":
            return make_swiss_roll(self.n, random_state=0).X
        return make_blobs(self.n, 50, centers=8, random_state=0)[0]


CASES = (
    Case("a roll", 2_000, 0.5),
    Case("a table of 50 columns", 2_000, 0.5),
    Case("a roll", 20_000, 3.0),
    Case("a table of 50 columns", 20_000, 3.0),
    Case("a roll", 100_000, 3.0),
)


def measure() -> str:
    """Measure and return the section as Markdown."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    lines, left = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for case in CASES:
            with _served(case.samples) as address:
                page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
                lines += _lines(page, address, case)
                left.append(f"{case.title} {_cancelled(page):.2f} s")
                page.context.close()
        browser.close()
    header = ["samples", "knob", "median s", "longest s", "promised s", "a fit alone, s", "fit / picture"]
    return (
        f"## {TITLE}\n\nSeconds in Chromium from the turn of a knob of `hne explore` to the first frame of the new "
        "picture, over all turns of that knob, one after the other and each from where the one before ended (after the "
        "first knob with 12 neighbors); from there points move to their places for another "
        "0.35 s. Beside it `hne.embed` with the same parameters, which shares nothing with the fit before it, in the "
        "same process right after. Of 100 000 samples a connected patch of 5 000 is drawn first, and `all` is the time "
        f"to the picture of all.\n\n{table(header, lines)}\n\nA change {INTO_IT} ms into a fit with 25 neighbors by "
        f"BHNE; from it to the picture of the change: {'; '.join(left)}."
    )


def _lines(page: Page, address: str, case: Case) -> list[list[str]]:
    """Rows of the table: the first picture, each knob, and all samples where a patch was drawn."""
    begun = time.perf_counter()
    page.goto(address)
    _rest(page)
    lines = [[case.title, "first picture", f"{time.perf_counter() - begun:.2f}", "", "", "", ""]]
    X = case.samples
    for name, values in TURNS:
        pictures, fits = [], []
        for value in values:
            pictures.append(_turned(page, name, value))
            if case.n <= MAX_SAMPLES:
                fits.append(_fitted(X, page.evaluate("hneExplorer.state().request.parameters")))
        middle, longest = statistics.median(pictures), max(pictures)
        alone = [f"{statistics.median(fits):.2f}", f"{statistics.median(fits) / middle:.2f}"] if fits else ["", ""]
        lines.append([case.title, name, f"{middle:.2f}", f"{longest:.2f}", f"{case.limit:g}", *alone])
    if case.n > MAX_SAMPLES:
        begun = time.perf_counter()
        page.locator("#patch-whole").click()
        _wait(page, "hneExplorer.state().request.whole")
        _rest(page)
        lines.append([case.title, "all", f"{time.perf_counter() - begun:.2f}", "", "", "", ""])
        page.locator("#patch-whole").click()
        _rest(page)
    return lines


def _fitted(X: Any, parameters: dict[str, Any]) -> float:
    """Seconds of a fit of its own."""
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        embed(X, **parameters)
    return time.perf_counter() - begun


@contextmanager
def _served(X: Any) -> Iterator[str]:
    explorer = Explorer(Session(Source(table_of(X), "samples", Request.start({}))))
    thread = threading.Thread(target=explorer.run, daemon=True)
    thread.start()
    yield explorer.address
    explorer.stop()
    thread.join()


def _wait(page: Page, condition: str) -> None:
    while not page.evaluate(condition):
        page.wait_for_timeout(PAUSE)


def _rest(page: Page) -> None:
    _wait(page, "window.hneExplorer !== undefined")
    _wait(page, IDLE)


def _turn(page: Page, name: str, value: Any) -> None:
    if isinstance(value, str):
        page.select_option(f"#{name}-choice", value)
        return
    change = "([id, value]) => { const field = document.getElementById(id); field.value = value; "
    change += "field.dispatchEvent(new Event('change')); }"
    page.evaluate(change, [f"{name}-field", str(value)])


def _turned(page: Page, name: str, value: Any) -> float:
    """Seconds to the first frame of the picture, as the page measures them."""
    _turn(page, name, value)
    _wait(page, f"hneExplorer.state().request.parameters.{name} === {value!r}")
    _rest(page)
    return float(page.evaluate("hneExplorer.state().latency.first")) / 1000


def _cancelled(page: Page) -> float:
    """Seconds from a change in the middle of a long fit to the picture of that change."""
    _turn(page, "variant", "bhne")
    _rest(page)
    _turn(page, "n_neighbors", 25)
    page.wait_for_timeout(INTO_IT)
    _turn(page, "n_neighbors", 6)
    _wait(page, "hneExplorer.state().request.parameters.n_neighbors === 6")
    _rest(page)
    return float(page.evaluate("hneExplorer.state().latency.first")) / 1000
