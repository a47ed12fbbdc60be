"""X -> a widget: the door of the explorer in notebooks."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hne.exceptions import MissingExtraError, refuse
from hne.settings import AUTO, EDGES, PLACES, SEARCHED

if TYPE_CHECKING:
    from hne.explorer.widget import ExplorerWidget


def explore(
    X: Any,
    *,
    color: Any = None,
    labels: Mapping[str, Any] | None = None,
    ids: Sequence[Any] | None = None,
    images: Any = None,
    title: str = "X",
    scale: str = "none",
    **parameters: Any,
) -> "ExplorerWidget":
    """Show the embedding of X in a notebook cell, with controls that change its parameters as you watch.

    It is the page of the command `hne explore`. It needs the extra `explore`: ``pip install 'hne[explore]'``.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The samples, one a row. Text columns of a data frame become labels. With `metric="precomputed"`, distances.
    color : str or array-like of shape (n_samples,), default=None
        What to color by at first: the name of a label or a feature, or one value for each sample.
    labels : mapping of str to array-like of shape (n_samples,), default=None
        Columns that are shown and not embedded.
    ids : sequence of shape (n_samples,), default=None
        Names of the samples; None counts them from 1.
    images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3), default=None
        Pictures of the samples, shown when you point at one.
    title : str, default="X"
        Headline of the page.
    scale : {"none", "standard", "robust"}, default="none"
        How columns are scaled at first: not at all, by mean and standard deviation, or by median and quartiles. Columns
        of unlike units need one of the latter two.
    **parameters
        Those of `hne.HierarchicNeighborsEmbedding` to start from, none of them "auto".

    Returns
    -------
    ExplorerWidget
        The widget, which JupyterLab, marimo and other hosts of anywidget show as the last line of a cell. You can read
        and assign `settings` and `selection`; `embedding`, `model` and `parameters` are what is shown.

    See Also
    --------
    hne.HierarchicNeighborsEmbedding : Explains the parameters.
    hne.tuning.tune : Choose parameters without looking.

    Examples
    --------
    >>> import hne
    >>> from hne.datasets import make_swiss_roll
    >>> widget = hne.explore(make_swiss_roll(200).X, n_neighbors=8)
    >>> widget.settings = {"parameters": {"variant": "rhne"}}
    >>> widget.parameters, widget.embedding.Y.shape
    ({'n_neighbors': 8, 'variant': 'rhne'}, (200, 2))
    """
    if find_spec("anywidget") is None:
        refuse("hne.explore", "needs anywidget", "none installed", "Run: pip install 'hne[explore]'", MissingExtraError)
    import numpy as np  # noqa: PLC0415, loaded only when asked for

    from hne.core.parameters import check_choice, check_parameters  # noqa: PLC0415
    from hne.explorer.request import Request  # noqa: PLC0415
    from hne.explorer.session import Session  # noqa: PLC0415
    from hne.explorer.source import Source, table_of  # noqa: PLC0415
    from hne.explorer.widget import ExplorerWidget  # noqa: PLC0415
    from hne.io.preprocess import SCALINGS  # noqa: PLC0415
    from hne.viz.report.details import check_details  # noqa: PLC0415

    for name in PLACES:
        if parameters.get(name) is not None:
            refuse(name, "is for fits beyond this process", type(parameters[name]).__name__, "Leave it out here")
    automatic = [name for name in (*SEARCHED, "n_components") if parameters.get(name) == AUTO]
    if automatic:
        refuse(automatic[0], "must be a value to begin with", "'auto'", "Leave it out, or pass what hne.tuning finds")
    settings, _, _ = check_parameters(parameters)
    table = table_of(X, settings, labels=labels, ids=ids, color=color)
    edges = {name: getattr(settings, name) for name in EDGES}
    start = Request.start({**parameters, **edges}, check_choice("scale", scale, SCALINGS))
    frame = X if hasattr(X, "columns") and not hasattr(X, "tocsr") else None
    pictures = None if images is None else np.asarray(images)
    source = Source(table, str(title), start, images=pictures, frame=frame)
    view = source.view(whole=False)
    # What cannot be shown or embedded is refused here, not in a page.
    check_details(view.details, view.n_samples)
    session = Session(source)
    session.shown_as(source.start_of(view))
    return ExplorerWidget(session)
