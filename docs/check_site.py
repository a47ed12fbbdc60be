"""The built site in Chromium: every page opens without errors, every link leads somewhere, nothing is too long.

Usage: python docs/check_site.py [FOLDER]; run by `make docs-check`. Prints what is wrong, and how many pages there are.
"""

import shutil
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag

from playwright.sync_api import Page, sync_playwright

MOST_LINES = 6  # of a paragraph, in a window of this size
MOST_WORDS = 1200  # of a page, without code and tables
WINDOW = {"width": 1280, "height": 900}
LONG = ("reference/", "genindex")  # for looking up

LOOK = """() => {
  const article = document.querySelector("article") || document.body;
  const lines = p => Math.round(p.getBoundingClientRect().height / parseFloat(getComputedStyle(p).lineHeight));
  const prose = article.cloneNode(true);
  const aside = "pre, table, script, style, .sphx-glr-script-out, .sphx-glr-thumbcontainer, mjx-container";
  prose.querySelectorAll(aside).forEach(one => one.remove());
  return {
    words: (prose.textContent.match(/[\\p{L}][\\p{L}'-]*/gu) || []).length,
    long: [...article.querySelectorAll("p")]
      .filter(p => !p.closest("table, .sphx-glr-thumbcontainer") && !p.querySelector("img") && lines(p) > MOST_LINES)
      .map(p => lines(p) + " lines: " + p.textContent.slice(0, 60)),
    images: [...document.images].filter(one => !one.complete || !one.naturalWidth).map(one => one.src),
    links: [...document.querySelectorAll("a[href]")].map(one => one.href).filter(one => one.startsWith("file:")),
    ids: [...document.querySelectorAll("[id], a[name]")].map(one => one.id || one.name),
    lost: [...article.querySelectorAll(".seealso dt, .admonition.seealso dt")]
      .filter(one => !one.querySelector("a.reference")).map(one => one.textContent),
    wide: document.documentElement.scrollWidth > window.innerWidth + 1,
  };
}""".replace("MOST_LINES", str(MOST_LINES))


def main(folder: Path) -> int:
    """Look at all pages, and return 1 if something is wrong."""
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html") if "_static" not in path.parts)
    names = [name for name in names if not name.startswith(("_modules", "_downloads"))]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=WINDOW)
        pages = {}
        for number, name in enumerate(names, start=1):
            print(f"\r{number} of {len(names)} pages", end="", file=sys.stderr, flush=True)
            pages[name] = look(page, folder / name)
        browser.close()
    print(file=sys.stderr)
    wrong = [f"{name}: {what}" for name, seen in pages.items() for what in complaints(name, seen)]
    wrong += broken_links(folder, pages)
    words = sum(seen["words"] for seen in pages.values())
    print("\n".join([*wrong, f"{len(pages)} pages, {words} words, {len(wrong)} complaints"]))
    return int(bool(wrong))


def look(page: Page, path: Path) -> dict:
    """What a browser sees of a page, and what it complains about."""
    errors = []

    def say(message):
        if message.type in {"error", "warning"}:
            errors.append(f"console: {message.text}")

    page.on("console", say)
    page.on("pageerror", fail := lambda error: errors.append(f"script: {error}"))
    page.on("requestfailed", miss := lambda request: errors.append(f"not loaded: {request.url}"))
    page.goto(path.resolve().as_uri(), wait_until="load")
    seen = page.evaluate(LOOK) | {"errors": errors}
    for event, listener in (("console", say), ("pageerror", fail), ("requestfailed", miss)):
        page.remove_listener(event, listener)
    return seen


def complaints(name: str, seen: dict) -> list[str]:
    """What is wrong with a page by itself."""
    wrong = seen["errors"] + [f"picture is missing: {one}" for one in seen["images"]]
    wrong += [f"See Also leads nowhere: {one}" for one in seen["lost"]]
    wrong += ["wider than the window"] * seen["wide"] + seen["long"]
    if seen["words"] > MOST_WORDS and not name.startswith(LONG):
        wrong.append(f"{seen['words']} words")
    return wrong


def broken_links(folder: Path, pages: dict) -> list[str]:
    """Links to pages, files and places in pages that are not there."""
    wrong = []
    for name, seen in pages.items():
        for link in sorted(set(seen["links"])):
            address, place = urldefrag(link)
            target = Path(unquote(address.removeprefix("file://").partition("?")[0]))
            if not target.exists():
                wrong.append(f"{name}: no such file: {target.name}")
                continue
            there = pages.get(str(target.relative_to(folder.resolve())))
            if place and there and unquote(place) not in there["ids"]:
                wrong.append(f"{name}: no such place: {target.name}#{place}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parent / "_build" / "html")))
