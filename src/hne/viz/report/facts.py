"""Embedding, Details -> what a report and a notebook say of it in words: no markup, nothing escaped."""

import math
import platform
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hne import __version__
from hne.core.defaults import suited
from hne.core.notices import notices
from hne.core.pieces.bridges import find_bridges
from hne.core.records import (
    ALONG_GRAPH,
    BETWEEN,
    DEFAULTS,
    FIRST_EIGENVECTORS,
    STRAIGHT,
    UNFOLDED,
    Embedding,
    IndexArray,
    NeighborGraph,
    Settings,
)
from hne.core.samples.kinds import Distances
from hne.viz.report.details import Details, trust_shown
from hne.viz.report.encoded import shortened

LIBRARIES = ("numpy", "scipy", "scikit-learn")
MAX_VALUE = 80
# Shares of samples that lie in tangent planes: on a surface, and near none.
NEAR, FAR = 1.0, 0.0
# Sizes of pieces that are told one by one.
SIZES_TOLD = 12


@dataclass(frozen=True)
class Parameter:
    """A parameter of the embedding as it was set."""

    name: str
    value: str
    is_default: bool


def axes_of(result: Embedding) -> str:
    """What the axes of every picture are."""
    return f"{result.kind} coordinates, in units of X"


def what_was_embedded(result: Embedding) -> str:
    """How many samples of what, in how many dimensions, in a sentence without mathematics."""
    n, d = result.Y.shape
    k = result.settings.n_neighbors
    dimensions = "along a line" if d == 1 else f"in {d} dimensions"
    return (
        f"{counted(n, 'sample')} {_known_by(result)}, laid out {dimensions}: each one is meant to stay near the "
        f"{counted(k, 'sample')} most like it, and near the ones most like those."
    )


def _known_by(result: Embedding) -> str:
    X = result.core.X
    if isinstance(X, Distances):
        return "known by their distances to each other"
    return f"of {counted(X.shape[1], 'number')} each{', most of them zero' if issparse(X) else ''}"


def counted(count: int, noun: str) -> str:
    """The number with its noun.

    >>> counted(1, "piece"), counted(200, "sample")
    ('1 piece', '200 samples')
    """
    return f"{spaced(count)} {noun}{'' if count == 1 else 's'}"


def spaced(count: int) -> str:
    """The number with its thousands apart."""
    return f"{count:,}".replace(",", "\N{NO-BREAK SPACE}")


def piece_facts(result: Embedding) -> list[tuple[str, str]]:
    """Pieces, samples that are not embedded, copies and thin links: a name and a value each."""
    pieces, n = result.pieces, len(result.Y)
    told = ", ".join(str(size) for size in pieces.sizes[:SIZES_TOLD])
    more = f" and {pieces.count - SIZES_TOLD} more" if pieces.count > SIZES_TOLD else ""
    facts = [("Pieces", "1: every sample can be reached from every other" if pieces.count == 1 else str(pieces.count))]
    if pieces.count > 1:
        facts.append(("Samples in each", f"{told}{more}"))
    n_embedded = int(np.isfinite(result.Y).all(axis=1).sum())
    if n_embedded < n:
        facts.append(("Not embedded", f"{n - n_embedded} of {n}, outside the largest piece"))
    copies = n - result.distinct.n_places
    facts.append(("Copies", f"{copies} of {n} samples equal another, and share its place" if copies else "none"))
    n_thin = len(find_bridges(result.core.graph).pairs)
    facts.append(("Short circuits", short_circuits_told(result)))
    facts.append(
        (
            "Thin links",
            f"{n_thin}: without one of them, or the sample that several share, a piece would fall in two"
            if n_thin
            else "none",
        )
    )
    search = result.core.graph
    recall = "" if search.recall == 1 else f", {search.recall:.1%} of the true neighbors found"
    how = "given" if search.method == "given" else f"found by {search.method} search"
    facts.append(("Neighbors", f"{how}{recall}"))
    return facts


def short_circuits_told(result: Embedding) -> str:
    """How many edges that lead across gaps were cut, or are suspected."""
    count = len(result.short_circuits)
    if not count:
        return "none"
    edges = f"{counted(count, 'edge')} across gaps"
    if not result.is_cut:
        return f"{edges} suspected, and kept"
    n_back = sum(chart.n_put_back for chart in result.core.rescaled.charts if chart is not None)
    return f"{edges} cut{f', of which the chart has closed {n_back}' if n_back else ''}"


