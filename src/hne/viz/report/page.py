"""Embedding, Details -> one HTML file that needs nothing else and asks nobody; and a fragment of it for notebooks.

Words and markup are in the folder `templates`, which escape all that they are handed.
"""

import base64
import functools
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from hne import __version__
from hne._runtime.files import atomic_write, expanded
from hne._runtime.progress import duration
from hne.core.records import Embedding, IndexArray, NeighborGraph
from hne.core.samples.kinds import Distances
from hne.core.trust.verdict import Assessment, embedding_warnings
from hne.settings import CURVE_NEIGHBORS, DEFAULTS, Settings, fill_defaults, known_settings
from hne.viz.report.details import (
    Details,
    check_details,
    column_facts,
    column_keys,
    draw_rows,
    encode_column,
    first_color,
    page_columns,
    row_numbers,
    sample_ids,
    shorten,
)
from hne.viz.report.measures import better_by_pca, measures, written
from hne.viz.report.pictures import FIRST_CATEGORY, color_by, draw_dots, scree_of, thumbnail_sheet
from hne.viz.report.scripts import STATIC, bundle, package_text, script_hash, static_text

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = ("viz/report/templates", "explorer/templates")
# Nothing is loaded, sent or run but the one script whose hash is given: not even what an escape has missed.
POLICY = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src '{script}'; base-uri 'none'; "
    "form-action 'none'"
)
MAX_POINTS, MAX_LINKED, MAX_LINKS = 1_000_000, 100_000, 4_000_000
# Samples that are rebuilt worst, and short circuits, that a page lists and draws.
WORST, MAX_SHORTS = 20, 60
LIBRARIES = ("numpy", "scipy", "scikit-learn")
MAX_VALUE = 80
# Shares of samples that lie in tangent planes: on a surface, and near none.
NEAR, FAR = 1.0, 0.0
# Of a notebook's picture.
SIDE, LEAST_SIDE, MARGIN, MOST_DOTS = 300, 100, 10, 2_000


def write_report(path: str | os.PathLike[str], result: Embedding, details: Details | None = None) -> None:
    """Write a page to look at an embedding and to judge it by: one HTML file that needs no network.

    For a fitted model, `report` of `hne.HNE` is shorter. A file at `path` is replaced, by the whole page or not at all.

    Parameters
    ----------
    path : str or path-like
        The HTML file; ``~`` is the home folder.
    result : Embedding
        What `hne.embed` gave.
    details : Details or None, default=None
        What is known of the samples, as `hne.viz.report.gather_details` gathers it: columns to color by, names, images,
        a title. None shows the embedding and its measures alone.

    See Also
    --------
    hne.embed : Makes the embedding.
    hne.viz.write_tuning_report : A page about a search for settings.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hne import embed
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.viz import write_report
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "roll.html"
    >>> write_report(page, embed(make_swiss_roll(200).X))
    >>> page.exists()
    True
    """
    write_page(path, report_page(result, details))


def write_page(path: str | os.PathLike[str], page: str) -> None:
    """Write a page; what no encoding has, half a pair of surrogates, browsers show as a replacement."""
    with atomic_write(expanded(path)) as temporary:
        temporary.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))


def report_page(
    result: Embedding,
    details: Details | None = None,
    *,
    max_points: int = MAX_POINTS,
    max_linked: int = MAX_LINKED,
    max_shorts: int = MAX_SHORTS,
) -> str:
    """The report as text, with so many points, links of so many points and short circuits at most."""
    details = check_details(details or Details(), len(result.Y))
    trust, compared = details.trust_in(result), measures(result, details.X)
    is_embedded = np.isfinite(result.Y).all(axis=1)
    errors = np.where(is_embedded, result.reconstruction_errors, np.nan)
    known = np.flatnonzero(np.isfinite(errors))
    worst = known[np.argsort(-errors[known], kind="stable")[:WORST]]
    shorts = trust.short_circuits[:max_shorts]
    rows = draw_rows(len(result.Y), max_points, np.union1d(worst, shorts).astype(np.intp).tolist())
    meta, blocks, left_out = _data_blocks(result, details, rows, max_linked)
    meta["shorts"] = np.searchsorted(rows, shorts).tolist()
    return render_page(
        "report.html",
        f"{STATIC}/report.js",
        **_facts(result, details, trust, better_by_pca(compared)),
        source=details.source,
        quality={one.name: one for one in compared},
        shorts=list(zip(*(_names(details, ends) for ends in shorts.T), strict=True)),
        worst=list(zip(_names(details, worst), np.searchsorted(rows, worst), errors[worst], strict=True)),
        scree=scree_of(result),
        n_embedded=int(is_embedded.sum()),
        versions=versions(),
        left_out=left_out,
        meta=meta,
        blocks=blocks,
    )


