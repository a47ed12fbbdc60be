"""scree() and reconstruction(): whether the coordinates stand out, and which samples their neighbors rebuild badly."""

from typing import Any

import numpy as np

from hne.core.parameters import check_integer
from hne.core.records import FloatArray
from hne.core.spectrum import Scree
from hne.core.spectrum import scree as eigenvalues
from hne.exceptions import InputError
from hne.viz.plots.drawing import NOTE_COLOR, dot_size, note
from hne.viz.plots.models import walk_of
from hne.viz.plots.paint import PALETTE
from hne.viz.plots.panels import empty_panel
from hne.viz.plots.pyplot import check_axes

USED_COLOR, NEXT_COLOR, WORST_COLOR = PALETTE[0], "#9aa0a6", PALETTE[2]


def scree(model: Any, count: int = 10, *, axes: Any = None, title: str | None = None) -> Any:
    """Draw the bottom eigenvalues, as many as coordinates marked, and how far the next one is.

    A next eigenvalue several times the last marked one says that these eigenvectors stand out from all others. Next to
    1, another number of them is as good, and small changes of the samples may exchange them; a chart, which is made of
    more than it has coordinates, does not mind.

    Parameters
    ----------
    model : HNE or Embedding
        A fitted model, or what `embed` gave. Of several pieces, the largest is shown.
    count : int, default=10
        How many eigenvalues, one more than coordinates at least. Of large data, where more would take long, those of
        the fit and the next.
    axes : matplotlib Axes, default=None
        Where to draw; None makes a figure.
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
    >>> from hne.viz.plots import scree
    >>> axes = scree(HNE().fit(make_swiss_roll(300, random_state=0).X))
    >>> axes.get_yscale(), len(axes.lines[0].get_xdata())
    ('log', 10)
    """
    result = walk_of(model, "eigenvalues")
    found = eigenvalues(result, count)
    axes = check_axes(axes)
    if not len(found.values):
        return empty_panel(axes, "the largest piece is too small to have eigenvalues", title or "")
    _draw_scree(axes, found)
    remarks = ["of the largest piece"] if result.pieces.count > 1 and result.settings.pieces != "join" else []
    if found.n_charted:
        remarks.append(f"a chart of the first {found.n_charted}")
    if found.is_short:
        remarks.append("more would take long to solve for")
    note(axes, ", ".join(remarks))
    return _finished(axes, "number after the constant one", "eigenvalue", title)


def reconstruction(model: Any, *, n_labeled: int = 5, axes: Any = None, title: str | None = None) -> Any:
    """Draw how well each sample is rebuilt by its neighbors' neighbors, all in order, the worst with their row numbers.

    A long flat line with a steep end says that few samples are unlike their neighbors: outliers, errors in the data,
    or gaps. For where these are, `scatter(model, model.reconstruction_errors_)`.

    Parameters
    ----------
    model : HNE or Embedding
        A fitted model, or what `embed` gave.
    n_labeled : int, default=5
        How many of the worst get the number of their row, counted from 0.
    axes : matplotlib Axes, default=None
        Where to draw; None makes a figure.
    title : str, default=None
        What to write above.

    Returns
    -------
    matplotlib Axes
        The axes.

    Examples
    --------
    >>> import numpy as np
    >>> from hne import HNE
    >>> from hne.viz.plots import reconstruction
    >>> flat = np.random.default_rng(0).random((200, 3)) * [1, 1, 0.01]
    >>> flat[42, 2] = 0.2  # out of the plane
    >>> axes = reconstruction(HNE().fit(flat), n_labeled=1)
    >>> axes.texts[0].get_text()
    '42'
    """
    result = walk_of(model, "reconstruction errors")
    count = check_integer("n_labeled", n_labeled, 0, "Try n_labeled=5")
    errors = result.reconstruction_errors
    # NaN of a sample without neighbors; float64 may end before an error does.
    rows = np.flatnonzero(np.isfinite(errors))
    if not len(rows):
        msg = f"model must have samples that neighbors rebuild, got {len(errors)} without. Raise n_neighbors."
        raise InputError(msg)
    order = rows[np.argsort(errors[rows], kind="stable")]
    axes = check_axes(axes)
    _draw_errors(axes, errors[order], order[::-1][:count])
    remarks = ["samples take part in rebuilding themselves"] if result.settings.include_self else []
    if len(rows) < len(errors):
        remarks.append(f"{len(errors) - len(rows)} of {len(errors)} samples have no neighbors")
    note(axes, ", ".join(remarks))
    return _finished(axes, "samples, best to worst", "reconstruction error", title)


