"""What is explored: a table, the rows of it that are drawn, and samples made of its columns for each request."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne._runtime.progress import stage
from hne._runtime.threads import limit_blas_threads, thread_count
from hne.core.neighbors.graph import searched_graph
from hne.core.parameters import check_parameters
from hne.core.records import FloatArray, IndexArray
from hne.core.samples.canonical import canonicalize
from hne.core.samples.check import check_samples
from hne.core.samples.kinds import Distances
from hne.estimators.mixins import columns_by_name
from hne.exceptions import refuse
from hne.explorer.request import Request
from hne.explorer.stages import SharedStages
from hne.io import PreparedTable, ReadOptions, Table, prepare_table
from hne.io.preprocess import keep_rows
from hne.io.table import numbered
from hne.settings import EDGES, PRECOMPUTED, Settings
from hne.tuning.auto import MAX_SAMPLES, PATCH_NEIGHBORS, PATCH_SAMPLES, grow_patch
from hne.viz.report import Details, gather_details
from hne.viz.report.details import as_numbers

# Choices of columns and scaling whose stages are kept.
KEPT = 3


@dataclass(frozen=True)
class Prepared:
    """Samples of some columns, scaled, and the stages that embed them."""

    ready: PreparedTable
    stages: SharedStages


class View:
    """Rows of the table that are drawn together: all, or a connected patch of many."""

    def __init__(
        self, table: Table, positions: IndexArray | None, images: Any, missing: str, *, are_distances: bool
    ) -> None:
        self.table, self.images = table, images
        self.positions = positions  # of its rows in the whole table; None for all
        self._missing, self._are_distances = missing, are_distances
        self._prepared: OrderedDict[tuple[Any, ...], Prepared] = OrderedDict()

    @property
    def n_samples(self) -> int:
        """Number of samples that are drawn."""
        return int(self.table.X.shape[0])

    def prepared(self, request: Request) -> Prepared:
        """The samples that a request is about; those of the last few choices of columns are kept."""
        key = (request.columns, request.scale)
        if key not in self._prepared:
            self._prepared[key] = Prepared(self._prepare(request), SharedStages())
        self._prepared.move_to_end(key)
        while len(self._prepared) > KEPT:
            self._prepared.popitem(last=False)
        return self._prepared[key]

    def _prepare(self, request: Request) -> PreparedTable:
        table = self.table
        if request.columns is not None:
            places = {name: place for place, name in enumerate(table.feature_names)}
            chosen = [places[name] for name in request.columns]
            table = replace(table, X=table.X[:, chosen], feature_names=request.columns, image_shape=None)
        return prepare_table(table, self._missing, request.scale, are_distances=self._are_distances)

    @cached_property
    def details(self) -> Details:
        """What a page shows of the samples."""
        table = self.table
        features: dict[str, Any] = {"features": table.X, "feature_names": table.feature_names}
        return gather_details(
            **({} if self._are_distances else features),
            labels=table.labels,
            ids=table.ids,
            id_name=table.id_name if table.ids is not None else "sample",
            rows=table.rows,
            color=table.color,
            images=self.images,
            source=table.source,
        )


class Source:
    """A table, pictures of its rows where they have some, and its views."""

    def __init__(
        self,
        table: Table,
        title: str,
        start: Request,
        *,
        missing: str = "refuse",
        images: Any = None,
        path: str = "",
        options: ReadOptions | None = None,
        frame: Any = None,
    ) -> None:
        self.table, self.title, self.start, self.missing = table, title, start, missing
        self.path, self.options = path, options  # of the file that it was read from
        # Of the data frame that it was made of, columns of text among them.
        self.is_frame, self.n_columns = frame is not None, 0 if frame is None else len(frame.columns)
        if images is None and table.image_shape is not None:
            images = np.asarray(table.X).reshape(-1, *table.image_shape)
        self._images = images
        self._are_distances = start.parameters["metric"] == PRECOMPUTED
        # Rows that were to be left out are gone by now.
        self._gaps = missing if missing == "impute" else "refuse"
        self._views: dict[bool, View] = {}

    @property
    def can_scale(self) -> bool:
        """Whether columns can be chosen and scaled: distances have none, and those of images are pixels."""
        return not self._are_distances and self.table.image_shape is None

    @property
    def has_patch(self) -> bool:
        """Whether there are so many samples that a patch of them is drawn first."""
        return self.table.X.shape[0] > MAX_SAMPLES and not self._are_distances

    def has_view(self, *, whole: bool) -> bool:
        """Whether the rows that are drawn are known already."""
        return (whole or not self.has_patch) in self._views

    def start_of(self, view: View) -> Request:
        """What is embedded first of these rows: of edges that were given, those between two of them."""
        if view.positions is None:
            return replace(self.start, whole=self.has_patch)
        places = {int(position): place for place, position in enumerate(view.positions)}
        cut, keep = (
            tuple((places[i], places[j]) for i, j in pairs if i in places and j in places)
            for pairs in (self.start.cut, self.start.keep)
        )
        return replace(self.start, cut=cut, keep=keep, whole=False)

    def view(self, *, whole: bool) -> View:
        """The rows that are drawn."""
        whole = whole or not self.has_patch
        if whole not in self._views:
            rows = None if whole else self._patch()
            table = self.table if rows is None else keep_rows(self.table, rows)
            images = self._images if rows is None or self._images is None else self._images[rows]
            self._views[whole] = View(table, rows, images, self._gaps, are_distances=self._are_distances)
        return self._views[whole]

    def _patch(self) -> IndexArray:
        """Rows of a connected patch that is as dense as the whole, with all copies of its samples."""
        samples = prepare_table(self.table, self._gaps, self.start.scale).X
        given = {**self.start.embed_parameters, "n_neighbors": PATCH_NEIGHBORS, **dict.fromkeys(EDGES)}
        settings, _, _ = check_parameters(given)
        n_threads = thread_count(settings.n_jobs)
        with limit_blas_threads(n_threads), stage("patch") as done:
            unique, _, places, settings = canonicalize(check_samples(samples, settings), settings)
            graph = searched_graph(places, replace(settings, neighbors="auto"), n_threads)
            is_near = np.zeros(unique.n_places, dtype=bool)
            is_near[grow_patch(graph, PATCH_SAMPLES)] = True
            return done(np.flatnonzero(is_near[unique.inverse]))


def table_of(
    X: Any,
    settings: Settings | None = None,
    *,
    labels: Any = None,
    ids: Sequence[Any] | None = None,
    color: Any = None,
) -> Table:
    """The table of an array or a data frame, whose columns of text are labels; what `hne.embed` refuses is refused."""
    columns = {} if labels is None else {name: _label(values) for name, values in columns_by_name(labels).items()}
    if hasattr(X, "columns") and not hasattr(X, "tocsr"):
        names, matrix, others = _of_frame(X)
        columns = others | columns
    else:
        matrix = X if isinstance(X, np.ndarray) or hasattr(X, "tocsr") else np.asarray(X)
        names = numbered(matrix.shape[1]) if matrix.ndim == 2 else ()
    samples = check_samples(matrix, settings or Settings(n_neighbors=1, n_components=1))
    matrix = samples.matrix if isinstance(samples, Distances) else samples
    if color is not None and not isinstance(color, str):
        columns, color = {"color": _label(color), **columns}, "color"
    if color is not None and color not in columns and color not in names:
        refuse("color", "must be the name of a column", repr(color), f"There are: {', '.join([*columns, *names][:8])}")
    source = f"{type(X).__name__} of shape {tuple(matrix.shape)}"
    named = None if ids is None else tuple(str(one) for one in ids)
    return Table(X=matrix, feature_names=names, source=source, ids=named, labels=columns, color=color)


def _of_frame(X: Any) -> tuple[tuple[str, ...], FloatArray, dict[str, NDArray[Any]]]:
    """Names and numbers of a data frame's columns of numbers, and its others."""
    names = [str(name) for name in X.columns]
    if len({*names}) < len(names):
        refuse("X", "must have a name of its own for each column", "some twice", "Rename them")
    values = {str(name): np.asarray(X[name]) for name in X.columns}
    features = {name: column for name, column in values.items() if column.dtype.kind in "iufb"}
    if not features:
        refuse("X", "must have a column of numbers", f"text in all {len(names)}", "Encode text as numbers first")
    others = {name: _label(column) for name, column in values.items() if name not in features}
    return tuple(features), np.column_stack([column.astype(np.float64) for column in features.values()]), others


def _label(values: Any) -> NDArray[Any]:
    """A column that is not embedded: numbers, times, or text and None."""
    column = np.asarray(values)
    if column.dtype != object or column.ndim != 1:
        return column
    column = as_numbers(column)
    return column if column.dtype != object else np.array([_text(one) for one in column.tolist()] + [None])[:-1]


def _text(value: Any) -> str | None:
    return None if value is None or value != value else str(value)  # noqa: PLR0124, NaN