def notebook_html(result: Embedding, details: Details | None = None) -> str:
    """A picture of at most 2 000 points, what it is of, and what to know about it: no script, styles of its own."""
    details = check_details(details or Details(), len(result.Y))
    trust = details.trust_in(result)
    embedded = np.flatnonzero(np.isfinite(result.Y).all(axis=1))
    rows = embedded[draw_rows(len(embedded), MOST_DOTS)]
    # The chosen column, or the one that tells samples apart best by color.
    names = details.columns if details.color is None else [details.color]
    encoded = (encode_column(name, np.asarray(details.columns[name])[rows]) for name in names)
    columns = [column for column in encoded if column is not None]
    number = first_color(columns) if details.color is None or not columns else 0
    column = None if number is None else columns[number]
    picture = None
    if len(rows):
        Y = result.Y[rows].astype(np.float64)
        # A line is spread by the rows of its samples, as high as it is long.
        up = rows / max(rows[-1], 1) * np.ptp(Y) if Y.shape[1] == 1 else Y[:, 1]
        codes = np.full(len(rows), FIRST_CATEGORY) if column is None else color_by(column).codes
        diameter = float(np.clip(7.5 - 1.6 * np.log10(len(rows)), 2.2, 6))
        picture = draw_dots(np.column_stack([Y[:, 0], up]), codes, SIDE, (LEAST_SIDE, SIDE), MARGIN, diameter)
    return (
        environment()
        .get_template("notebook.html")
        .render(
            **_facts(result, details, trust),
            style=static_text("notebook.css"),
            color_name="" if column is None else column.name,
            n_drawn=len(rows),
            picture=picture,
        )
    )


