"""neighbor_links(), scree(), reconstruction(): the graph of an embedding, its eigenvalues, what is rebuilt badly."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hne._runtime.docstrings import described_as_in
from hne.core.eigenpairs import scree as eigenvalues
from hne.core.parameters import check_integer
from hne.core.pieces.bridges import find_bridges
from hne.core.records import FloatArray, SparseMatrix
from hne.exceptions import refuse
from hne.viz.plots import drawing, sources
from hne.viz.plots.drawing import NOTE_COLOR, TOO_MANY, draw_links, draw_points, finish
from hne.viz.plots.embeddings import scatter
from hne.viz.plots.sources import PALETTE, has_place, paint, result_of

INNER_COLOR, OUTER_COLOR, BRIDGE_COLOR, OTHERS_COLOR = *PALETTE[:3], "#d5d7da"
USED_COLOR, NEXT_COLOR, WORST_COLOR = PALETTE[0], "#9aa0a6", PALETTE[2]
# Room around the layers of a sample, in their size, to see what lies between and beside them.
ROOM = 0.5


@described_as_in(scatter)
def neighbor_links(
    model: Any,
    color: Any = None,
    *,
    sample: int | None = None,
    axes: Any = None,
    components: Sequence[int] = (0, 1),
    title: str | None = None,
) -> Any:
    """Draw an embedding with the edges of its neighbor graph, or both layers of one sample.

    Bridges are red: edges that alone hold two parts of a piece together, so that these can turn about them. Dashed red
    lines are short circuits, edges that lead across a gap: those that were cut, or with short_circuits="keep" those
    that are suspected. Other long edges join samples that are near in X and far in the embedding.

    Parameters
    ----------
    model : HNE, LinearHNE or Embedding
        A fitted model, or what `hne.embed` gave, with two coordinates or more and 200 000 samples or fewer. LinearHNE
        knows no bridges and no short circuits.
    sample : int or None, default=None
        Row number of a sample, counted from 0: shows its neighbors (inner layer) and their neighbors (outer layer) with
        what lies around them; `color` is not used then. None shows all edges.

    See Also
    --------
    hne.viz.scatter : The embedding without edges.
    hne.viz.reconstruction : Samples that their neighbors rebuild badly.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.viz import neighbor_links
    >>> model = HNE(n_neighbors=5).fit(make_swiss_roll(300, random_state=0).X)
    >>> axes = neighbor_links(model, sample=7)
    >>> axes.get_legend().get_texts()[1].get_text()
    '5 neighbors (inner layer)'
    """
    W, Y = sources.inner_weights(model), sources.coordinates(model)
    n, d = Y.shape
    if d == 1 or n > TOO_MANY:
        got = "1 coordinate" if d == 1 else f"{n} samples"
        refuse("model", f"must have two coordinates and at most {TOO_MANY} samples for links", got, "Use scatter")
    first, second = sources.check_components(components, d)
    points = Y[:, [first, second]]
    if sample is not None:
        sample = check_integer("sample", sample, 0, "Pass the number of a row, counted from 0")
        if sample >= n:
            refuse("sample", f"must be below the number of samples, {n}", str(sample), "Rows are counted from 0")
        if not np.isfinite(points[sample]).all():
            refuse("sample", "must have coordinates", f"{sample}, which is in no embedded piece", "See is_embedded_")
    axes = drawing.check_axes(axes)
    names = (sources.axis_name(model, first), sources.axis_name(model, second))
    finish(axes, names, title, is_plane=True, units=result_of(model) is not None)
    if sample is None:
        _draw_graph(axes, model, points, W, color)
    else:
        _draw_layers(axes, points, W, sample)
    return axes


def _draw_graph(axes: Any, model: Any, points: FloatArray, W: SparseMatrix, color: Any) -> None:
    """All edges, bridges and short circuits in red, which are known of an HNE alone."""
    result = result_of(model)
    bridges = circuits = np.empty((0, 2), dtype=np.intp)
    if result is not None:
        bridges, circuits = result.distinct.index[find_bridges(result.core.graph).pairs], result.short_circuits
    draw_links(axes, points, sources.edges(W))
    draw_links(axes, points, circuits, colors=BRIDGE_COLOR, linewidths=1.1, linestyles=(0, (5, 3)), alpha=0.9, zorder=3)
    draw_links(axes, points, bridges, colors=BRIDGE_COLOR, linewidths=2.0, alpha=1.0, zorder=3)
    painted = paint(color, len(points), model)
    drawing.draw_key(axes, draw_points(axes, points, painted, size=0.6 * drawing.dot_size(len(points))))
    remarks = [f"{len(bridges)} bridge{'' if len(bridges) == 1 else 's'}{' in red' if len(bridges) else ''}"]
    if result is not None and len(circuits):
        fate = "cut" if result.is_cut else "suspected"
        remarks.append(f"{len(circuits)} short circuit{'' if len(circuits) == 1 else 's'} {fate}, dashed")
    drawing.note(axes, remarks)


def _draw_layers(axes: Any, points: FloatArray, W: SparseMatrix, sample: int) -> None:
    """One sample with its neighbors and theirs, all others in gray, and a square around them at least."""
    inner = W[[sample]].indices.astype(np.intp)
    theirs = W[inner]
    first = np.column_stack([np.full(len(inner), sample), inner])
    second = np.column_stack([np.repeat(inner, np.diff(theirs.indptr)), theirs.indices]).astype(np.intp)
    outer = np.setdiff1d(second[:, 1], [*inner, sample])
    draw_points(axes, points, paint(OTHERS_COLOR, len(points)))
    draw_links(axes, points, second, colors=OUTER_COLOR, linewidths=0.9, alpha=0.8, zorder=3)
    draw_links(axes, points, first, colors=INNER_COLOR, linewidths=1.8, alpha=1.0, zorder=4)
    marks = ((outer, OUTER_COLOR, "o", 26), (inner, INNER_COLOR, "o", 34), ([sample], "black", "D", 46))
    for rows, color, mark, size in marks:
        axes.scatter(*points[rows].T, c=color, s=size, marker=mark, linewidths=0.6, edgecolors="white", zorder=5)
    shown = points[[sample, *inner, *outer]]
    shown = shown[has_place(shown)]
    low, high = shown.min(axis=0), shown.max(axis=0)
    reach, middle = (0.5 + ROOM) * max(float((high - low).max()), np.finfo(float).tiny), (low + high) / 2
    # Limits that are not fixed are widened along one axis, to one scale in the whole frame.
    axes.set_xlim(middle[0] - reach, middle[0] + reach, auto=True)
    axes.set_ylim(middle[1] - reach, middle[1] + reach, auto=True)
    layers = [(f"sample {sample}", "black", "D"), (f"{len(inner)} neighbors (inner layer)", INNER_COLOR)]
    layers.append((f"{len(outer)} more of theirs (outer layer)", OUTER_COLOR))
    drawing.draw_key(axes, drawing.Key(entries=layers))


@described_as_in(scatter)
def scree(model: Any, count: int = 10, *, axes: Any = None, title: str | None = None) -> Any:
    """Draw the smallest eigenvalues, and how far the next one is from those of the coordinates.

    As many are marked as there are coordinates. If the next one is several times the last marked one, these
    eigenvectors stand out from all others. If it is about the same, small changes of the samples may exchange them. A
    chart, which is made of more eigenvectors than it has coordinates, does not depend on this, and a layout is made of
    none.

    Parameters
    ----------
    model : HNE or Embedding
        A fitted model, or what `hne.embed` gave. Of several pieces, the largest is shown.
    count : int, default=10
        How many eigenvalues, at least one more than coordinates; more show where the curve flattens. Of large data,
        where more would take long, those of the fit and the next.

    See Also
    --------
    hne.viz.scatter : The coordinates themselves.
    hne.metrics.intrinsic_dimension : How many coordinates to ask for.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.viz import scree
    >>> axes = scree(HNE().fit(make_swiss_roll(300, random_state=0).X))
    >>> axes.get_yscale(), len(axes.lines[0].get_xdata())
    ('log', 10)
    """
    result = sources.check_result(model, "eigenvalues")
    spectrum = eigenvalues(result, count)
    axes = drawing.check_axes(axes)
    if not len(spectrum.values):
        return drawing.empty_panel(axes, "the largest piece is too small to have eigenvalues", title or "")
    values, used = spectrum.values, spectrum.n_used
    numbers = np.arange(1, len(values) + 1)
    axes.plot(numbers, values, color="#c4c7cc", linewidth=1, zorder=1)
    marked = "coordinates" if result.settings.coordinates == "eigenvectors" else f"first {used}"
    axes.scatter(numbers[:used], values[:used], color=USED_COLOR, s=46, zorder=3, label=marked)
    style = {"facecolors": "white", "edgecolors": NEXT_COLOR, "linewidths": 1.4}
    axes.scatter(numbers[used:], values[used:], s=40, zorder=3, label="others", **style)
    axes.set_yscale("log" if (values > 0).all() else "linear")
    axes.set_xticks(numbers if len(numbers) <= 20 else numbers[::5])
    axes.set_xlim(0.5, len(values) + 0.5)
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")
    if np.isfinite(spectrum.gap):
        # A double arrow between the last used eigenvalue and the next, with their ratio.
        low, high, place = *values[used - 1 : used + 1], used + 0.5
        thin = {"color": NOTE_COLOR, "linewidth": 0.7, "linestyle": ":", "zorder": 2}
        axes.hlines([low, high], [used, place], [place, used + 1], **thin)
        line = {"arrowstyle": "<->", "color": NOTE_COLOR, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (place, low), (place, high), arrowprops=line)
        text = {"ha": "right", "va": "bottom", "fontsize": 9, "color": "#202124"}
        axes.annotate(f"gap: {spectrum.gap:.3g} times", (place, high), (2, 5), textcoords="offset points", **text)
    remarks = ["of the largest piece"] if result.pieces.count > 1 and result.settings.pieces != "join" else []
    if spectrum.n_charted:
        remarks.append(f"a chart of the first {spectrum.n_charted}")
    if result.settings.coordinates == "layout":
        remarks.append("a layout uses none")
    if spectrum.is_short:
        remarks.append("more would take long to solve for")
    drawing.note(axes, remarks)
    return finish(axes, ("number after the constant one", "eigenvalue"), title)


@described_as_in(scatter)
def reconstruction(model: Any, *, n_labeled: int = 5, axes: Any = None, title: str | None = None) -> Any:
    """Draw how well each sample is rebuilt by its joint weights, from best to worst.

    A long flat line with a steep end says that few samples are unlike their neighbors: outliers, errors in the data, or
    gaps. `scatter(model, model.reconstruction_errors_)` shows where these are.

    Parameters
    ----------
    model : HNE or Embedding
        A fitted model, or what `hne.embed` gave.
    n_labeled : int, default=5
        How many of the worst get their row number, counted from 0.

    See Also
    --------
    hne.metrics.reconstruction_errors : The numbers, for any weights.
    hne.viz.neighbor_links : The neighbors of one sample.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import HNE
    >>> from hne.viz import reconstruction
    >>> flat = np.random.default_rng(0).random((200, 3)) * [1, 1, 0.01]
    >>> flat[42, 2] = 0.2  # out of the plane
    >>> axes = reconstruction(HNE().fit(flat), n_labeled=1)
    >>> axes.texts[0].get_text()
    '42'
    """
    result = sources.check_result(model, "reconstruction errors")
    count = check_integer("n_labeled", n_labeled, 0, "Try n_labeled=5")
    errors = result.reconstruction_errors
    # NaN of a sample without neighbors; float64 may end before an error does.
    rows = np.flatnonzero(np.isfinite(errors))
    if not len(rows):
        refuse("model", "must have samples that neighbors rebuild", f"{len(errors)} without", "Raise n_neighbors")
    order = rows[np.argsort(errors[rows], kind="stable")]
    ascending, n = errors[order], len(order)
    axes = drawing.check_axes(axes)
    style: dict[str, Any] = {"s": 0.6 * drawing.dot_size(n), "color": USED_COLOR, "linewidths": 0, "zorder": 2}
    axes.scatter(np.arange(1, n + 1), ascending, rasterized=n > drawing.MANY, **style)
    line = {"arrowstyle": "-", "color": WORST_COLOR, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2}
    text = {"ha": "right", "va": "center", "fontsize": 8.5, "color": "#202124", "arrowprops": line}
    for below, row in enumerate(order[::-1][:count]):
        point = (n - below, ascending[-1 - below])
        axes.scatter(*point, s=26, color=WORST_COLOR, zorder=3)
        axes.annotate(str(row), point, (0.86, 0.97 - 0.045 * below), textcoords="axes fraction", **text)
    for share, name in ((0.5, "median"), (0.9, "90 %")):
        value = float(np.quantile(ascending, share))
        axes.axhline(value, color=NEXT_COLOR, linewidth=0.7, linestyle=":", zorder=1)
        place: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
        axes.annotate(f"{name} {value:.3g}", (0, value), (3, 2), fontsize=8, color=NOTE_COLOR, **place)
    # Exact weights leave errors of 0 or rounding, which would stretch a scale of decades to nothing.
    axes.set_yscale("log" if ascending[0] > 1e-6 * ascending[-1] else "linear")
    remarks = ["samples take part in rebuilding themselves"] if result.settings.include_self else []
    if len(rows) < len(errors):
        remarks.append(f"{len(errors) - len(rows)} of {len(errors)} samples have no neighbors")
    drawing.note(axes, remarks)
    return finish(axes, ("samples, best to worst", "reconstruction error"), title)
