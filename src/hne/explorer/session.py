"""What a page asks for -> what it is told: one Session a source, behind a server or in a notebook.

Calls come in threads of their own. One fit runs at a time: a call that is cancelled leaves it at its next step.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Event, Lock
from typing import Any

import numpy as np

from hne._runtime.progress import Listener, Stopwatch, advised, listening
from hne.core.parameters import check_parameters
from hne.core.pipeline import run_stages
from hne.core.records import Embedding, FloatArray
from hne.core.samples.check import check_samples, output_kind
from hne.core.samples.kinds import width
from hne.exceptions import refuse
from hne.explorer.contrast import differences, edges_text, mean_images, rebuilt_worst
from hne.explorer.exports import FORMATS, exported, python_lines
from hne.explorer.messages import Message, failure
from hne.explorer.request import Request, check_selection, choices_of, limits_of
from hne.explorer.source import Source, View
from hne.explorer.stages import Cancelled, Cancelling
from hne.explorer.words import lead_of, left_edges, map_of, measures_of, verdict_of, warnings_of
from hne.io import ColumnPreprocessor
from hne.settings import SEARCHED
from hne.tuning import tune
from hne.viz.report.details import column_keys, data_columns, embedding_columns, first_color, row_numbers, sample_ids
from hne.viz.report.page import MAX_LINKED, MAX_LINKS, capitalized
from hne.viz.report.pictures import thumbnail_sheet
from hne.viz.report.tuning import turned_to

# Embeddings that are kept to be exported and compared: so many, and so many samples and numbers (400 MB) in all.
MOST_SHOWN, MOST_SAMPLES, MOST_VALUES = 24, 400_000, 50_000_000
# How far samples are moved by a turn that is worth saying, as a share of the picture.
TURNED = 0.002
# Short circuits that a page draws.
MAX_SHORTS = 2_000
# Seconds after which a map of settings begins no more of them, and its values.
MAP_SECONDS = 30.0
MAP_NEIGHBORS, MAP_REGS = (3, 4, 5, 6, 8, 10, 12, 16, 20), (1e-1, 1e-2, 1e-3, 1e-4)
# Seconds between two looks whether a call that waits for another fit is still wanted.
PAUSE = 0.05
# Seconds between two steps that a page is told of.
TOLD_EVERY = 0.25

Tell = Callable[[Message], None]


@dataclass(frozen=True)
class Shown:
    """An embedding that a page has: what it was asked for, and the places that are drawn."""

    number: int
    request: Request
    view: View
    preprocessor: ColumnPreprocessor
    result: Embedding
    Y: FloatArray  # (n, d), `result.Y`, turned and moved to lie near those shown before
    is_turned: bool


class Told(Listener):
    """Listener that tells a page how far the work is."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._stage, self._last = tell, "", 0.0

    def begin(self, stage: str) -> None:
        """Tell of the stage."""
        self._stage = stage
        self._tell(Message({"stage": stage, "done": 0, "total": None}))

    def step(self, task: str, done: int, total: int | None) -> None:  # noqa: ARG002
        """Tell of its steps, some times a second: a browser that draws takes its time from the fit."""
        now = time.monotonic()
        if now - self._last >= TOLD_EVERY:
            self._last = now
            self._tell(Message({"stage": self._stage, "done": done, "total": total}))


