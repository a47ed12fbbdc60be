"""An embedding that is shown -> lines that make it again, and files: coordinates, model, report."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hne.explorer.request import Request
from hne.explorer.source import Source, View
from hne.io import Coordinates, ReadOptions, write_coordinates
from hne.settings import DEFAULTS, EDGES
from hne.viz.report import report_page

if TYPE_CHECKING:
    from hne.explorer.session import Shown

# Values that are written as they are.
PLAIN = (str, int, float, tuple)


def _as_csv(shown: "Shown", facts: dict[str, Any]) -> bytes:  # noqa: ARG001, as all of them
    stream = io.StringIO(newline="")
    write_coordinates(None, Coordinates.of_embedding(shown.view.table, shown.result), stream)
    return stream.getvalue().encode("utf-8")


def _as_parquet(shown: "Shown", facts: dict[str, Any]) -> bytes:  # noqa: ARG001
    graph = shown.result.graph
    coordinates = Coordinates.of_embedding(shown.view.table, shown.result)
    coordinates = replace(coordinates, neighbors=(graph.indices, graph.distances))
    return _written("map.parquet", lambda path: write_coordinates(path, coordinates))


def _as_model(shown: "Shown", facts: dict[str, Any]) -> bytes:  # noqa: ARG001
    from hne.estimators.hne import HNE  # noqa: PLC0415, scikit-learn takes a second to load

    return _written("model.hne", HNE.from_embedding(shown.result, shown.preprocessor).save)


def _as_report(shown: "Shown", facts: dict[str, Any]) -> bytes:
    details = replace(shown.view.details, data_notes=shown.view.table.notices, **facts)
    return report_page(shown.result, details).encode("utf-8", "xmlcharrefreplace")


def _written(name: str, write: Callable[[Path], Any]) -> bytes:
    """What a writer of files writes."""
    with TemporaryDirectory(prefix="hne-") as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


# By format: ending, kind, and who makes it.
FORMATS: dict[str, tuple[str, str, Callable[["Shown", dict[str, Any]], bytes]]] = {
    "csv": (".csv", "text/csv", _as_csv),
    "parquet": (".parquet", "application/vnd.apache.parquet", _as_parquet),
    "model": (".hne", "application/octet-stream", _as_model),
    "report": (".html", "text/html", _as_report),
}


def exported(wanted: str, shown: "Shown", title: str, color: str | None, command: str) -> tuple[str, str, bytes]:
    """A file of the embedding: its name, its kind and its bytes."""
    color = color if color in shown.view.details.columns else None
    ending, mime, make = FORMATS[wanted]
    stem = Path(title).stem or "embedding"
    return (
        f"{stem}{'-map' if wanted in ('csv', 'parquet') else ''}{ending}",
        mime,
        make(shown, {"title": title, "color": color, "command": command}),
    )


def python_lines(request: Request, source: Source, view: View, *, is_file: bool) -> str:
    """Lines of Python that make the same picture of all samples, up to a turn; X is there, or read from the file."""
    lines = ["from hne import HNE", *(_reading_lines(request, source) if is_file else _choosing_lines(request, source))]
    # What is no plain value is there under the name of its parameter.
    arguments = ", ".join(
        f"{name}={value!r}" if isinstance(value, PLAIN) else f"{name}={name}"
        for name, value in changed(file_parameters(request, view)).items()
    )
    return "\n".join([*lines, f"model = HNE({arguments}).fit(X)", "Y = model.embedding_"])


def changed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that are not the defaults; arrays and graphs, which are never equal, are none of these."""
    return {
        name: value
        for name, value in parameters.items()
        if not isinstance(value, (*PLAIN, type(None))) or value != DEFAULTS.get(name)
    }


def _choosing_lines(request: Request, source: Source) -> list[str]:
    """Lines that choose and scale columns of X, an array or a data frame, as they are chosen and scaled."""
    names, lines = source.table.feature_names, []
    chosen = list(request.columns or names)
    if source.is_frame and (request.columns is not None or source.n_columns > len(names)):
        lines.append(f"X = X[{chosen!r}]")
    elif request.columns is not None:
        places = {name: place for place, name in enumerate(names)}
        lines.append(f"X = X[:, {[places[name] for name in chosen]!r}]")
    if request.scale != "none":
        scaled = f"ColumnPreprocessor.fit(X, range(X.shape[1]), {request.scale!r}, fills=False).transform(X)"
        lines = ["from hne.io import ColumnPreprocessor", *lines, f"X = {scaled}"]
    return lines


def _reading_lines(request: Request, source: Source) -> list[str]:
    options: ReadOptions = source.options or ReadOptions()
    given = {name: value for name, value in vars(options).items() if value != getattr(ReadOptions(), name)}
    given |= reading_of(request, source.table.feature_names, options.drop)
    known = ", ".join(f"{name}={value!r}" for name, value in given.items())
    reading = f"read_table({source.path!r}{f', ReadOptions({known})' if known else ''})"
    treated = "".join(
        f", {name}={value!r}" for name, value in (("missing", source.missing), ("scale", request.scale))
        if value not in ("refuse", "none")
    )  # fmt: skip
    names = ["ReadOptions"] if known else []
    imported = ", ".join([*names, "prepare_table", "read_table"])
    return [f"from hne.io import {imported}", f"X = prepare_table({reading}{treated}).X"]


def reading_of(request: Request, features: Sequence[str], drop: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Which columns are to be read for a request: those that take part, or where these are more those that do not."""
    if request.columns is None:
        return {}
    left = tuple(name for name in features if name not in {*request.columns})
    return {"columns": request.columns} if len(request.columns) <= len(left) else {"drop": (*drop, *left)}


def file_parameters(request: Request, view: View) -> dict[str, Any]:
    """Parameters of the request for all samples: edges are those of the whole table."""
    given = request.embed_parameters
    if view.positions is not None:
        for name in EDGES:
            pairs = given[name] or ()
            given[name] = tuple((int(view.positions[i]), int(view.positions[j])) for i, j in pairs) or None
    return given
