"""What is explored: a table, the rows of it that are drawn, and samples made of its columns for each request."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hne._runtime.progress import stage
from hne._runtime.threads import limit_blas_threads, thread_count
from hne.core.neighbors.graph import searched_graph
from hne.core.parameters import check_parameters
from hne.core.records import IndexArray
from hne.core.samples.canonical import canonicalize
from hne.core.samples.check import check_samples
from hne.exceptions import refuse
from hne.explorer.request import Request
from hne.explorer.stages import SharedStages
from hne.io import PreparedTable, ReadOptions, Table, prepare_table
from hne.io.preprocess import keep_rows
from hne.io.table import numbered
from hne.settings import PRECOMPUTED
from hne.tuning.auto import MAX_SAMPLES, PATCH_NEIGHBORS, PATCH_SAMPLES, grow_patch
from hne.viz.report import Details, gather_details

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
    ) -> None:
        self.table, self.title, self.start, self.missing = table, title, start, missing
        self.path, self.options = path, options  # of the file that it was read from
        if images is None and table.image_shape is not None:
            images = np.asarray(table.X).reshape(-1, *table.image_shape)
        self._images = images
        self._are_distances = start.parameters["metric"] == PRECOMPUTED
        # Rows that were to be left out are gone by now.
        self._gaps = missing if missing == "impute" else "refuse"
        self._views: dict[bool, View] = {}

    @property
    def can_scale(self) -> bool:
        """Whether columns can be chosen and scaled: distances have none."""
        return not self._are_distances

    @property
    def has_patch(self) -> bool:
        """Whether there are so many samples that a patch of them is drawn first."""
        return self.table.X.shape[0] > MAX_SAMPLES and not self._are_distances

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
        settings, _, _ = check_parameters({**self.start.embed_parameters, "n_neighbors": PATCH_NEIGHBORS})
        n_threads = thread_count(settings.n_jobs)
        with limit_blas_threads(n_threads), stage("patch") as done:
            unique, _, places, settings = canonicalize(check_samples(samples, settings), settings)
            graph = searched_graph(places, replace(settings, neighbors="auto"), n_threads)
            is_near = np.zeros(unique.n_places, dtype=bool)
            is_near[grow_patch(graph, PATCH_SAMPLES)] = True
            return done(np.flatnonzero(is_near[unique.inverse]))


def table_of(
    X: Any,
    *,
    labels: Mapping[str, Any] | None = None,
    ids: Sequence[Any] | None = None,
    color: Any = None,
) -> Table:
    """The table of an array or a data frame, whose columns of text are labels."""
    columns = {str(name): np.asarray(values) for name, values in (labels or {}).items()}
    if hasattr(X, "columns") and not hasattr(X, "tocsr"):
        features = {str(name): np.asarray(X[name]) for name in X.columns}
        columns = {name: values for name, values in features.items() if values.dtype.kind not in "iufb"} | columns
        features = {name: values for name, values in features.items() if values.dtype.kind in "iufb"}
        if not features:
            refuse("X", "must have a column of numbers", f"text in all {len(columns)}", "Encode text as numbers first")
        names = tuple(features)
        matrix: Any = np.column_stack([values.astype(np.float64) for values in features.values()])
    else:
        matrix = X if hasattr(X, "tocsr") else np.asarray(X)
        if matrix.ndim != 2 or not matrix.shape[0]:
            refuse("X", "must be a table of samples", f"the shape {matrix.shape}", "Pass one sample a row")
        names = numbered(matrix.shape[1])
    n = matrix.shape[0]
    if color is not None and not isinstance(color, str):
        columns, color = {"color": np.asarray(color), **columns}, "color"
    for name, values in [("ids", ids), *columns.items()]:
        if values is not None and len(values) != n:
            refuse(name, f"must have one value for each of {n} samples", str(len(values)), "Pass matching rows")
    if color is not None and color not in columns and color not in names:
        refuse("color", "must be the name of a column", repr(color), f"There are: {', '.join([*columns, *names][:8])}")
    source = f"{type(X).__name__} of shape {tuple(matrix.shape)}"
    named = None if ids is None else tuple(str(one) for one in ids)
    return Table(X=matrix, feature_names=names, source=source, ids=named, labels=columns, color=color)
