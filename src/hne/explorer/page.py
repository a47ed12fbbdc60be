"""The explorer's templates, styles and modules -> one HTML page, or one module for a notebook."""

import functools
import json
import re

from hne.viz.report.page import environment, render_page
from hne.viz.report.scripts import joined_modules, package_text, static_text

STATIC = "explorer/static"
STYLES = ("viz/report/static/tuning.css", f"{STATIC}/explorer.css")
# As for reports, and beside that calls of the server that the page came from.
POLICY = (
    "default-src 'none'; connect-src 'self'; img-src data: blob:; style-src 'unsafe-inline'; script-src '{script}'; "
    "base-uri 'none'; form-action 'none'"
)
# In a notebook it is the width of the cell that counts, not that of the window.
WINDOW = re.compile(r"@media (?=\((?:max|min)-width)")


def explorer_page(title: str) -> str:
    """The page that a server hands out, without data and without a token: it takes the token from its address."""
    return render_page("explorer.html", f"{STATIC}/explore.js", STYLES, policy=POLICY, title=title)


@functools.cache
def widget_module() -> str:
    """The same for anywidget: an ES module whose default export renders the explorer into a shadow root."""
    workbench = environment().get_template("workbench.html").render(title="")
    markup = f'<main id="explorer">{workbench}</main>'
    style = "\n".join([static_text("base.css", "report.css"), *map(package_text, STYLES)])
    parts = [
        "const widget = (() => {",
        joined_modules(f"{STATIC}/widget.js"),
        f"const MARKUP = {json.dumps(markup)};",
        f"const STYLE = {json.dumps(WINDOW.sub('@container ', style))};",
        "return { render: (context) => renderWidget(context, MARKUP, STYLE) };",
        "})();",
        "export default widget;",
    ]
    return "\n".join([*parts, ""])
