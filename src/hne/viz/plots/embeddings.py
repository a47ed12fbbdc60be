"""scatter(), scatter_images(), compare(): one embedding or several, a dot a sample, by what is known of the samples."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hne._runtime.docstrings import described_as_in
from hne.core.parameters import check_integer
from hne.core.records import FloatArray, IndexArray
from hne.core.samples.check import check_matrix
from hne.exceptions import InputTypeError, quoted, refuse
from hne.viz.plots import drawing, sources
from hne.viz.plots.sources import Paint, coordinates, has_place, result_of
from hne.viz.report.pictures import brightness_range

# Size of thumbnails in points: fourteen of them cover a fifth of a panel of the default size.
THUMBNAIL = 36
# Inches of a panel.
PANEL = (2.7, 2.5)


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
    """Draw an embedding, one dot for each sample.

    Beyond 20 000 samples dots are small, and pixels in PDF and SVG files. Beyond 200 000, cells show the number of
    their samples, the mean of their numbers, or the name that most of them have. A single coordinate is drawn against
    the numbers of `color`, or else the row number.

    Parameters
    ----------
    model : HNE, LinearHNE, Embedding or array-like of shape (n_samples, n_components)
        A fitted HNE or what `hne.embed` gave, whose chart or layout is drawn to one scale along both axes; anything
        else with an `embedding_`, or coordinates as they are. Rows of NaN are left out, which a note says.
    color : array-like of shape (n_samples,), str or None, default=None
        Numbers get a color bar, names and categories a legend: the ten most frequent have colors of their own. Samples
        without a value are gray. RGB colors, (n_samples, 3), are taken as they are, and a str is one color for all.
        None colors by pieces (connected components) of the neighbor graph, where there are several.
    axes : matplotlib.axes.Axes or None, default=None
        Where to draw; None makes a figure.
    components : pair of int, default=(0, 1)
        Which coordinates, counted from 0, to draw along and across.
    links : bool, default=False
        True draws lines between neighbors; see `neighbor_links` for more of them.
    labels : pair of str or None, default=None
        What to write at the two axes; None writes which coordinates they are.
    title : str or None, default=None
        What to write above.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; `axes.figure.savefig("embedding.png")` writes them to a file.

    See Also
    --------
    hne.viz.scatter_images : The same with images beside the dots.
    hne.viz.compare : Several embeddings side by side.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.viz import scatter
    >>> roll = make_swiss_roll(300, random_state=0)
    >>> axes = scatter(HNE().fit(roll.X), roll.chart[:, 0], title="300 samples of a Swiss roll")
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('chart coordinate 1 (units of X)', 'chart coordinate 2 (units of X)')
    """
    Y = coordinates(model)
    n, d = Y.shape
    painted = sources.paint(color, n, model)
    if labels is not None and (isinstance(labels, str) or len(labels) != 2):
        refuse("labels", "must be a pair of texts, one for each axis", quoted(labels), "Pass two")
    if d > 1:
        columns = sources.check_components(components, d)
        points, names = Y[:, columns], [sources.axis_name(model, column) for column in columns]
    else:
        across, name = (np.arange(n), "row") if painted.values is None else (painted.values, painted.name or "color")
        points, names = np.column_stack([across, Y[:, 0]]), [name, sources.axis_name(model, 0)]
    if links and n > drawing.TOO_MANY:
        refuse("links", f"can be drawn of at most {drawing.TOO_MANY} samples", str(n), "Pass links=False")
    pairs = sources.edges(sources.inner_weights(model)) if links else None
    axes = drawing.check_axes(axes)
    if pairs is not None:
        drawing.draw_links(axes, points, pairs)
    key = drawing.draw_points(axes, points, painted)
    if d > 1 or painted.values is None:  # else the axis tells the numbers
        drawing.draw_key(axes, key)
    has_units = d == 1 or result_of(model) is not None
    drawing.finish(axes, names if labels is None else labels, title, is_plane=d > 1, units=has_units)
    kept, is_lost = has_place(points), np.isnan(Y).any(axis=1)
    is_gray = np.zeros(n, dtype=bool) if painted.values is None else np.isnan(painted.values) & kept
    counts = {
        f"of {n} samples have no coordinates": is_lost,
        "have no color value": ~is_lost & ~kept,
        "without a value in gray": is_gray,
    }
    drawing.note(axes, [f"{rows.sum()} {words}" for words, rows in counts.items() if rows.any()])
    return axes


@described_as_in(scatter)
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

    Images are those of samples far from each other, each where there is room and tied to its dot by a line. The
    embedding must have two coordinates or more.

    Parameters
    ----------
    images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3)
        The images, all in one range of brightness: from 0 to 1, 0 to 255 where they are integers, and else from the
        darkest to the brightest pixel of all.
    n_images : int, default=14
        How many images. More cover each other and the dots.
    zoom : float or None, default=None
        Points (1/72 inch) for each pixel of an image; larger images cover more. None makes the longer side 36 points.

    See Also
    --------
    hne.viz.scatter : The same without images.
    hne.viz.write_report : A page that shows the image of any dot.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from hne import HNE
    >>> from hne.viz import scatter_images
    >>> images = load_digits().images[:200]
    >>> axes = scatter_images(HNE(10).fit(images.reshape(200, 64)), images, n_images=9)
    >>> len(axes.artists)
    9
    """
    Y, pixels = coordinates(model), np.asarray(images)
    is_image = pixels.ndim == 3 or (pixels.ndim == 4 and pixels.shape[3] in (3, 4))
    if not is_image or pixels.dtype.kind not in "biuf" or not pixels.size:
        rule = "must be numbers of shape (n, height, width) or (n, height, width, 3)"
        remedy = "Pass images.reshape(n, height, width)"
        refuse("images", rule, f"{pixels.dtype} of shape {pixels.shape}", remedy)
    if len(pixels) != len(Y):
        refuse("images", f"must have one for each of the {len(Y)} samples", str(len(pixels)), "Pass all of them")
    if Y.shape[1] == 1:
        refuse("model", "must have two coordinates for images to be drawn", "1", "Embed with n_components=2")
    count = check_integer("n_images", n_images, 1, "Try n_images=14")
    axes = scatter(model, color, axes=axes, components=components, title=title)
    equal = result_of(model) is not None
    if not equal:
        axes.set_aspect("auto")
    kept = has_place(Y)
    points = Y[kept][:, sources.check_components(components, Y.shape[1])]
    colors = sources.paint(color, len(Y), model).colors[kept]
    zoom = zoom or THUMBNAIL / max(pixels.shape[1:3])
    low, high = brightness_range(pixels)
    pictures = (pixels[kept].astype(np.float64) - low) / (high - low)
    draw_images(axes, points, colors, pictures, count, zoom, equal=equal)
    return axes


