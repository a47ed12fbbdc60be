"""neighbor_links(): the links that an embedding comes from, the thin ones, and both layers of one sample."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hne.core.parameters import check_integer
from hne.core.records import FloatArray, IndexArray, SparseMatrix
from hne.exceptions import InputError
from hne.viz.plots.drawing import TOO_MANY, dot_size, draw_key, draw_links, draw_points, legend_of, note
from hne.viz.plots.models import (
    axis_name,
    check_components,
    coordinates,
    has_place,
    inner_links,
    is_rescaled,
    layers,
    short_circuits_of,
    thin_links_of,
)
from hne.viz.plots.paint import PALETTE, paint
from hne.viz.plots.pyplot import check_axes
from hne.viz.plots.scatter import finish, paint_of

INNER_COLOR, OUTER_COLOR, THIN_COLOR = PALETTE[0], PALETTE[1], PALETTE[2]
OTHERS_COLOR = "#d5d7da"
# Room around the layers of a sample, in their size, to see what lies between and beside them.
ROOM = 0.5


def neighbor_links(
    model: Any,
    color: Any = None,
    *,
    sample: int | None = None,
    axes: Any = None,
    components: Sequence[int] = (0, 1),
    title: str | None = None,
) -> Any:
    """Draw an embedding with its links between neighbors, thin ones and short circuits in red; or layers of one sample.

    A thin link is all that holds two parts of a piece together: what it joins can turn about it. Dashed lines are short
    circuits, edges that lead across a gap: those that were cut, or with short_circuits="keep" those that are suspected.
    Other long links across the embedding join what the samples had near each other and the coordinates have not.

    Parameters
    ----------
    model : HNE, LinearHNE or Embedding
        A fitted model, or what `embed` gave, in the coordinates of `scatter`; two of them or more, 200 000 samples or
        fewer. LinearHNE knows no thin links and no short circuits.
    color : array-like of shape (n_samples,), or a color, default=None
        As of `scatter`; not used with `sample`.
    sample : int, default=None
        The row number of a sample, counted from 0, to show its inner layer, which are its neighbors, and its outer
        layer, their neighbors, with what lies around them.
    axes : matplotlib Axes, default=None
        Where to draw; None makes a figure.
    components : pair of int, default=(0, 1)
        Which coordinates to draw.
    title : str, default=None
        What to write above.

    Returns
    -------
    matplotlib Axes
        The axes.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.viz.plots import neighbor_links
    >>> model = HNE(n_neighbors=5).fit(make_swiss_roll(300, random_state=0).X)
    >>> axes = neighbor_links(model, sample=7)
    >>> axes.get_legend().get_texts()[1].get_text()
    '5 neighbors (inner layer)'
    """
    W, _ = layers(model)
    Y = coordinates(model)
    n, d = Y.shape
    if d == 1 or n > TOO_MANY:
        got = "1 coordinate" if d == 1 else f"{n} samples"
        msg = f"model must have two coordinates and at most {TOO_MANY} samples for links, got {got}. Use scatter."
        raise InputError(msg)
    first, second = check_components(components, d)
    points = Y[:, [first, second]]
    place = None if sample is None else _check_sample(sample, points)
    axes = check_axes(axes)
    names = (axis_name(model, first), axis_name(model, second))
    finish(axes, names, title, is_plane=True, has_units=is_rescaled(model))
    if place is None:
        _draw_all(axes, model, points, W, color)
    else:
        _draw_layers(axes, points, W, place)
    return axes


def _draw_all(axes: Any, model: Any, points: FloatArray, W: SparseMatrix, color: Any) -> None:
    painted, thin = paint_of(model, color, len(points)), thin_links_of(model)
    circuits, fate = short_circuits_of(model)
    draw_links(axes, points, inner_links(W))
    draw_links(axes, points, circuits, colors=THIN_COLOR, linewidths=1.1, linestyles=(0, (5, 3)), alpha=0.9, zorder=3)
    draw_links(axes, points, thin, colors=THIN_COLOR, linewidths=2.0, alpha=1.0, zorder=3)
    kept = has_place(points)
    bar = draw_points(axes, points[kept], painted.of(kept), size=0.6 * dot_size(len(points)))
    draw_key(axes, painted.of(kept), bar)
    remarks = [f"{len(thin)} thin link{'' if len(thin) == 1 else 's'}{' in red' if len(thin) else ''}"]
    if len(circuits):
        remarks.append(f"{len(circuits)} short circuit{'' if len(circuits) == 1 else 's'} {fate}, dashed")
    note(axes, ", ".join(remarks))


def _draw_layers(axes: Any, points: FloatArray, W: SparseMatrix, sample: int) -> None:
    """One sample with its neighbors and theirs, all others in gray."""
    inner = _row(W, sample)
    second = [(near, far) for near in inner for far in _row(W, near)]
    outer = np.setdiff1d([far for _, far in second], [*inner, sample]).astype(np.intp)
    kept = has_place(points)
    draw_points(axes, points[kept], paint(OTHERS_COLOR, int(kept.sum())))
    lines = np.array(second, dtype=np.intp).reshape(-1, 2)
    draw_links(axes, points, lines, colors=OUTER_COLOR, linewidths=0.9, alpha=0.8, zorder=3)
    first = np.column_stack([np.full(len(inner), sample), inner])
    draw_links(axes, points, first, colors=INNER_COLOR, linewidths=1.8, alpha=1.0, zorder=4)
    marks = ((outer, OUTER_COLOR, "o", 26), (inner, INNER_COLOR, "o", 34), ([sample], "black", "D", 46))
    for rows, color, mark, size in marks:
        axes.scatter(*points[rows].T, c=color, s=size, marker=mark, linewidths=0.6, edgecolors="white", zorder=5)
    _zoom(axes, points[[sample, *inner, *outer]])
    legend_of(
        axes,
        [
            (f"sample {sample}", "black", "D"),
            (f"{len(inner)} neighbors (inner layer)", INNER_COLOR, "o"),
            (f"{len(outer)} more of theirs (outer layer)", OUTER_COLOR, "o"),
        ],
    )


def _zoom(axes: Any, points: FloatArray) -> None:
    """Show at least a square around the points that have places."""
    placed = points[has_place(points)]
    low, high = placed.min(axis=0), placed.max(axis=0)
    reach = (0.5 + ROOM) * max(float((high - low).max()), np.finfo(float).tiny)
    middle = (low + high) / 2
    # Limits that are not fixed are widened along one axis, to one scale in the whole frame.
    axes.set_xlim(middle[0] - reach, middle[0] + reach, auto=True)
    axes.set_ylim(middle[1] - reach, middle[1] + reach, auto=True)


def _row(W: SparseMatrix, sample: int) -> IndexArray:
    """The neighbors of a sample."""
    neighbors: IndexArray = W.indices[W.indptr[sample] : W.indptr[sample + 1]].astype(np.intp)
    return neighbors


def _check_sample(sample: object, points: FloatArray) -> int:
    place = check_integer("sample", sample, 0, "Pass the number of a row, counted from 0")
    if place >= len(points):
        msg = f"sample must be below the number of samples, {len(points)}, got {place}. Rows are counted from 0."
        raise InputError(msg)
    if not np.isfinite(points[place]).all():
        msg = f"sample must have coordinates, got {place}, which is in no embedded piece. See is_embedded_."
        raise InputError(msg)
    return place
