"""A session -> the page of `hne explore` in a notebook's cell, its settings and selection readable from Python."""

import threading
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from hne._runtime.json import plain
from hne.core.parameters import check_parameters
from hne.core.records import Embedding
from hne.exceptions import PreparedModelWarning, refuse
from hne.explorer.exports import changed
from hne.explorer.messages import Message
from hne.explorer.page import widget_module
from hne.explorer.request import Request
from hne.explorer.session import Session, Shown

if TYPE_CHECKING:
    from hne.estimators.hne import HierarchicNeighborsEmbedding


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

    _esm = widget_module()
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
        """Settings with what was left out as it is; what cannot be is refused, but for what only a fit can tell."""
        request = self._request(proposal["value"])
        check_parameters(request.embed_parameters)
        return request.message

    @traitlets.validate("selection")
    def _check_selection(self, proposal: Any) -> list[int]:
        n = self._session.source.view(whole=bool(self.settings.get("whole"))).n_samples
        wrong = [i for i in proposal["value"] if not 0 <= i < n]
        if wrong:
            refuse("selection", f"must be samples from 0 to {n - 1}", str(wrong[0]), "Count them from 0")
        return list(proposal["value"])

    def _request(self, settings: Mapping[str, Any]) -> Request:
        source = self._session.source
        now = source.start.changed_by(self.settings or {}, source.table.feature_names)
        return now.changed_by(settings, source.table.feature_names)

    def __repr__(self) -> str:
        n, d = self._session.source.table.X.shape
        return f"ExplorerWidget({n} samples of {d} features, {self.parameters})"

    @property
    def parameters(self) -> dict[str, Any]:
        """Arguments of `HNE` for what is shown that differ from the defaults; `settings` has columns and scaling."""
        return changed(self._request({}).embed_parameters)

    @property
    def embedding(self) -> Embedding:
        """What is shown, as `hne.embed` gives it; computed here where no page has asked for it."""
        return self._shown().result

    @property
    def model(self) -> "HierarchicNeighborsEmbedding":
        """A fitted `HNE` of what is shown, to place others, to save or to report.

        Where columns are chosen or scaled, others need the same before `transform`: `preparation_.transform` scales.
        """
        from hne.estimators.hne import HNE  # noqa: PLC0415, scikit-learn takes a second to load

        shown = self._shown()
        model = HNE.from_embedding(shown.result, shown.preprocessor)
        if shown.preprocessor.changes_values:
            told = (
                "the model is of columns that were scaled first. Pass new samples through model.preparation_.transform"
            )
            warnings.warn(f"{told} before model.transform.", PreparedModelWarning, stacklevel=2)
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
        def tell(message: Message, kind: str = "progress") -> None:
            self.send(plain({"call": number, "type": kind, **message.facts}), list(message.buffers))

        end, message = self._session.answer(kind, payload, tell, cancelled)
        self._under_way.pop(number, None)
        tell(message, end)
