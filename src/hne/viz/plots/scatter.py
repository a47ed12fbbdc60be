"""scatter() and scatter_images(): an embedding, a dot a sample, colored by what is known of the samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hne.core.parameters import check_integer
from hne.core.records import BoolArray, FloatArray
from hne.exceptions import InputError, quoted
from hne.viz.plots.drawing import TOO_MANY, draw_key, draw_links, draw_points, note
from hne.viz.plots.images import draw_images
from hne.viz.plots.models import (
    axis_name,
    check_components,
    coordinates,
    has_place,
    inner_links,
    is_rescaled,
    layers,
    piece_labels,
)
from hne.viz.plots.paint import Paint, paint, piece_paint
from hne.viz.plots.panels import bare
from hne.viz.plots.pyplot import check_axes

# Size of thumbnails in points: fourteen of them cover a fifth of a panel of the default size.
THUMBNAIL = 36


def scatter(
    model: Any,
    color: Any = None,
    *,
    axes: Any = None,
    components: Sequence[int] = (0, 1),
    links: bool = False,
    labels: Sequence[str] | None = None,
    title: str | None = None,
) -> Any:
    """Draw an embedding, a dot a sample.

    Beyond 20 000 samples dots are small, and pixels in files of vectors; beyond 200 000, cells show how many samples
    they have, the mean of their numbers, or the name that most of them have. One coordinate is drawn against the
    numbers of `color`, or else the number of the row.

    Parameters
    ----------
    model : HNE, LinearHNE, Embedding or array-like of shape (n_samples, n_components)
        A fitted HNE or what `embed` gave, of which the chart or rescaled coordinates are drawn, in units of X; anything
        else with an `embedding_`, or coordinates as they are. Rows of NaN are left out, which a note says.
    color : array-like of shape (n_samples,), or a color, default=None
        Numbers get a color bar, names and categories a legend: the ten most frequent have colors of their own.
        Samples without a value are gray. RGB colors, (n_samples, 3), are taken as they are. None colors by pieces of
        the neighbor graph, where there are several.
    axes : matplotlib Axes, default=None
        Where to draw; None makes a figure.
    components : pair of int, default=(0, 1)
        Which coordinates, counted from 0, to draw along and across.
    links : bool, default=False
        Whether to draw lines between neighbors; see `neighbor_links` for more of them.
    labels : pair of str, default=None
        What to write at the two axes; None writes which coordinates they are.
    title : str, default=None
        What to write above.

    Returns
    -------
    matplotlib Axes
        The axes; `axes.figure.savefig("embedding.png")` writes them to a file.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.viz.plots import scatter
    >>> roll = make_swiss_roll(300, random_state=0)
    >>> axes = scatter(HNE().fit(roll.X), roll.chart[:, 0], title="300 samples of a Swiss roll")
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('chart coordinate 1 (units of X)', 'chart coordinate 2 (units of X)')
    """
    Y = coordinates(model)
    painted = paint_of(model, color, len(Y))
    points, names = _places(model, Y, painted, components)
    axes = check_axes(axes)
    kept = has_place(points)
    if links:
        _draw_neighbors(axes, model, points)
    bar = draw_points(axes, points[kept], painted.of(kept))
    if Y.shape[1] > 1 or painted.values is None:  # else the axis tells the numbers
        draw_key(axes, painted.of(kept), bar)
    finish(
        axes,
        names if labels is None else _check_labels(labels),
        title,
        is_plane=Y.shape[1] > 1,
        has_units=is_rescaled(model),
    )
    note(axes, _left_out(Y, painted, kept))
    return axes


def scatter_images(
    model: Any,
    images: ArrayLike,
    color: Any = None,
    *,
    axes: Any = None,
    components: Sequence[int] = (0, 1),
    n_images: int = 14,
    zoom: float | None = None,
    title: str | None = None,
) -> Any:
    """Draw an embedding with images of some samples beside their dots.

    Images are those of samples far from each other, each where there is room and tied to its dot by a line.

    Parameters
    ----------
    model : HNE, LinearHNE, Embedding or array-like of shape (n_samples, n_components)
        As of `scatter`; two coordinates or more.
    images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3)
        The images, all in one range of brightness: from 0 to 1, 0 to 255 where they are integers, and else from the
        darkest to the brightest pixel of all.
    color : array-like of shape (n_samples,), or a color, default=None
        As of `scatter`.
    axes : matplotlib Axes, default=None
        Where to draw; None makes a figure.
    components : pair of int, default=(0, 1)
        Which coordinates to draw.
    n_images : int, default=14
        How many images. More cover each other and the dots.
    zoom : float, default=None
        Points (1/72 inch) a pixel of an image; None makes the longer side 36 points.
    title : str, default=None
        What to write above.

    Returns
    -------
    matplotlib Axes
        The axes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from hne import HNE
    >>> from hne.viz.plots import scatter_images
    >>> images = load_digits().images[:200]
    >>> axes = scatter_images(HNE(10).fit(images.reshape(200, 64)), images, n_images=9)
    >>> len(axes.artists)
    9
    """
    Y, pictures = coordinates(model), _check_images(images)
    if len(pictures) != len(Y):
        msg = f"images must have one for each of the {len(Y)} samples, got {len(pictures)}. Pass all of them."
        raise InputError(msg)
    if Y.shape[1] == 1:
        msg = "model must have two coordinates for images to be drawn, got 1. Embed with n_components=2."
        raise InputError(msg)
    count = check_integer("n_images", n_images, 1, "Try n_images=14")
    axes = scatter(model, color, axes=axes, components=components, title=title)
    if not is_rescaled(model):
        axes.set_aspect("auto")
    kept = has_place(Y)
    points, colors = Y[kept][:, check_components(components, Y.shape[1])], paint_of(model, color, len(Y)).colors[kept]
    zoom = zoom or THUMBNAIL / max(pictures.shape[1:3])
    draw_images(axes, points, colors, pictures[kept], count, zoom, equal=is_rescaled(model))
    return axes


def paint_of(model: Any, color: Any, n: int) -> Paint:
    """Return the paint of n samples; without a color that of their pieces, where there are several."""
    labels = piece_labels(model) if color is None else None
    return paint(color, n) if labels is None else piece_paint(labels)


def finish(axes: Any, labels: Sequence[str], title: str | None, *, is_plane: bool, has_units: bool) -> None:
    """Write at the axes and above; a plane has one scale, and ticks only where units of coordinates mean something."""
    if is_plane:
        axes.set_aspect("equal", adjustable="datalim")
    if is_plane and not has_units:
        bare(axes)
    else:
        axes.tick_params(labelsize=8, color="#9aa0a6")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    axes.set_xlabel(labels[0], fontsize=9)
    axes.set_ylabel(labels[1], fontsize=9)
    if title is not None:
        axes.set_title(title, fontsize=11, loc="left")


def _places(model: Any, Y: FloatArray, painted: Paint, components: Sequence[int]) -> tuple[FloatArray, tuple[str, str]]:
    """Where the dots are, and what the axes are: two coordinates, or one against numbers or rows."""
    if Y.shape[1] > 1:
        first, second = check_components(components, Y.shape[1])
        return Y[:, [first, second]], (axis_name(model, first), axis_name(model, second))
    if painted.values is not None:
        return np.column_stack([painted.values, Y[:, 0]]), (painted.name or "color", axis_name(model, 0))
    return np.column_stack([np.arange(len(Y)), Y[:, 0]]), ("row", axis_name(model, 0))


def _draw_neighbors(axes: Any, model: Any, points: FloatArray) -> None:
    W, _ = layers(model)
    if len(points) > TOO_MANY:
        msg = f"links can be drawn of at most {TOO_MANY} samples, got {len(points)}. Pass links=False."
        raise InputError(msg)
    draw_links(axes, points, inner_links(W))


def _left_out(Y: FloatArray, painted: Paint, kept: BoolArray) -> str:
    """What is not drawn, or gray, in words."""
    n_lost = int(np.isnan(Y).any(axis=1).sum())
    remarks = [f"{n_lost} of {len(Y)} samples have no coordinates"] if n_lost else []
    n_dropped = len(Y) - n_lost - int(kept.sum())
    if n_dropped:
        remarks.append(f"{n_dropped} have no color value")
    n_gray = int(np.isnan(painted.values[kept]).sum()) if painted.values is not None else 0
    if n_gray:
        remarks.append(f"{n_gray} without a value in gray")
    return ", ".join(remarks)


def _check_labels(labels: Sequence[str]) -> Sequence[str]:
    if isinstance(labels, str) or len(labels) != 2:
        msg = (
            f"labels must be a pair of texts, for the horizontal and the vertical axis, got {quoted(labels)}. Pass two."
        )
        raise InputError(msg)
    return labels


def _check_images(images: ArrayLike) -> FloatArray:
    """Return the images with brightness from 0 to 1."""
    given: Any = np.asarray(images)
    is_image = given.ndim == 3 or (given.ndim == 4 and given.shape[3] in (3, 4))
    if not is_image or given.dtype.kind not in "biuf" or not given.size:
        msg = (
            f"images must be numbers of shape (n, height, width) or (n, height, width, 3), got {given.dtype} of shape "
            f"{given.shape}. Pass images.reshape(n, height, width)."
        )
        raise InputError(msg)
    pixels: FloatArray = given.astype(np.float64)
    if given.dtype == np.uint8:
        return pixels / 255
    low, high = min(0.0, float(np.nanmin(pixels))), float(np.nanmax(pixels))
    if low >= 0 and high <= 1:
        return pixels
    scaled: FloatArray = (pixels - low) / (high - low if high > low else 1.0)
    return scaled
