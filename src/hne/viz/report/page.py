"""Embedding, Details -> one HTML file that needs nothing else and asks nobody."""

import os
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from hne import __version__
from hne._runtime.files import atomic_write, expanded
from hne.core.records import Embedding, IndexArray
from hne.core.trust.record import Assessment
from hne.viz.report.columns import Points, page_columns, point_ids, row_numbers, thinned
from hne.viz.report.details import Details, check_details, trust_shown
from hne.viz.report.encoded import Column
from hne.viz.report.facts import axes_of, counted, warnings_of, what_was_embedded, worst_rebuilt
from hne.viz.report.measures import Measure, better_by_pca, measures
from hne.viz.report.pack import array_block, bytes_block, json_block, script_hash, static_text
from hne.viz.report.sections import (
    chart_section,
    graph_section,
    key_numbers,
    left_out_section,
    making_section,
    measures_section,
    parameters_section,
    scree_section,
    section,
    warnings_section,
)
from hne.viz.report.thumbnails import Sheet, thumbnail_sheet
from hne.viz.report.verdict import MAX_SHORTS, trust_measures, trust_section, verdict_block

SCRIPTS = ("data", "colors", "raster", "view", "overlay", "pointer", "panels", "main", "start")
# Nothing is loaded, sent or run but the one script whose hash is given: not even what an escape has missed.
POLICY = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {script}; base-uri 'none'; "
    "form-action 'none'"
)
MAX_POINTS, MAX_LINKED, MAX_LINKS = 1_000_000, 100_000, 4_000_000
WORST = 20


def write_report(path: str | os.PathLike[str], result: Embedding, details: Details | None = None) -> None:
    """Write the report of an embedding, `~` in its path being the home; the file is there whole or not at all."""
    page = report_page(result, details)
    with atomic_write(expanded(path)) as temporary:
        # What no encoding has, half a pair of surrogates, becomes a reference, which browsers show as a replacement.
        temporary.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))


def report_page(result: Embedding, details: Details | None = None) -> str:
    """The report as text; all that comes from the data is escaped."""
    details = check_details(details or Details(), len(result.Y))
    trust, worst = trust_shown(result, details), worst_rebuilt(result, WORST)
    found = measures(result, details.X)
    # Measured once, where it was not yet.
    details = replace(details, trust=trust, warnings=[*details.warnings, *better_by_pca(found)])
    shorts = _short_circuits(trust)
    kept = np.union1d(worst, shorts).astype(np.intp).tolist()
    points = page_columns(result, details, thinned(len(result.Y), MAX_POINTS, kept))
    blocks, left_out = _blocks(result, details, points, shorts)
    script = f'"use strict";\n(() => {{\n{static_text(*(f"{name}.js" for name in SCRIPTS))}\n}})();\n'
    told = len(warnings_of(result, details))
    alert = f'<p class="alert"><a href="#warnings">{counted(told, "thing")} worth knowing</a></p>' if told else ""
    source = f'<p class="source"><bdi>{escape(details.source)}</bdi></p>' if details.source else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY.format(script=script_hash(script))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="hne {escape(__version__)}">
