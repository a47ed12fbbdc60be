"""Table -> roles that its values give away -> samples without missing values, scaled, and what does so to others."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, count
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from hne.core.records import FloatArray, IndexArray, SparseMatrix
from hne.exceptions import quoted, refuse
from hne.io.files import ReadOptions
from hne.io.sniff import is_number
from hne.io.table import LISTED, NAMED_BY_FIRST, Table, as_ids, listed

MISSING = ("refuse", "drop", "impute")
SCALINGS = ("none", "standard", "robust")
# A normal distribution's quartiles lie so many standard deviations apart: robust and standard scale agree on it.
NORMAL_QUARTILES = 1.3489795003921634
# Spreads of columns so many times apart: the wider ones alone decide who is near.
SCALE_RATIO = 1000.0
# What people call a column of classes; numbers in it are names of groups, if there are no more than so many.
CLASS_NAME = re.compile(
    r"(target|class(es)?|labels?|group|cluster|species|category|kind|type|diagnosis|outcome)"
    r"([ ._-]?(id|no|nr|code))?",
    re.IGNORECASE,
)
MAX_CLASSES = 30
# Names that columns get here where the file has none for them.
GENERIC = re.compile(r"x\d+")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
COUNTS = "counts the rows"
# Rows from which it is no accident that numbers count up by one, or that texts differ throughout.
MIN_ROWS = 10
# Rows of fewer numbers are seldom images: 8 x 8.
FEWEST_PIXELS = 64


@dataclass(frozen=True)
class ColumnPreprocessor:
    """Columns that were fitted, and how their values were filled and scaled: `transform` does the same to others."""

    feature_names: tuple[str, ...]
    scaling: str = "none"
    fill: FloatArray | None = None  # what stands in for missing values, a number for each feature
    center: FloatArray | None = None  # subtracted first
    scale: FloatArray | None = None  # divided by then
    image_shape: tuple[int, ...] | None = None  # of samples that are images
    pixel_scale: float | None = None  # what their pixels were divided by as they were read; None where nothing was

    @classmethod
    def fit(cls, X: Any, feature_names: tuple[str, ...], scaling: str, *, fills: bool) -> ColumnPreprocessor:
        """Medians to fill with and scales, of these samples; a sparse matrix is not centered, or it would be dense."""
        if issparse(X) and scaling == "robust":
            got = "a sparse matrix, most of it zeros"
            refuse("scale='robust'", "needs a dense table", got, "Choose scale='standard'")
        # Sums of columns are rounded by the order in memory: in one and the same, columns that were chosen when the
        # table was read and those that are chosen later have the same scales.
        X = X if issparse(X) else np.ascontiguousarray(X)
        fill = np.nanmedian(X, axis=0) if fills and not issparse(X) else None
        if scaling == "none":
            return cls(feature_names, scaling, fill)
        if issparse(X):
            mean = np.asarray(X.mean(axis=0)).ravel()
            square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
            center, spread = None, np.sqrt(np.maximum(square - mean**2, 0.0))
        else:
            known: FloatArray = X if fill is None else np.where(np.isnan(X), fill, X)
            center, spread = known.mean(axis=0), known.std(axis=0)
            if scaling == "robust":
                low, center, high = np.percentile(known, [25, 50, 75], axis=0)
                # Of columns whose middle half is one value, the quartiles know no scale: the standard deviation does.
                spread = np.where(high > low, (high - low) / NORMAL_QUARTILES, spread)
        return cls(feature_names, scaling, fill, center, np.where(spread > 0, spread, 1.0))

    @property
    def changes_values(self) -> bool:
        """Whether samples are others afterwards."""
        return self.fill is not None or self.scale is not None

    def transform(self, X: ArrayLike | SparseMatrix) -> Any:
        """Fill and scale samples as those of the fit were, (n, D); what came in stays as it is."""
        values: Any = X if issparse(X) else np.asarray(X, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.feature_names):
            rule = f"must have {len(self.feature_names)} columns"
            refuse("X", rule, f"shape {values.shape}", "Pass those of the fit")
        if issparse(values):
            return values if self.scale is None else csr_array(values / self.scale)
        if self.fill is not None:
            values = np.where(np.isnan(values), self.fill, values)
        if self.center is not None:
            values = values - self.center
        return values if self.scale is None else values / self.scale


@dataclass(frozen=True)
class PreparedTable:
    """Samples to embed or to place, and the table that they come from, row by row."""

    table: Table  # as read, without rows that were left out
    X: FloatArray | SparseMatrix  # filled and scaled
    preprocessor: ColumnPreprocessor  # which fills and scales others alike


def detect_column_roles(table: Table, options: ReadOptions) -> Table:
    """The table without columns that only look like features: names of samples, counters of rows, and classes.

    A counter among the features decides the picture, which then shows the order of the rows; a class leaks the answer.
    Both are set apart with a notice, and whoever wants them as features names them in `columns`.
    """
    table = table if options.id else _with_repeated_names_as_label(table)
    X: Any = table.X
    ids, id_name, labels, notices = table.ids, table.id_name, dict(table.labels), []
    texts = (name for name, values in labels.items() if name != table.color and _are_names(values))
    named = next(texts, None) if ids is None else None
    if named is not None:
        ids, id_name = as_ids(labels.pop(named)), named
        notices.append(f"Column {quoted(named)} differs in every row: it names the samples.")
    apart: dict[int, str] = {}
    if not (options.columns or options.features or issparse(X) or table.image_shape is not None):
        with np.errstate(invalid="ignore", over="ignore"):
            # Of wide tables, few columns pass the first two rows.
            suspects = np.flatnonzero(X[1] - X[0] == 1).tolist() if len(X) >= MIN_ROWS else []
            apart = {i: COUNTS for i in suspects if (np.diff(X[:, i]) == 1).all()}
        for i, name in enumerate(table.feature_names):
            if i not in apart and CLASS_NAME.fullmatch(name.strip()):
                known = X[~np.isnan(X[:, i]), i]
                is_whole = (known == np.rint(known)).all()
                if is_whole and len(np.unique(known)) <= min(MAX_CLASSES, len(known) // 2):
                    apart[i] = "looks like classes"
        apart = {i: looks for i, looks in apart.items() if table.feature_names[i] != table.color}
    if len(apart) == X.shape[1]:
        apart = {}
    for i, looks in apart.items():
        name, role = table.feature_names[i], "is a label"
        if looks == COUNTS and ids is None:
            ids, id_name, role = as_ids(X[:, i]), name, "names the samples"
        else:
            labels[name] = X[:, i]
        notices.append(f"Column {quoted(name)} {looks}: it {role}, and is no feature unless `columns` has it.")
    table = replace(table, ids=ids, id_name=id_name, labels=labels).noticed(*notices)
    if apart:
        kept = [i for i in range(X.shape[1]) if i not in apart]
        table = replace(table, X=X[:, kept], feature_names=tuple(table.feature_names[i] for i in kept))
    # Models know their features.
    return table if table.image_shape is not None or options.features else _add_hints(table)


def _with_repeated_names_as_label(table: Table) -> Table:
    """The table whose names of samples, where most of them stand for several, are a label: groups to color by."""
    n_different = len(set(table.ids or ()))
    if table.ids is None or n_different < 2 or 2 * n_different > len(table.ids):
        return table
    first = "label" if table.id_name == "id" else table.id_name
    numbered = chain([first], (f"{first} {number}" for number in count(2)))
    name = next(name for name in numbered if name not in table.labels)
    told = f"Names of samples repeat, {n_different} of them for {len(table.ids)}: they are the label {quoted(name)}."
    kept = tuple(one for one in table.notices if one != NAMED_BY_FIRST)
    labels = {name: np.array([*table.ids, None], dtype=object)[:-1], **table.labels}
    return replace(table, ids=None, id_name="id", labels=labels, notices=(*kept, told))


def _are_names(column: NDArray[Any]) -> bool:
    """Whether texts differ in every row, and are neither numbers with a word among them nor days, which color well."""
    texts = column.tolist() if column.dtype == object else []
    if len(texts) < MIN_ROWS or None in texts or len(set(texts)) < len(texts):
        return False
    return not all(map(DAY.match, texts)) and 2 * sum(map(is_number, texts)) < len(texts)


def _add_hints(table: Table) -> Table:
    """The table with notices of few features among other columns, and of rows that may be images."""
    n_samples, n_features = table.X.shape
    is_generic = all(GENERIC.fullmatch(name) for name in table.feature_names)
    has_others = bool(table.labels) or table.ids is not None
    if has_others and not is_generic:
        many = f"{n_features} columns, {quoted(table.feature_names[0])} to {quoted(table.feature_names[-1])}"
        return table.noticed(f"Features: {listed(table.feature_names) if n_features <= LISTED else many}.")
    side = isqrt(n_features)
    # As many rows as columns are rather distances.
    may_be_images = is_generic and FEWEST_PIXELS <= n_features == side**2 != n_samples
    if may_be_images and table.X.min() >= 0:
        return table.noticed(f"Rows may be images of {side} x {side}: add image_size=({side}, {side}) to see them.")
    return table


def prepare_table(
    table: Table, missing: str = "refuse", scale: str = "none", *, are_distances: bool = False
) -> PreparedTable:
    """The samples to embed, and how others are to be treated to go with them."""
    if are_distances and (scale != "none" or missing != "refuse"):
        refuse("metric='precomputed'", "takes distances as they are", "`scale` or `missing`", "Leave it out")
    fills = missing == "impute"
    if fills and not issparse(table.X):
        empty = np.flatnonzero(np.isnan(table.X).all(axis=0))
        if len(empty):
            names = listed([table.feature_names[column] for column in empty])
            refuse("missing='impute'", "needs a value in each column", f"none in {names}", "Add `drop` for them")
    remedy = "Compute these distances" if are_distances else "Add missing='drop' or missing='impute'"
    table = _without_gaps(table, remedy, drops=missing == "drop", fills=fills)
    preprocessor = replace(
        ColumnPreprocessor.fit(table.X, table.feature_names, scale, fills=fills),
        image_shape=table.image_shape,
        pixel_scale=table.pixel_scale,
    )
    hint = ""
    if scale == "none" and not are_distances:
        hint = scale_hint(table)
    elif issparse(table.X) and not are_distances:
        hint = "columns are scaled but not centered, so that the matrix stays sparse."
    return PreparedTable(table.noticed(hint) if hint else table, preprocessor.transform(table.X), preprocessor)


def prepare_new(table: Table, preprocessor: ColumnPreprocessor, missing: str = "refuse") -> PreparedTable:
    """New samples, their columns in the order of the fit, filled and scaled as those were."""
    names = preprocessor.feature_names
    # Features without common names are taken as they come.
    if table.feature_names != names and set(table.feature_names) == set(names):
        places = {name: place for place, name in enumerate(table.feature_names)}
        table = replace(table, X=table.X[:, [places[name] for name in names]], feature_names=names)
    if table.X.shape[1] != len(names):
        rule = f"must have the {len(names)} features of the model"
        refuse("new samples", rule, str(table.X.shape[1]), "Pass a file of the kind that was fitted")
    fills = preprocessor.fill is not None
    if missing == "impute" and not fills:
        refuse("missing='impute'", "needs a model that was fitted with it", "one without medians", "Choose drop")
    table = _without_gaps(table, "Add missing='drop'", drops=missing == "drop", fills=fills)
    return PreparedTable(table, preprocessor.transform(table.X), preprocessor)


def _without_gaps(table: Table, remedy: str, *, drops: bool, fills: bool) -> Table:
    """The table whose missing values are dropped, or noted to be filled, or else refused; infinite ones always are."""
    gaps = _rows_where(table.X, np.isnan)
    rows, numbers = f"{len(gaps)} row{'s' * (len(gaps) != 1)}", _row_numbers(table, gaps)
    if len(gaps) and drops:
        table = keep_rows(table, np.setdiff1d(np.arange(table.X.shape[0]), gaps))
        table = table.noticed(f"left out {rows} with missing values ({numbers}).")
    elif len(gaps) and fills:
        if issparse(table.X):
            refuse("missing='impute'", "needs a dense table", "a sparse matrix", "Choose missing='drop'")
        table = table.noticed(f"filled missing values of {rows} with the medians of their columns ({numbers}).")
    elif len(gaps):
        X: Any = table.X[gaps]
        columns = np.flatnonzero(np.isnan(X.toarray() if issparse(X) else X).any(axis=0))
        names = ", ".join(f"'{table.feature_names[column]}'" for column in columns[:3]) + ", ..." * (len(columns) > 3)
        refuse("rows", "must be without missing values", f"{rows} with some ({numbers}; in {names})", remedy)
    for row in _rows_where(table.X, np.isinf)[:1]:
        X = table.X[[row]]
        values = (X.toarray() if issparse(X) else X)[0]
        column = np.flatnonzero(np.isinf(values))[0]
        place = f"row {_row_numbers(table, np.array([row]))}, column '{table.feature_names[column]}'"
        refuse("rows", "must be finite", f"{values[column]} in {place}", "Mend or leave out that row")
    return table


def _rows_where(X: Any, test: Callable[[Any], Any]) -> IndexArray:
    """Rows with a value that is NaN or infinite, as the test says."""
    if issparse(X):
        return np.unique(np.searchsorted(X.indptr, np.flatnonzero(test(X.data)), side="right") - 1)
    # A row's sum is not finite where a value is not, or where it overflows: a cheap sieve before looking closely.
    with np.errstate(over="ignore", invalid="ignore"):
        suspects = np.flatnonzero(~np.isfinite(X.sum(axis=1)))
    return suspects[test(X[suspects]).any(axis=1)]


def _row_numbers(table: Table, rows: IndexArray) -> str:
    """Numbers of rows as the file counts them."""
    numbers = rows + 1 if table.rows is None else table.rows[rows]
    return listed(numbers.tolist(), str)


def keep_rows(table: Table, keep: IndexArray) -> Table:
    """The table of these rows; their numbers in the file go with them."""
    if not len(keep):
        remedy = "Choose missing='impute', or `columns`"
        refuse("missing='drop'", "must leave some rows", "missing values in all", remedy)
    numbers = np.arange(1, table.X.shape[0] + 1) if table.rows is None else table.rows
    return replace(
        table,
        X=table.X[keep],
        rows=numbers[keep],
        ids=None if table.ids is None else tuple(table.ids[row] for row in keep),
        labels={name: values[keep] for name, values in table.labels.items()},
    )


def scale_hint(table: Table) -> str:
    """A sentence where columns are of such different scales that some count for nothing, else empty."""
    if issparse(table.X) or table.image_shape is not None or table.X.shape[1] < 2:
        return ""
    known = np.flatnonzero(~np.isnan(table.X).all(axis=0))
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.nanstd(table.X[:, known], axis=0)
        # The deviation of a constant column need not round to zero; its largest value minus its smallest does.
        varies = np.nanmax(table.X[:, known], axis=0) > np.nanmin(table.X[:, known], axis=0)
    moving = np.flatnonzero(np.isfinite(spread) & varies)
    if not len(moving):
        return ""
    narrow, wide = moving[np.argmin(spread[moving])], moving[np.argmax(spread[moving])]
    if spread[wide] < SCALE_RATIO * spread[narrow]:
        return ""
    return (
        f"columns differ in scale: '{table.feature_names[known[wide]]}' spreads by {spread[wide]:.3g}, "
        f"'{table.feature_names[known[narrow]]}' by {spread[narrow]:.3g}, so that the wide ones alone decide who is "
        "near. Add scale='standard' or scale='robust' to weigh all alike."
    )