class Session:
    """A source and the embeddings of it that were shown; every call of a page is a method here."""

    def __init__(self, source: Source, command: Callable[[Request, View, str | None], str] | None = None) -> None:
        self.source = source
        self._command = command  # the command line that makes a picture; None in notebooks
        self._working, self._keeping = Lock(), Lock()
        self._shown: OrderedDict[int, Shown] = OrderedDict()
        self._number = 0
        self.calls = {
            "open": self.open,
            "embed": self.embed,
            "lines": self.lines,
            "tune": self.tune,
            "contrast": self.contrast,
            "export": self.export,
        }

    def call(self, kind: str, payload: Any, tell: Tell, cancelled: Event) -> Message:
        """Do what a page asks for; raises `Cancelled` where that is wanted no more, and errors of hne."""
        if kind not in self.calls or not isinstance(payload, dict):
            refuse("call", f"must be one of {', '.join(self.calls)} with an object", kind, "Reload the page")
        with listening(Cancelling(cancelled), Told(tell)):
            return self.calls[kind](payload, cancelled)

    def answer(self, kind: str, payload: Any, tell: Tell, cancelled: Event) -> tuple[str, Message]:
        """What came of a call: "done" with what it made, "cancelled", or "error" with what went wrong; never raises."""
        try:
            return "done", self.call(kind, payload, tell, cancelled)
        except Cancelled:
            return "cancelled", Message()
        except Exception as error:  # noqa: BLE001, one call that fails may not end what serves others
            return "error", failure(error)

    @contextmanager
    def _alone(self, cancelled: Event) -> Iterator[None]:
        """Wait until no other fit is under way."""
        while not self._working.acquire(timeout=PAUSE):
            if cancelled.is_set():
                raise Cancelled
        try:
            yield
        finally:
            self._working.release()

    def _request(self, payload: Mapping[str, Any]) -> Request:
        """What a page asks for; what it leaves out is as at the start."""
        source, message = self.source, payload.get("request")
        whole = isinstance(message, dict) and bool(message.get("whole"))
        features = source.table.feature_names if source.can_scale else ()
        return source.start_of(source.view(whole=whole)).changed_by(message, features)

    def open(self, payload: Mapping[str, Any], cancelled: Event) -> Message:
        """The data, without any embedding."""
        whole = bool(payload.get("whole"))
        with nullcontext() if self.source.has_view(whole=whole) else self._alone(cancelled):
            view = self.source.view(whole=whole)
        source, details, message = self.source, view.details, Message()
        start = source.start_of(view)
        rows = np.arange(view.n_samples)
        columns, color, left_out = data_columns(details, rows)
        color = first_color(columns) if color is None else color
        keys = column_keys(columns)
        sheet = None if view.images is None or find_spec("PIL") is None else thumbnail_sheet(view.images, rows)
        n_features = view.table.X.shape[1]
        message.facts.update(
            title=source.title,
            source=view.table.source,
            notes=[*view.table.notices, *left_edges(source.start, start)],
            n=view.n_samples,
            nAll=source.table.X.shape[0],
            isPatch=view.n_samples < source.table.X.shape[0],
            idName=details.id_name[:80],
            ids=sample_ids(details, rows),
            rows=None if details.rows is None else message.put(row_numbers(details, rows).astype(np.float64)),
            columns=message.put_columns(columns, keys),
            color=None if color is None else keys[color],
            leftOut=left_out,
            features=list(source.table.feature_names) if source.can_scale else [],
            start=start.message,
            limits=limits_of(view.n_samples, n_features),
            choices=choices_of(source.start),
            canScale=source.can_scale,
            libraries={"parquet": find_spec("pyarrow") is not None},
            sheet=None,
        )
        if sheet is not None:
            facts = {name: getattr(sheet, name) for name in ("width", "height", "per_row")}
            message.buffers.append(sheet.content)
            message.facts["sheet"] = facts | {"type": sheet.kind, "buffer": len(message.buffers) - 1}
        return message

    def embed(self, payload: Mapping[str, Any], cancelled: Event) -> Message:
        """The embedding that is asked for, turned so that samples move least from one that was shown before."""
        watch, begun, after = Stopwatch(), time.perf_counter(), payload.get("after")
        advice: list[str] = []
        with self._alone(cancelled), listening(watch), advised(advice.append):
            before = self._shown.get(after) if isinstance(after, int) else None
            shown = self._embed(self._request(payload), before)
        seconds = time.perf_counter() - begun
        return self._described(shown, advice, {"seconds": seconds, "timings": watch.seconds})

    def _embed(self, request: Request, before: Shown | None = None) -> Shown:
        view = self.source.view(whole=request.whole)
        prepared = view.prepared(request)
        settings, auto, unset = check_parameters(request.embed_parameters)
        X = prepared.ready.X
        samples = check_samples(X, settings)
        result = run_stages(samples, settings, auto, unset, prepared.stages, output_kind(X))
        Y = np.asarray(result.Y, dtype=np.float64)
        found = Y
        if before is not None and before.Y.shape == Y.shape:
            Y = turned_to(Y, before.Y)
        is_turned = np.nanmax(np.abs(Y - found), initial=0.0) > TURNED * np.nanmax(np.abs(found), initial=0.0)
        with self._keeping:
            self._number += 1
            shown = Shown(self._number, request, view, prepared.ready.preprocessor, result, Y, bool(is_turned))
            self._shown[shown.number] = shown
            most = max(2, min(MOST_SHOWN, MOST_SAMPLES // max(1, view.n_samples)))
            while len(self._shown) > most or (len(self._shown) > 2 and self._n_values > MOST_VALUES):
                self._shown.popitem(last=False)
        return shown

    @property
    def _n_values(self) -> int:
        """Numbers of the samples behind what is kept, which those of the same columns share."""
        samples = {id(one.result.core.X): one.result.core.X for one in self._shown.values()}
        return sum(width(X) * int(X.shape[0]) for X in samples.values())

    def _described(self, shown: Shown, advice: list[str], timings: dict[str, Any]) -> Message:
        """What a page is told of an embedding."""
        result, request, message = shown.result, shown.request, Message()
        settings, rows = result.settings, np.arange(len(shown.Y))
        columns = embedding_columns(result, shown.Y, result.axis, rows)
        indices = result.graph.indices
        has_links = indices.size <= MAX_LINKS and len(indices) <= MAX_LINKED
        links = {"k": result.graph.n_neighbors, **message.put(indices.astype(np.int32))} if has_links else None
        # Edges that were cut or are suspected; what was cut by hand is the page's own affair.
        shorts = result.short_circuits
        message.facts.update(
            id=shown.number,
            request=request.message,
            settings={name: getattr(settings, name) for name in request.parameters},
            n=len(rows),
            coordinates=settings.coordinates,
            columns=message.put_columns(columns, column_keys(columns)),
            neighbors=links,
            shorts=shorts[:MAX_SHORTS],
            nShorts=len(shorts),
            isCut=result.is_cut,
            verdict=None if result.trust is None else verdict_of(result.trust),
            measures=measures_of(result),
            nPieces=result.pieces.count,
            lead=lead_of(result),
            warnings=[
                capitalized(one) for one in dict.fromkeys([*warnings_of(result), *advice, *self._row_notes(request)])
            ],
            turned=shown.is_turned,
            **self._lines(request, shown.view, shown.view.table.color),
            **timings,
        )
        return message

    def _row_notes(self, request: Request) -> list[str]:
        """Where the command would embed other rows than are drawn."""
        if self.source.missing != "drop" or self.source.table.rows is None or request.columns is None:
            return []
        return ["Rows with gaps in columns that take no part are left out here, but not by the command and the lines."]

    def lines(self, payload: Mapping[str, Any], cancelled: Event) -> Message:  # noqa: ARG002, as all calls
        """The command and the Python lines that make a picture again, colored by a column of the data."""
        request = self._request(payload)
        view = self.source.view(whole=request.whole)
        return Message(self._lines(request, view, self._color(payload, view)))

    def _lines(self, request: Request, view: View, color: str | None) -> dict[str, str]:
        command = "" if self._command is None else self._command(request, view, color)
        return {"command": command, "python": python_lines(request, self.source, view, is_file=bool(command))}

    def _color(self, payload: Mapping[str, Any], view: View) -> str | None:
        """The column of the data that a page colors by, None for what an embedding brings."""
        color = payload.get("color")
        known = {*view.table.labels, *view.table.feature_names}
        return color if isinstance(color, str) and color in known else None

    def _known(self, payload: Mapping[str, Any]) -> Shown:
        """The embedding that a page speaks of; pages keep pictures for longer, and then ask for it again."""
        number = payload.get("id")
        with self._keeping:
            shown = self._shown.get(number) if isinstance(number, int) else None
        if shown is None:
            refuse("id", "must be that of an embedding that is still kept", repr(number), "Embed it again")
        return shown

    def contrast(self, payload: Mapping[str, Any], cancelled: Event) -> Message:  # noqa: ARG002, as all calls
        """What sets a group of samples apart."""
        shown = self._known(payload)
        inside = np.zeros(len(shown.Y), dtype=bool)
        inside[check_selection(payload.get("samples"), len(inside))] = True
        table, images, message = shown.view.table, shown.view.images, Message()
        # Columns of distances are samples, and those of images pixels, of which the mean pictures tell more.
        X, names = (table.X, table.feature_names) if self.source.can_scale else (np.empty((len(inside), 0)), ())
        found = differences(X, names, table.labels, inside)
        worst, text = rebuilt_worst(shown.result, inside)
        message.facts.update(
            n=int(inside.sum()),
            columns=[vars(one) for one in found],
            edges={"text": edges_text(shown.result, inside)},
            worst=worst,
            worstText=text,
            images=None if images is None or inside.all() else mean_images(images, inside, message),
        )
        return message

    def tune(self, payload: Mapping[str, Any], cancelled: Event) -> Message:
        """Scores of settings around the one that is asked for: a map over k and reg, for its variant."""
        with self._alone(cancelled):
            request = self._request(payload)
            view = self.source.view(whole=request.whole)
            X = view.prepared(request).ready.X
            given = {name: value for name, value in request.embed_parameters.items() if name not in SEARCHED}
            ks = [k for k in MAP_NEIGHBORS if k < view.n_samples]
            grid = {"variant": [request.parameters["variant"]], "n_neighbors": ks, "reg": MAP_REGS}
            tuning = tune(X, grid=grid, budget=MAP_SECONDS, **given)
        return Message(map_of(tuning))

    def export(self, payload: Mapping[str, Any], cancelled: Event) -> Message:  # noqa: ARG002
        """A file of an embedding: its bytes, its name and its kind."""
        wanted = payload.get("format")
        if not isinstance(wanted, str) or wanted not in FORMATS:
            refuse("format", f"must be one of {', '.join(FORMATS)}", repr(wanted), "Choose one of them")
        shown = self._known(payload)
        color = self._color(payload, shown.view) or shown.view.table.color
        command = self._lines(shown.request, shown.view, color)["command"]
        name, mime, content = exported(wanted, shown, self.source.title, color, command)
        return Message({"name": name, "mime": mime}, [content])

    def shown_as(self, request: Request) -> Shown:
        """The embedding of a request: the last that was shown of it, or a new one."""
        with self._keeping:
            known = [one for one in self._shown.values() if one.request == request]
        if known:
            return known[-1]
        with self._alone(Event()):
            return self._embed(request)
