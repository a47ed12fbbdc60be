"""Embedding, Details -> a small fragment of HTML for notebooks: no script, styles of its own, as often as one likes."""

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import Embedding, FloatArray, IndexArray
from hne.core.trust.record import Assessment
from hne.viz.report.columns import thinned
from hne.viz.report.details import Details, check_details, trust_shown
from hne.viz.report.encoded import Column, color_rank, encoded, most_frequent, shortened
from hne.viz.report.facts import axes_of, parameters, short_circuits_told, spaced, warnings_of, what_was_embedded
from hne.viz.report.marks import WORDS, mark_svg

SIDE, LEAST_SIDE, MARGIN, MOST_POINTS = 300, 100, 10, 2_000
# Eigenvalues that are written out.
MOST_VALUES = 6
# Part of matplotlib's plasma in eight steps, and Petroff's ten accessible colors; both are seen on white and on black.
RAMP = ("#6100a7", "#8a09a5", "#ad2793", "#ca457a", "#e06363", "#f2844b", "#fca934", "#febe2a")
TEN = ("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd")
GREY = "#9aa0a6"
# Inherited colors and half-transparent lines suit whatever theme a notebook has; classes are ours alone.
STYLE = """<style>
.hne-fragment{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start;color:inherit;font-size:.92em;line-height:1.45}
.hne-fragment .hne-picture{flex:none;border:1px solid rgb(128 128 128 / .4);border-radius:6px}
.hne-fragment>div{flex:1 1 20rem;max-width:46rem;min-width:0}
.hne-fragment p{margin:0 0 .5em}
.hne-fragment table{border-collapse:collapse;margin:0;color:inherit;background:none;font-size:inherit}
.hne-fragment tr{background:none}
.hne-fragment th,.hne-fragment td{text-align:left;vertical-align:top;padding:.1em .9em .1em 0;font-weight:400;
border-bottom:1px solid rgb(128 128 128 / .25);overflow-wrap:anywhere;unicode-bidi:isolate}
.hne-fragment th{opacity:.75;white-space:nowrap}
.hne-fragment .hne-notice{border-left:3px solid #c98a00;padding-left:.6em}
.hne-fragment .hne-verdict{border-left:4px solid var(--hne-level);padding-left:.6em}
.hne-fragment .mark{width:1.25em;height:1.25em;vertical-align:-.25em}
.hne-fragment .mark-shape{fill:var(--hne-level)}
.hne-fragment .mark-sign{stroke:#fff}
.hne-fragment .hne-good{--hne-level:#00828a}
.hne-fragment .hne-doubtful{--hne-level:#b36b00}
.hne-fragment .hne-bad{--hne-level:#c4362b}
.hne-fragment .hne-unknown{--hne-level:#73787e}
</style>"""


def notebook_html(result: Embedding, details: Details | None = None) -> str:
    """A picture of at most 2 000 points, what it is of, and what to know about it."""
    details = check_details(details or Details(), len(result.Y))
    details = replace(details, trust=trust_shown(result, details))
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in _facts(result, details)
    )
    told = "".join(f'<p class="hne-notice">{escape(shortened(text, 600))}</p>' for text in warnings_of(result, details))
    verdict = _verdict(trust_shown(result, details))
    return (
        f'<div class="hne-fragment">{STYLE}{_picture(result, details)}<div>{verdict}<p><strong><bdi>'
        f"{escape(shortened(details.title, 200))}</bdi></strong></p><p>{escape(what_was_embedded(result))}</p>{told}"
        f"<table><tbody>{rows}</tbody></table></div></div>"
    )


def _verdict(trust: Assessment) -> str:
    """The verdict in one line, with its mark."""
    return (
        f'<p class="hne-verdict hne-{trust.level}">{mark_svg(trust.level)} <strong>{WORDS[trust.level]}</strong> '
        f"{escape(shortened(trust.verdict, 600))}</p>"
    )


def _facts(result: Embedding, details: Details) -> list[tuple[str, str]]:
    """Key facts that cost nothing to know; measures against the data are left to the report."""
    known = parameters(result.settings, result.distinct.n_places)
    changed = [f"{one.name}={one.value}" for one in known if not one.is_default]
    itself = "with themselves" if result.settings.include_self else "without themselves"
    facts = [
        ("samples", spaced(len(result.Y))),
        ("drawn in", axes_of(result)),
        ("pieces", spaced(result.pieces.count)),
        ("neighbors", str(result.graph)),
        ("mean reconstruction error", f"{result.reconstruction_error:.3g} (rebuilt {itself})"),
        ("parameters", ", ".join(changed) or "all defaults"),
    ]
    if _color_name(details) is not None:
        facts.insert(1, ("colored by", shortened(str(_color_name(details)), 80)))
    if len(result.Y) > result.distinct.n_places:
        facts.insert(1, ("different samples", spaced(result.distinct.n_places)))
    if result.eigenpairs is not None:
        pairs, d = result.eigenpairs, result.settings.n_components
        values = ", ".join(f"{value:.2e}" for value in pairs.values[: min(d, MOST_VALUES)])
        facts.insert(-1, ("eigenvalues", f"{values}; next {pairs.after(d):.2e} ({pairs.solver} solver)"))
    if len(result.short_circuits):
        facts.insert(-1, ("short circuits", short_circuits_told(result)))
    if result.chart is not None:
        facts.insert(-1, ("chart", str(result.chart)))
    return facts