# What each route keeps.
ROUTES = {
    UNFOLDED: "unfolded: lengths between near samples are kept",
    ALONG_GRAPH: "along the graph: lengths of ways from neighbor to neighbor are kept, and near ones less",
    BETWEEN: "between graph and straight lines: lengths between those of ways along the graph and distances are kept",
    STRAIGHT: "straight lines: distances are kept, as by multidimensional scaling; the graph would show no more",
    FIRST_EIGENVECTORS: "first eigenvectors, rescaled: near lengths fit into no plane, and nothing keeps ranks better",
}


def chart_facts(result: Embedding) -> list[tuple[str, str]]:
    """How the coordinates that are drawn were found: a name and a value each."""
    chart, pairs, d = result.chart, result.eigenpairs, result.settings.n_components
    facts = [("Drawn", axes_of(result))]
    if chart is None:
        is_whole = pairs is not None and result.core.rescaled.matrices[0] is not None
        how = f"the first {counted(d, 'eigenvector')}, by one matrix" if is_whole else "principal axes of few samples"
        return [*facts, ("Found by", how)]
    facts += [
        ("Route", ROUTES[chart.route]),
        ("Made of", f"the first {counted(len(chart.B), 'eigenvector')}"),
        (
            "Stress",
            f"{chart.stress:.2g}: lengths within two links are {math.sqrt(chart.stress):.0%} off, root mean square",
        ),
    ]
    if math.isfinite(chart.way_stress):
        facts.append(("Stress of ways", f"{chart.way_stress:.2g} of the lengths of ways along the graph is not kept"))
    return facts


def parameters(settings: Settings, n_samples: int) -> list[Parameter]:
    """All parameters, in their order, of an embedding of so many different samples."""
    return [
        _parameter(field.name, getattr(settings, field.name), _usual(field.name, field.default, settings, n_samples))
        for field in fields(settings)
    ]


def _usual(name: str, default: Any, settings: Settings, n_samples: int) -> tuple[Any, ...]:
    """What a parameter is where nobody says anything: of one that is left to the samples, all that it can be."""
    default = DEFAULTS.get(name, default)
    if name not in DEFAULTS or default is not None:
        return (default,)
    return tuple(getattr(suited(settings, [name], share, n_samples), name) for share in (NEAR, FAR))


def _parameter(name: str, value: Any, defaults: tuple[Any, ...]) -> Parameter:
    if isinstance(value, NeighborGraph):
        return Parameter(name, f"given: {value}", is_default=False)
    is_plain = isinstance(value, str | int | float | None)
    is_default = is_plain and any(type(value) is type(default) and value == default for default in defaults)
    text = repr(value) if isinstance(value, str | int | float | None) else getattr(value, "__name__", repr(value))
    return Parameter(name, shortened(" ".join(str(text).split()), MAX_VALUE), is_default)


def warnings_of(result: Embedding, details: Details) -> list[str]:
    """Warnings of the embedding, in the caller's words where there are some, and notices about the data.

    What the verdict says at the top is not said again.
    """
    told, trust = [message for _, message in notices(result)], trust_shown(result, details)
    if details.notices is not None:
        told = list(details.notices)
    own = [message for message in told if trust.verdict not in message]
    return [f"{message[:1].upper()}{message[1:]}" for message in own] + list(details.warnings)


def sentence(text: str) -> str:
    """The text with a capital and a full stop.

    >>> sentence("a piece is small"), sentence("Try again?")
    ('A piece is small.', 'Try again?')
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def versions() -> list[tuple[str, str]]:
    """Names and versions of what an embedding depends on."""
    return [("hne", __version__), *((name, _version(name)) for name in LIBRARIES),
            ("Python", platform.python_version()), ("platform", platform.platform(terse=True))]  # fmt: skip


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def worst_rebuilt(result: Embedding, count: int) -> IndexArray:
    """Rows of the embedded samples with the largest reconstruction errors, the largest first."""
    errors = np.where(np.isfinite(result.Y).all(axis=1), result.reconstruction_errors, np.nan)
    known = np.flatnonzero(np.isfinite(errors))
    return known[np.argsort(-errors[known], kind="stable")[:count]]
