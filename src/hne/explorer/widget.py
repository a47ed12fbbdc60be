"""X -> a widget for notebooks: the page of `hne explore` in a cell, its settings and selection readable from Python."""

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hne.core.records import Embedding
from hne.exceptions import MissingExtraError, refuse
from hne.explorer import messages
from hne.explorer.page import widget_module
from hne.explorer.request import Request
from hne.explorer.session import Session, Shown
from hne.explorer.source import Source, table_of
from hne.explorer.stages import Cancelled
from hne.settings import AUTO, DEFAULTS, SEARCHED

if TYPE_CHECKING:
    from hne.estimators.hne import HierarchicNeighborsEmbedding

try:
    import anywidget
    import traitlets
except ImportError as error:
    msg = "hne.explore needs anywidget, got none installed. Run: pip install 'hne[explore]'."
    raise MissingExtraError(msg) from error


class ExplorerWidget(anywidget.AnyWidget):
    """The explorer in a cell; made by :func:`hne.explore`.

    Attributes
    ----------
    selection : list of int
        Samples that are selected, by number from 0. Assigning selects them on the page.
    settings : dict
        What is shown: "parameters", "scale", "columns", and edges that were "cut" and put back ("keep") by hand.
        Assigning some of them embeds anew.
    """

    selection = traitlets.List(traitlets.Int()).tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)

    def __init__(self, session: Session) -> None:
        self._session = session
        self._under_way: dict[int, threading.Event] = {}
        self._last: Shown | None = None
        super().__init__(settings=session.source.start.message)
        self.on_msg(self._hear)

    @traitlets.validate("settings")
    def _check_settings(self, proposal: Any) -> dict[str, Any]:
        """Settings with what was left out as it is; what cannot be is refused here."""
        return {**self.settings, **self._request(proposal["value"]).message}

    @traitlets.validate("selection")
    def _check_selection(self, proposal: Any) -> list[int]:
        n = self._session.source.view(whole=bool(self.settings.get("whole"))).n_samples
        wrong = [i for i in proposal["value"] if not 0 <= i < n]
        if wrong:
            refuse("selection", f"must be samples from 0 to {n - 1}", str(wrong[0]), "Count them from 0")
        return list(proposal["value"])

    def _request(self, settings: Mapping[str, Any]) -> Request:
        source, now = self._session.source, self.settings or {}
        merged = {**now, **settings}
        merged["parameters"] = {**now.get("parameters", {}), **settings.get("parameters", {})}
        return source.start.changed_by(merged, source.table.feature_names)

    @property
    def parameters(self) -> dict[str, Any]:
        """Arguments of `HNE` for what is shown, those that differ from the defaults."""
        given = self._request({}).embed_parameters
        return {name: value for name, value in given.items() if value != DEFAULTS.get(name)}

    @property
    def embedding(self) -> Embedding:
        """What is shown, as `hne.embed` gives it; computed here where no page has asked for it."""
        return self._shown().result

    @property
    def model(self) -> "HierarchicNeighborsEmbedding":
        """A fitted `HNE` of what is shown, to place others, to save or to report."""
        from hne.estimators.hne import HNE  # noqa: PLC0415, scikit-learn takes a second to load

        shown = self._shown()
        model = HNE.from_embedding(shown.result)
        model.preparation_ = shown.prepared.ready.preprocessor
        return model

    def _shown(self) -> Shown:
        request = self._request({})
        if self._last is None or self._last.request != request:
            self._last = self._session.shown_as(request)
        return self._last

    def _hear(self, _: Any, content: Any, __: Any) -> None:
        """A call of the page, done in a thread so that the kernel stays free; or that one is wanted no more."""
        number = content.get("call") if isinstance(content, dict) else None
        if not isinstance(number, int):
            return
        if content.get("type") == "cancel":
            self._under_way.pop(number, threading.Event()).set()
            return
        cancelled = self._under_way[number] = threading.Event()
        task = (number, str(content.get("kind")), content.get("payload"), cancelled)
        threading.Thread(target=self._answer, args=task, name="hne-explore", daemon=True).start()

    def _answer(self, number: int, kind: str, payload: Any, cancelled: threading.Event) -> None:
        def tell(message: messages.Message, kind: str = "progress") -> None:
            self.send(messages.plain({"call": number, "type": kind, **message.facts}), list(message.buffers))

        try:
            message = self._session.call(kind, payload, tell, cancelled)
        except Cancelled:
            tell(messages.Message(), "cancelled")
        except Exception as error:  # noqa: BLE001, the page says what went wrong
            tell(messages.failure(error), "error")
        else:
            tell(message, "done")
        finally:
            self._under_way.pop(number, None)


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
) -> ExplorerWidget:
    """Turn the knobs and watch: the embedding of X in a notebook's cell, which changes with its settings.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The samples, one a row; of a data frame, columns of text are labels. With metric="precomputed" distances.
    color : str or array-like of shape (n_samples,), default=None
        What to color by at first: the name of a label or a feature, or values of its own.
    labels : mapping of str to array-like of shape (n_samples,), default=None
        Columns that are shown and not embedded.
    ids : sequence of shape (n_samples,), default=None
        Names of the samples; None counts them from 1.
    images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3), default=None
        Pictures of the samples.
    title : str
        What the page is about.
    scale : {"none", "standard", "robust"}, default="none"
        What columns are scaled by at first.
    **parameters
        Those of :class:`hne.HNE` to begin with, none of them "auto".

    Returns
    -------
    ExplorerWidget
        To be shown by a notebook (Jupyter, VS Code, Colab, marimo). `settings` and `selection` are what its user has
        chosen, `embedding`, `model` and `parameters` what is shown.

    Examples
    --------
    >>> import hne
    >>> from hne.datasets import make_swiss_roll
    >>> widget = hne.explore(make_swiss_roll(200).X, n_neighbors=8)
    >>> widget.settings = {"parameters": {"variant": "rhne"}}
    >>> widget.parameters, widget.embedding.Y.shape
    ({'n_neighbors': 8, 'variant': 'rhne'}, (200, 2))
    """
    automatic = [name for name in (*SEARCHED, "n_components") if parameters.get(name) == AUTO]
    if automatic:
        refuse(automatic[0], "must be a value to begin with", "'auto'", "Leave it out, or pass what hne.tuning finds")
    table = table_of(X, labels=labels, ids=ids, color=color)
    if images is not None and len(images) != table.X.shape[0]:
        rule = f"must have one for each of {table.X.shape[0]} samples"
        refuse("images", rule, str(len(images)), "Pass matching rows")
    start = Request.start(parameters, scale)
    session = Session(Source(table, title, start, images=images))
    session.shown_as(start)  # what cannot be embedded is refused here, not in a page
    return ExplorerWidget(session)
