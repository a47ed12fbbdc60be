"""Table -> samples without missing values, their columns scaled, and what does the same to others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from hne.core.records import FloatArray, IndexArray, SparseMatrix
from hne.exceptions import refuse
from hne.io.table import Table

MISSING = ("refuse", "drop", "impute")
SCALINGS = ("none", "standard", "robust")
# A normal distribution's quartiles lie so many standard deviations apart: robust and standard scale agree on it.
NORMAL_QUARTILES = 1.3489795003921634
# Rows that a message lists, and names of columns.
LISTED = 8
# Spreads of columns so many times apart: the wider ones alone decide who is near.
SCALE_RATIO = 1000.0


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


def prepare_table(
    table: Table, missing: str = "refuse", scale: str = "none", *, are_distances: bool = False
) -> PreparedTable:
    """The samples to embed, and how others are to be treated to go with them."""
    if are_distances and (scale != "none" or missing != "refuse"):
        refuse("metric='precomputed'", "takes distances as they are", "`scale` or `missing`", "Leave it out")
    gaps = _rows_where(table.X, np.isnan)
    if len(gaps) and missing == "refuse":
        remedy = "Compute these distances" if are_distances else "Add missing='drop' or missing='impute'"
        _refuse_gaps(table, gaps, remedy)
    if missing == "impute" and len(gaps):
        _check_fillable(table)
    table = _drop_rows(table, gaps) if missing == "drop" else _notice_filled(table, gaps)
    _check_finite(table)
    preprocessor = replace(
        ColumnPreprocessor.fit(table.X, table.feature_names, scale, fills=missing == "impute"),
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
    gaps = _rows_where(table.X, np.isnan)
    if missing == "impute" and preprocessor.fill is None:
        refuse("missing='impute'", "needs a model that was fitted with it", "one without medians", "Choose drop")
    if len(gaps) and missing != "drop" and preprocessor.fill is None:
        _refuse_gaps(table, gaps, "Add missing='drop'")
    table = _drop_rows(table, gaps) if missing == "drop" else _notice_filled(table, gaps)
    _check_finite(table)
    return PreparedTable(table, preprocessor.transform(table.X), preprocessor)


def _rows_where(X: Any, test: Callable[[Any], Any]) -> IndexArray:
    """Rows with a value that is NaN or infinite, as the test says."""
    if issparse(X):
        return np.unique(np.searchsorted(X.indptr, np.flatnonzero(test(X.data)), side="right") - 1)
    # A row's sum is not finite where a value is not, or where it overflows: a cheap sieve before looking closely.
    with np.errstate(over="ignore", invalid="ignore"):
        suspects = np.flatnonzero(~np.isfinite(X.sum(axis=1)))
    rows: IndexArray = suspects[test(X[suspects]).any(axis=1)]
    return rows


def _refuse_gaps(table: Table, gaps: IndexArray, remedy: str) -> NoReturn:
    X: Any = table.X[gaps]
    columns = np.flatnonzero(np.isnan(X.toarray() if issparse(X) else X).any(axis=0))
    names = ", ".join(f"'{table.feature_names[column]}'" for column in columns[:3]) + ", ..." * (len(columns) > 3)
    got = f"{_count_rows(gaps)} with some ({_row_numbers(table, gaps)}; in {names})"
    refuse("rows", "must be without missing values", got, remedy)


def _check_fillable(table: Table) -> None:
    if issparse(table.X):
        refuse("missing='impute'", "needs a dense table", "a sparse matrix", "Choose missing='drop'")
    empty = np.flatnonzero(np.isnan(table.X).all(axis=0))
    if len(empty):
        names = ", ".join(f"'{table.feature_names[column]}'" for column in empty[:LISTED])
        refuse("missing='impute'", "needs a value in each column", f"none in {names}", "Add `drop` for them")


def _notice_filled(table: Table, gaps: IndexArray) -> Table:
    filled = f"filled missing values of {_count_rows(gaps)} with the medians of their columns"
    return table.noticed(f"{filled} ({_row_numbers(table, gaps)}).") if len(gaps) else table


def _drop_rows(table: Table, gaps: IndexArray) -> Table:
    """The table without these rows, and a notice of it."""
    if not len(gaps):
        return table
    notice = f"left out {_count_rows(gaps)} with missing values ({_row_numbers(table, gaps)})."
    return keep_rows(table, np.setdiff1d(np.arange(table.X.shape[0]), gaps)).noticed(notice)


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


def _check_finite(table: Table) -> None:
    """Refuse infinite values, by the row as the file counts it, and the column."""
    for row in _rows_where(table.X, np.isinf)[:1]:
        X: Any = table.X[[row]]
        values = (X.toarray() if issparse(X) else X)[0]
        column = np.flatnonzero(np.isinf(values))[0]
        place = f"row {_row_numbers(table, np.array([row]))}, column '{table.feature_names[column]}'"
        refuse("rows", "must be finite", f"{values[column]} in {place}", "Mend or leave out that row")


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


def _count_rows(rows: IndexArray) -> str:
    return f"{len(rows)} row{'s' if len(rows) != 1 else ''}"


def _row_numbers(table: Table, rows: IndexArray) -> str:
    """Numbers of rows as the file counts them."""
    numbers = rows + 1 if table.rows is None else table.rows[rows]
    return ", ".join(map(str, numbers[:LISTED])) + (", ..." if len(rows) > LISTED else "")
