"""compare(): what several methods make of the same samples, a panel each."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hne.core.parameters import check_integer
from hne.core.records import FloatArray
from hne.core.samples.tables import check_matrix
from hne.exceptions import InputError, InputTypeError, quoted
from hne.viz.plots.drawing import DENSITY, Bar, dot_size, draw_key, draw_points, note
from hne.viz.plots.models import check_components, coordinates, has_place, is_rescaled, kind_of
from hne.viz.plots.paint import Paint, paint
from hne.viz.plots.panels import bare, empty_panel, oriented, turned
from hne.viz.plots.pyplot import pyplot

# Inches of a panel.
PANEL = (2.7, 2.5)


def compare(
    embeddings: Mapping[str, Any],
    color: Any = None,
    *,
    chart: ArrayLike | None = None,
    components: Sequence[int] = (0, 1),
    columns: int | None = None,
    titles: Mapping[str, str] | None = None,
    title: str | None = None,
) -> NDArray[Any]:
    """Draw several embeddings of the same samples side by side, a panel each.

    Charts and rescaled coordinates, of a fitted HNE, are drawn to one scale; other panels are stretched to their
    frames, because methods scale coordinates as they like. None is turned or mirrored without a chart.

    Parameters
    ----------
    embeddings : mapping of str to model, array-like, exception or str
        Each method's name, and a fitted model or the coordinates that it gave; where it gave none, the error that it
        raised, or the reason in words.
    color : array-like of shape (n_samples,), or a color, default=None
        As of `scatter`, one for all panels.
    chart : array-like of shape (n_samples, n_components), default=None
        True coordinates, to which all embeddings are turned, where they are known; those without lengths of X also
        get its spread along each axis.
    components : pair of int, default=(0, 1)
        Which coordinates to draw.
    columns : int, default=None
        Panels in a row; None makes five at most.
    titles : mapping of str to str, default=None
        What to write above the panels, by their names; without, the names.
    title : str, default=None
        What to write above all.

    Returns
    -------
    ndarray of matplotlib Axes
        The panels, in the order of the embeddings; `axes[0].figure` is the figure.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.viz.plots import compare
    >>> roll = make_swiss_roll(200, random_state=0)
    >>> axes = compare({"BHNE": HNE().fit(roll.X), "HLLE": "n_neighbors is too small"}, roll.chart[:, 0])
    >>> [panel.get_title(loc="left") for panel in axes]
    ['BHNE', 'HLLE: failed']
    """
    found = _check_embeddings(embeddings)
    n = next((len(Y) for Y in found.values() if not isinstance(Y, str)), 0)
    painted = paint(color, n if n or color is None or isinstance(color, str) else len(color))
    # One coordinate is drawn against the number of the row: there is no scale to share.
    rescaled = {
        str(name): f"{kind_of(one)} coordinates"
        for name, one in embeddings.items()
        if is_rescaled(one) and coordinates(one).shape[1] > 1
    }
    shown = {
        name: Y if isinstance(Y, str) else _drawn(Y, chart, components, turned if name in rescaled else oriented)
        for name, Y in found.items()
    }
    axes = _grid(len(found), columns)
    bars = [_panel(*one, painted, titles or {}, rescaled) for one in zip(axes, shown.items(), strict=True)]
    bar = next((bar for bar in bars if bar is not None and bar.label != DENSITY), None)
    draw_key(axes[0], painted, bar, among=list(axes))
    if title is not None:
        axes[0].figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    return axes


def _check_embeddings(embeddings: Mapping[str, Any]) -> dict[str, FloatArray | str]:
    """Coordinates of all, with equally many rows, or why there are none."""
    if not isinstance(embeddings, Mapping) or not embeddings:
        got = "none" if isinstance(embeddings, Mapping) else type(embeddings).__name__
        msg = f"embeddings must be names with embeddings, got {got}. Pass {{'HNE': model, 'PCA': array}}."
        raise InputTypeError(msg)
    found: dict[str, FloatArray | str] = {}
    for name, one in embeddings.items():
        is_reason = isinstance(one, BaseException | str)
        found[str(name)] = str(one) if is_reason else coordinates(one, f"embeddings[{quoted(name)}]")
    lengths = {name: len(Y) for name, Y in found.items() if not isinstance(Y, str)}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        msg = f"embeddings must be of the same samples, got {counts}. Pass all with all rows."
        raise InputError(msg)
    return found


def _drawn(
    Y: FloatArray,
    chart: ArrayLike | None,
    components: Sequence[int],
    turn: Callable[[FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Places of the dots: turned to the chart where there is one, and one coordinate against the number of the row."""
    kept = has_place(Y)
    if chart is not None:
        moved = np.full_like(Y, np.nan)
        moved[kept] = turn(Y[kept], check_matrix(chart, "chart")[kept])
        Y = moved
    if Y.shape[1] == 1:
        return np.column_stack([np.arange(len(Y)), Y[:, 0]])
    return Y[:, check_components(components, Y.shape[1])]


def _grid(count: int, columns: int | None) -> NDArray[Any]:
    """As many panels, in rows of equal length; places that are left over stay empty."""
    most = min(count, 5) if columns is None else check_integer("columns", columns, 1, "Try columns=4")
    rows = -(-count // most)
    across = most if columns is not None else -(-count // rows)
    size = (PANEL[0] * across + 0.9, PANEL[1] * rows + 0.2)
    figure, grid = pyplot().subplots(rows, across, figsize=size, squeeze=False, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)
    for spare in grid.ravel()[count:]:
        spare.set_axis_off()
    panels: NDArray[Any] = grid.ravel()[:count]
    return panels


def _panel(
    axes: Any,
    named: tuple[str, FloatArray | str],
    painted: Paint,
    titles: Mapping[str, str],
    rescaled: Mapping[str, str],
) -> Bar | None:
    name, points = named
    if isinstance(points, str):
        empty_panel(axes, points, titles.get(name, f"{name}: failed"), line=34)
        axes.set_title(axes.get_title(loc="left"), loc="left", fontsize=10)
        return None
    kept = has_place(points)
    bar = draw_points(axes, points[kept], painted.of(kept), size=0.55 * dot_size(len(points)))
    axes.set_title(titles.get(name, name), fontsize=10, loc="left")
    remarks = [rescaled[name]] if name in rescaled else []
    if not kept.all():
        remarks.append(f"{(~kept).sum()} of {len(kept)} without {'any' if remarks else 'coordinates'}")
    note(axes, ", ".join(remarks), below=True)
    bare(axes)
    if name in rescaled:
        axes.set_aspect("equal", adjustable="datalim")
    return bar