def draw_images(
    axes: Any, points: FloatArray, colors: FloatArray, images: NDArray[Any], n_images: int, zoom: float, *, equal: bool
) -> None:
    """Put some of the images beside their points, framed in their colors, with room for them at the borders.

    Not `equal`, each axis is stretched to the frame.
    """
    from matplotlib.colors import Normalize
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    axes.margins(0.14)
    low, high = points.min(axis=0), points.max(axis=0)
    reach = np.maximum(high - low, np.finfo(float).tiny)
    if equal:
        low, reach = (low + high - reach.max()) / 2, np.full(2, reach.max())
    scaled = (points - low) / reach
    angles = np.arange(16) * np.pi / 8
    around = np.vstack([radius * np.column_stack([np.cos(angles), np.sin(angles)]) for radius in (0.12, 0.17)])
    placed = np.empty((0, 2))
    for chosen in _spread_out(scaled, n_images):
        # Of places around the point the freest: far from other pictures first, from points second, and in the frame.
        places = scaled[chosen] + around
        from_points = np.linalg.norm(places[:, None] - scaled[None], axis=2).min(axis=1)
        from_pictures = np.linalg.norm(places[:, None] - placed[None], axis=2).min(axis=1, initial=0.3)
        outside = np.maximum(np.abs(places - 0.5).max(axis=1) - 0.55, 0)
        free = 3 * np.minimum(from_pictures, 0.17) + np.minimum(from_points, 0.1) - 4 * outside
        placed = np.vstack([placed, places[np.argmax(free)]])
        picture = OffsetImage(images[chosen], zoom=zoom, cmap="gray", norm=Normalize(0, 1))
        box = {"edgecolor": colors[chosen], "linewidth": 1.2, "boxstyle": "square,pad=0"}
        line = {"arrowstyle": "-", "color": colors[chosen], "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
        frame: dict[str, Any] = {"frameon": True, "pad": 0.0, "bboxprops": box, "arrowprops": line, "zorder": 3}
        axes.add_artist(AnnotationBbox(picture, points[chosen], low + placed[-1] * reach, **frame))


def _spread_out(points: FloatArray, count: int) -> IndexArray:
    """Indices of points far from each other: the first nearest the middle, then always the one farthest from all."""
    chosen = [int(np.argmin(np.linalg.norm(points - points.mean(axis=0), axis=1)))]
    nearest = np.full(len(points), np.inf)
    for _ in range(min(count, len(points)) - 1):
        nearest = np.minimum(nearest, np.linalg.norm(points - points[chosen[-1]], axis=1))
        chosen.append(int(np.argmax(nearest)))
    return np.array(chosen, dtype=np.intp)


@described_as_in(scatter)
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
    """Draw several embeddings of the same samples side by side, one panel for each.

    Coordinates of a fitted HNE are drawn to one scale. Other panels are stretched to their frames,
    because methods scale coordinates as they like.

    Parameters
    ----------
    embeddings : mapping of str to model, array-like, exception or str
        Each method's name, and a fitted model or the coordinates that it gave; where it gave none, the error that it
        raised, or the reason in words.
    chart : array-like of shape (n_samples, n_components) or None, default=None
        True coordinates, to which all embeddings are turned and mirrored; those without lengths of X also get its
        spread along each axis. None turns none.
    columns : int or None, default=None
        Panels in a row; None makes five at most.
    titles : mapping of str to str or None, default=None
        What to write above the panels, by their names; None writes the names.
    title : str or None, default=None
        What to write above all.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        The panels, in the order of the embeddings; `axes[0].figure` is the figure.

    See Also
    --------
    hne.viz.scatter : One embedding, larger.
    hne.baselines.baseline_embedding : Embeddings by other methods.

    Examples
    --------
    >>> from hne import HNE
    >>> from hne.datasets import make_swiss_roll
    >>> from hne.viz import compare
    >>> roll = make_swiss_roll(200, random_state=0)
    >>> axes = compare({"HNE": HNE().fit(roll.X), "HLLE": "n_neighbors is too small"}, roll.chart[:, 0])
    >>> [panel.get_title(loc="left") for panel in axes]
    ['HNE', 'HLLE: failed']
    """
    shown = _check_embeddings(embeddings)
    n = next((len(Y) for Y in shown.values() if not isinstance(Y, str)), 0)
    painted = sources.paint(color, n if n or color is None or isinstance(color, str) else len(color))
    count = len(shown)
    most = min(count, 5) if columns is None else check_integer("columns", columns, 1, "Try columns=4")
    rows = -(-count // most)
    across = most if columns is not None else -(-count // rows)
    size = (PANEL[0] * across + 0.9, PANEL[1] * rows + 0.2)
    figure, grid = sources.pyplot().subplots(rows, across, figsize=size, squeeze=False, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)
    for spare in grid.ravel()[count:]:
        spare.set_axis_off()
    axes: NDArray[Any] = grid.ravel()[:count]
    keys = []
    for panel, (name, Y), model in zip(axes, shown.items(), embeddings.values(), strict=True):
        if isinstance(Y, str):
            drawing.empty_panel(panel, Y, line=34)
            heading = f"{name}: failed"
        else:
            keys.append(_draw_panel(panel, Y, model, painted, chart, components))
            heading = name
        panel.set_title((titles or {}).get(name, heading), loc="left", fontsize=10)
    bar = next((key for key in keys if key.scale is not None and key.label != drawing.DENSITY), drawing.Key())
    key = drawing.Key(painted.name, entries=painted.groups) if painted.groups else bar
    drawing.draw_key(axes[0], key, among=list(axes))
    if title is not None:
        figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    return axes


def _check_embeddings(embeddings: Mapping[str, Any]) -> dict[str, FloatArray | str]:
    """Coordinates of all, with equally many rows, or why there are none."""
    if not isinstance(embeddings, Mapping) or not embeddings:
        got = "none" if isinstance(embeddings, Mapping) else type(embeddings).__name__
        remedy = "Pass {'HNE': model, 'PCA': array}"
        refuse("embeddings", "must be names with embeddings", got, remedy, InputTypeError)
    shown: dict[str, FloatArray | str] = {}
    for name, one in embeddings.items():
        is_reason = isinstance(one, BaseException | str)
        shown[str(name)] = str(one) if is_reason else coordinates(one, f"embeddings[{quoted(name)}]")
    lengths = {name: len(Y) for name, Y in shown.items() if not isinstance(Y, str)}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        refuse("embeddings", "must be of the same samples", counts, "Pass all with all rows")
    return shown


def _draw_panel(
    axes: Any, Y: FloatArray, model: Any, painted: Paint, chart: ArrayLike | None, components: Sequence[int]
) -> drawing.Key:
    """One embedding, turned to the chart where there is one; one coordinate against the number of the row."""
    n, d = Y.shape
    # A single one has no scale to share.
    result, kept = result_of(model) if d > 1 else None, has_place(Y)
    if chart is not None:
        turned = np.full_like(Y, np.nan)
        turned[kept] = drawing.oriented(Y[kept], check_matrix(chart, "chart")[kept], stretched=result is None)
        Y = turned
    points = np.column_stack([np.arange(n), Y[:, 0]]) if d == 1 else Y[:, sources.check_components(components, d)]
    key = drawing.draw_points(axes, points, painted, size=0.55 * drawing.dot_size(n))
    remarks = [] if result is None else [f"{result.axis}s"]
    if not kept.all():
        remarks.append(f"{(~kept).sum()} of {n} without {'any' if remarks else 'coordinates'}")
    drawing.note(axes, remarks, below=True)
    drawing.bare(axes)
    if result is not None:
        axes.set_aspect("equal", adjustable="datalim")
    return key