def _picture(result: Embedding, details: Details) -> str:
    """Inline SVG: dots, a path for each color, so that 2 000 of them stay small."""
    is_embedded = np.isfinite(result.Y).all(axis=1)
    embedded = np.flatnonzero(is_embedded)
    rows = embedded[thinned(len(embedded), MOST_POINTS, ())]
    if not len(rows):
        return ""
    Y = result.rescaled_Y[rows].astype(np.float64)
    places = np.column_stack([Y[:, 0], rows.astype(np.float64) if Y.shape[1] == 1 else Y[:, 1]])
    name, colors = _colors(details, rows)
    fitted, height = _fitted(places, equal=Y.shape[1] > 1)
    dots = _dots(fitted, colors)
    of = f", colored by {name}" if name else ""
    drawn = spaced(len(rows)) if len(rows) == len(result.Y) else f"{spaced(len(rows))} of {spaced(len(result.Y))}"
    label = escape(f"{drawn} samples in {result.kind} coordinates{of}")
    size = f'width="{SIDE}" height="{height}" viewBox="0 0 {SIDE} {height}"'
    return f'<svg class="hne-picture" {size} role="img"><title>{label}</title>{dots}</svg>'


def _fitted(places: FloatArray, *, equal: bool) -> tuple[FloatArray, int]:
    """Places in the picture and its height: a square, or less of what is flat; axes to one scale or each to its own."""
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    scale = (SIDE - 2 * MARGIN) / (spread.max() if equal else spread)
    needed = math.ceil(2 * MARGIN + scale * spread[1]) if equal else SIDE
    height = min(SIDE, max(LEAST_SIDE, needed))
    moved: FloatArray = (places - (low + high) / 2) * scale * [1, -1] + [SIDE / 2, height / 2]
    return moved, height


def _colors(details: Details, rows: IndexArray) -> tuple[str, Sequence[str]]:
    """Name of the column that colors the points, and a color for each."""
    name = _color_name(details)
    column = None if name is None else encoded(name, np.asarray(details.columns[name])[rows])
    if column is None:
        return "", [TEN[0]] * len(rows)
    if column.categories is not None:
        return column.name, _category_colors(column)
    values = column.values.astype(np.float64)
    known = values[np.isfinite(values)]
    low, high = np.percentile(known, [1, 99]) if known.size else (0.0, 1.0)
    share = (values - low) / (high - low if high > low else 1.0)
    steps = np.clip(np.nan_to_num(share, posinf=1, neginf=0) * len(RAMP), 0, len(RAMP) - 1).astype(int)
    found = zip(steps, np.isfinite(values), strict=True)
    return column.name, [RAMP[step] if is_known else GREY for step, is_known in found]


def _color_name(details: Details) -> str | None:
    """The chosen column, or the first that tells samples apart by color."""
    if details.color is not None:
        return details.color
    return next((name for name, values in details.columns.items() if _is_colorful(name, values)), None)


def _is_colorful(name: str, values: NDArray[Any]) -> bool:
    column = encoded(name, np.asarray(values))
    return column is not None and color_rank(column) is not None


def _category_colors(column: Column) -> list[str]:
    """Colors of the most frequent categories in their order; all others are grey, missing ones too."""
    colors = dict(zip(most_frequent(column, len(TEN)), TEN, strict=False))
    return [colors.get(code, GREY) for code in column.values.tolist()]


def _dots(places: FloatArray, colors: Sequence[str]) -> str:
    """A path for each color: a line of no length with a round cap is a dot."""
    width = float(np.clip(7.5 - 1.6 * np.log10(len(places)), 2.2, 6))
    by_color: dict[str, list[str]] = {}
    for (x, y), color in zip(places, colors, strict=True):
        by_color.setdefault(color, []).append(f"M{x:.1f} {y:.1f}h0")
    return "".join(
        f'<path d="{"".join(dots)}" stroke="{color}" stroke-width="{width:.1f}" stroke-linecap="round" fill="none"/>'
        for color, dots in by_color.items()
    )