<title>{escape(details.title)}</title>
<link rel="icon" href="data:,">
<style>{static_text("base.css", "report.css")}</style>
</head>
<body>
<a class="skip unseen" href="#quality">Skip the picture</a>
<header class="top"><div>
<h1><bdi>{escape(details.title)}</bdi></h1>
<p class="lead">{escape(what_was_embedded(result))}</p>
{source}{alert}
</div><button type="button" id="theme" hidden>Dark</button></header>
<main>
{verdict_block(trust)}
<section id="picture" aria-labelledby="picture-title"><h2 class="unseen" id="picture-title">Picture of the samples</h2>
<p class="unseen" id="picture-text">{escape(_picture_in_words(result))}</p>
<noscript><p>The picture needs JavaScript, which is switched off; all numbers below are here without it.</p></noscript>
{static_text("picture.html")}</section>
<section class="wide" aria-labelledby="numbers-title"><h2 class="unseen" id="numbers-title">In numbers</h2>
{key_numbers(result, found)}</section>
{warnings_section(result, details)}
{trust_section(trust, result, _pair_names(details, shorts))}
{measures_section(_others(found, trust, result))}
<div class="below">
{_worst_section(result, details, points.rows, worst)}
{chart_section(result)}{scree_section(result, details)}
{graph_section(result)}{parameters_section(result)}{making_section(details)}
{left_out_section(left_out)}</div>
</main>
<footer><p>Made by hne {escape(__version__)}: Hierarchic Neighbors Embedding. This file works without a network and
sends nothing.</p></footer>
{blocks}
<script>{script}</script>
</body>
</html>
"""


def _picture_in_words(result: Embedding) -> str:
    n, d = result.Y.shape
    drawn = int(np.isfinite(result.Y).all(axis=1).sum())
    missing = f" {n - drawn} samples have no place." if drawn < n else ""
    axes = "one coordinate across, the row number up" if d == 1 else "the first coordinate across, the second up"
    return (
        f"A scatter plot of {counted(drawn, 'sample')} in {axes_of(result)}: {axes}.{missing} With the keys n and p "
        "samples are read out from the center outward, Enter pins one; the search field after the picture finds "
        "samples by name."
    )


def _blocks(result: Embedding, details: Details, points: Points, shorts: IndexArray) -> tuple[str, list[str]]:
    """Data of the picture as blocks, and what had to be left out."""
    n, rows, left_out = len(points.rows), points.rows, list(points.left_out)
    is_thinned = n < len(result.Y)
    if is_thinned:
        left_out.append(f"All but {n} of {len(result.Y)} samples, drawn at random; numbers are of all samples.")
    blocks = [array_block(f"column-{number}", column.values) for number, column in enumerate(points.columns)]
    k = result.graph.n_neighbors
    has_links = n <= MAX_LINKED and n * k <= MAX_LINKS
    if has_links:
        blocks.append(array_block("neighbors", result.graph.indices.astype(np.int32)))
    else:
        left_out.append(f"Links between neighbors: {counted(n * k, 'link')} would make the file too large.")
    has_rows = is_thinned or details.rows is not None
    if has_rows:
        blocks.append(array_block("rows", row_numbers(details, rows).astype(np.float64)))
    sheet = None
    if details.images is not None:
        sheet = thumbnail_sheet(details.images, rows)
        if sheet is None:
            left_out.append(f"Thumbnails: {counted(n, 'image')} do not fit one sheet in a size that can be seen.")
        else:
            blocks.append(bytes_block("sheet", sheet.content))
    meta = {
        "n": n,
        "idName": details.id_name[:80],
        "ids": point_ids(details, rows),
        "columns": [_column_facts(number, column) for number, column in enumerate(points.columns)],
        "color": -1 if points.color is None else points.color,
        "rows": has_rows,
        "neighbors": k if has_links else 0,
        "sheet": _sheet_facts(sheet),
        "shorts": np.searchsorted(rows, shorts).tolist(),
        "kind": result.kind,
        "cut": result.is_cut,
        "coordinates": result.settings.coordinates,
        "inLengths": result.settings.in_lengths,
    }
    return "\n".join([json_block("meta", meta), *blocks]), left_out


def _others(found: Sequence[Measure], trust: Assessment, result: Embedding) -> list[Measure]:
    """The measures that the section of trust does not tell."""
    told = {measure.name for measure in trust_measures(trust, result)}
    return [measure for measure in found if measure.name not in told]


def _short_circuits(trust: Assessment) -> IndexArray:
    """Rows of the pairs that the page draws, (p, 2)."""
    return trust.short_circuits[:MAX_SHORTS]


def _pair_names(details: Details, pairs: IndexArray) -> list[tuple[str, str]]:
    return list(zip(*(_names(details, rows) for rows in pairs.T), strict=True))


def _names(details: Details, rows: IndexArray) -> list[str]:
    return point_ids(details, rows) or [str(number) for number in row_numbers(details, rows)]


def _column_facts(number: int, column: Column) -> dict[str, Any]:
    kind, block = column.values.dtype.str[1:], f"column-{number}"
    facts: dict[str, Any] = {"name": column.name, "group": column.group, "kind": kind, "block": block}
    facts |= {} if column.categories is None else {"categories": column.categories}
    return facts | ({"time": True} if column.is_time else {})


def _sheet_facts(sheet: Sheet | None) -> dict[str, str | int] | None:
    if sheet is None:
        return None
    return {"kind": sheet.kind, "width": sheet.width, "height": sheet.height, "per_row": sheet.per_row}


def _worst_section(result: Embedding, details: Details, rows: IndexArray, worst: IndexArray) -> str:
    """Samples that the others rebuild worst, as buttons that lead to their points."""
    if not len(worst):
        return ""
    items = []
    for name, row, point in zip(_names(details, worst), worst, np.searchsorted(rows, worst), strict=True):
        error = f"{result.reconstruction_errors[row]:.3g}"
        items.append(
            f'<li><button type="button" data-worst="{point}"><span class="data" dir="auto">{escape(name)}</span>'
            f'<span class="count">{error}</span></button></li>'
        )
    body = (
        "<p>What their neighbors' neighbors make of these samples is farthest from what they are: outliers, errors "
        f'in the data, or places with too few samples.</p><ol class="worst">{"".join(items)}</ol>'
    )
    return section("worst", f"The {len(worst)} samples rebuilt worst", body)