@functools.cache
def environment() -> "Environment":
    """The templates, loaded with Jinja when the first page is made."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def load(name: str) -> str | None:
        paths = [f"{folder}/{name}" for folder in TEMPLATES if (files("hne") / folder / name).is_file()]
        return package_text(paths[0]) if paths else None

    loader = FunctionLoader(load)
    jinja = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    # In ASCII, so that marks that turn the direction of text are escaped too; NaN is no JSON.
    jinja.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    jinja.filters |= {
        "counted": counted, "duration": duration, "percent": lambda share, digits=0: f"{share:.{digits}%}",
        "sentence": sentence, "shorten": shorten, "spaced": spaced, "sqrt": math.sqrt, "written": written,
    }  # fmt: skip
    jinja.tests["finite"] = math.isfinite
    jinja.globals["version"] = __version__
    return jinja


def render_page(template: str, entry: str, styles: Sequence[str] = (), *, policy: str = POLICY, **context: Any) -> str:
    """The template with the script of a module and all that it imports, and styles beside those of every page.

    Both are named by their paths in the package; a policy has `{script}` where the hash of the script belongs.
    """
    script = bundle(entry)
    style = "\n".join([static_text("base.css", "report.css"), *map(package_text, styles)])
    known = {"style": style, "script": script, "policy": policy.format(script=script_hash(script))}
    return environment().get_template(template).render(**known, **context)


def counted(count: int, noun: str) -> str:
    """The number with its noun, of which there may be one."""
    return f"{spaced(count)} {noun}{'' if count == 1 else 's'}"


def spaced(count: int) -> str:
    """The number with its thousands apart."""
    return f"{count:,}".replace(",", "\N{NO-BREAK SPACE}")


def capitalized(text: str) -> str:
    """The text with a capital, unless it starts with the name of a parameter."""
    return text if "_" in text.split(" ", 1)[0] else f"{text[:1].upper()}{text[1:]}"


def sentence(text: str) -> str:
    """The text with a capital and a full stop.

    >>> sentence("a piece is small"), sentence("n_components=2 is more?")
    ('A piece is small.', 'n_components=2 is more?')
    """
    return f"{capitalized(text)}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _facts(result: Embedding, details: Details, trust: Assessment, remarks: Sequence[str] = ()) -> dict[str, Any]:
    """What the page and the notebook both tell."""
    X, charts = result.core.X, result.core.charts
    # What the verdict says stands at the top.
    warnings = [notice.message for notice in embedding_warnings(result) if notice.kind != "verdict"]
    if details.embedding_warnings is not None:
        warnings = [message for message in details.embedding_warnings if trust.verdict not in message]
    return {
        "result": result,
        "details": details,
        "title": details.title,
        "trust": trust,
        "warnings": [*map(capitalized, warnings), *details.data_notes, *remarks],
        "n_distinct": result.distinct.n_places,
        "n_features": None if isinstance(X, Distances) else X.shape[1],
        "is_sparse": issparse(X),
        "parameters": parameters(result.settings, result.distinct.n_places),
        "is_in_parts": len(result.core.eigenpairs) > 1,
        "is_layout": result.settings.coordinates == "layout",
        "n_put_back": sum(chart.n_put_back for chart in charts if chart is not None),
    }


class Parameter(NamedTuple):
    """A parameter of the embedding as it was set."""

    name: str
    value: str
    is_default: bool


def parameters(settings: Settings, n_samples: int) -> list[Parameter]:
    """All parameters, in their order, of an embedding of so many different samples."""
    shown = []
    for field in fields(settings):
        name, value = field.name, getattr(settings, field.name)
        if isinstance(value, NeighborGraph):
            shown.append(Parameter(name, f"given: {value}", is_default=False))
            continue
        known = known_settings()[name]
        usual: tuple[Any, ...] = (DEFAULTS[name],)
        if name == "coordinates":
            # What "auto" stands for.
            usual = ("chart", "layout")
        if known.may_be_none and known.stand_in is not None:
            # Left to the samples: all that it can be.
            usual = tuple(getattr(fill_defaults(settings, [name], share, n_samples), name) for share in (NEAR, FAR))
            if name == "n_neighbors" and settings.coordinates == "chart":
                usual += (CURVE_NEIGHBORS,)
        is_plain = isinstance(value, str | int | float | None)
        text = repr(value) if is_plain else str(getattr(value, "__name__", repr(value)))
        is_default = is_plain and any(type(value) is type(one) and value == one for one in usual)
        shown.append(Parameter(name, shorten(" ".join(text.split()), MAX_VALUE), is_default))
    return shown


def versions() -> list[tuple[str, str]]:
    """Names and versions of what an embedding depends on; metadata tells them without loading what is not needed."""
    known = [("hne", __version__)]
    for name in LIBRARIES:
        try:
            known.append((name, version(name)))
        except PackageNotFoundError:
            known.append((name, "unknown"))
    return [*known, ("Python", platform.python_version()), ("platform", platform.platform(terse=True))]


def _names(details: Details, rows: IndexArray) -> list[str]:
    return sample_ids(details, rows) or [str(number) for number in row_numbers(details, rows)]


def _data_blocks(
    result: Embedding, details: Details, rows: IndexArray, max_linked: int
) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """Data of the picture: what its script is told, bytes in base64 by name, and what had to be left out."""
    columns, color, left_out = page_columns(result, details, rows)
    n, k = len(rows), result.graph.n_neighbors
    is_thinned = n < len(result.Y)
    if is_thinned:
        left_out.append(f"All but {n} of {len(result.Y)} samples, drawn at random; numbers are of all samples.")
    blocks = {f"column-{number}": _base64(column.values) for number, column in enumerate(columns)}
    has_links = n <= max_linked and n * k <= MAX_LINKS
    if has_links:
        blocks["neighbors"] = _base64(result.graph.indices.astype(np.int32))
    else:
        left_out.append(f"Links between neighbors: {counted(n * k, 'link')} would make the file too large.")
    if is_thinned or details.rows is not None:
        blocks["rows"] = _base64(row_numbers(details, rows).astype(np.float64))
    sheet = None if details.images is None else thumbnail_sheet(details.images, rows)
    if sheet is not None:
        blocks["sheet"] = base64.b64encode(sheet.content).decode("ascii")
    elif details.images is not None:
        left_out.append(f"Thumbnails: {counted(n, 'image')} do not fit one sheet in a size that can be seen.")
    keys = column_keys(columns)
    meta = {
        "n": n,
        "idName": details.id_name[:80],
        "ids": sample_ids(details, rows),
        "columns": [
            column_facts(column, key) | {"block": block}
            for key, block, column in zip(keys, blocks, columns, strict=False)
        ],
        "color": None if color is None else keys[color],
        "rows": "rows" in blocks,
        "neighbors": k if has_links else 0,
        "sheet": sheet and {name: value for name, value in vars(sheet).items() if name != "content"},
        "cut": result.is_cut,
        "coordinates": result.settings.coordinates,
    }
    return meta, blocks, left_out


def _base64(array: NDArray[Any]) -> str:
    """The array's bytes, little-endian."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return base64.b64encode(little.tobytes()).decode("ascii")