def _draw_scree(axes: Any, found: Scree) -> None:
    values, used = found.values, found.n_used
    numbers = np.arange(1, len(values) + 1)
    axes.plot(numbers, values, color="#c4c7cc", linewidth=1, zorder=1)
    marked = f"first {used}" if found.n_charted else "coordinates"
    axes.scatter(numbers[:used], values[:used], color=USED_COLOR, s=46, zorder=3, label=marked)
    style = {"facecolors": "white", "edgecolors": NEXT_COLOR, "linewidths": 1.4}
    axes.scatter(numbers[used:], values[used:], s=40, zorder=3, label="others", **style)
    axes.set_yscale("log" if (values > 0).all() else "linear")
    axes.set_xticks(numbers if len(numbers) <= 20 else numbers[::5])
    axes.set_xlim(0.5, len(values) + 0.5)
    if np.isfinite(found.gap):
        _draw_gap(axes, found)
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")


def _draw_gap(axes: Any, found: Scree) -> None:
    """A double arrow between the last used eigenvalue and the next, with their ratio."""
    used = found.n_used
    low, high = found.values[used - 1 : used + 1]
    place = used + 0.5
    axes.hlines([low, high], [used, place], [place, used + 1], color=NOTE_COLOR, linewidth=0.7, linestyle=":", zorder=2)
    line = {"arrowstyle": "<->", "color": NOTE_COLOR, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (place, low), (place, high), arrowprops=line)
    text = {"ha": "right", "va": "bottom", "fontsize": 9, "color": "#202124"}
    axes.annotate(f"gap: {found.gap:.3g} times", (place, high), (2, 5), textcoords="offset points", **text)


def _draw_errors(axes: Any, errors: FloatArray, worst: Any) -> None:
    """Errors, ascending, against their ranks; lines at the median and at nine in ten; numbers of the worst rows."""
    n = len(errors)
    ranks = np.arange(1, n + 1)
    axes.scatter(ranks, errors, s=0.6 * dot_size(n), color=USED_COLOR, linewidths=0, zorder=2, rasterized=n > 20_000)
    for below, row in enumerate(worst):
        axes.scatter(n - below, errors[-1 - below], s=26, color=WORST_COLOR, zorder=3)
        _name(axes, str(row), (n - below, errors[-1 - below]), 0.97 - 0.045 * below)
    for share, name in ((0.5, "median"), (0.9, "90 %")):
        value = float(np.quantile(errors, share))
        axes.axhline(value, color=NEXT_COLOR, linewidth=0.7, linestyle=":", zorder=1)
        place: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
        axes.annotate(f"{name} {value:.3g}", (0, value), (3, 2), fontsize=8, color=NOTE_COLOR, **place)
    # Exact weights leave errors of 0 or rounding, which would stretch a scale of decades to nothing.
    axes.set_yscale("log" if errors[0] > 1e-6 * errors[-1] else "linear")


def _name(axes: Any, text: str, point: tuple[int, float], height: float) -> None:
    """Write a name to the left of its point, at a height of its own, and tie them by a line."""
    line = {"arrowstyle": "-", "color": WORST_COLOR, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2}
    style = {"ha": "right", "va": "center", "fontsize": 8.5, "color": "#202124", "arrowprops": line}
    axes.annotate(text, point, (0.86, height), textcoords="axes fraction", **style)


def _finished(axes: Any, xlabel: str, ylabel: str, title: str | None) -> Any:
    axes.set_xlabel(xlabel, fontsize=9)
    axes.set_ylabel(ylabel, fontsize=9)
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if title is not None:
        axes.set_title(title, fontsize=11, loc="left")
    return axes
