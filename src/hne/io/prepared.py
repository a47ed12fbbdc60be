"""Table -> samples without missing values, their columns scaled, and what was done to get there."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hne.core.records import IndexArray
from hne.exceptions import InputError
from hne.io.preparation import Preparation, learned
from hne.io.record import Ready, Table

MISSING = ("refuse", "drop", "impute")
# Rows that a message lists, and names of columns.
LISTED = 8
# Spreads of columns so many times apart: the wider ones alone decide who is near.
SCALE_RATIO = 1000.0


def prepared(table: Table, missing: str = "refuse", scaling: str = "none", *, are_distances: bool = False) -> Ready:
    """The samples to embed, and how others are to be treated to go with them."""
    if are_distances and (scaling != "none" or missing != "refuse"):
        msg = "--metric precomputed takes distances as they are, got --scale or --missing. Leave it out."
        raise InputError(msg)
    gaps = _rows_with_gaps(table)
    if len(gaps) and missing == "refuse":
        remedy = "Compute these distances." if are_distances else "Add --missing drop or --missing impute."
        raise InputError(_missing_message(table, gaps, remedy))
    if missing == "drop":
        table = _without(table, gaps)
    if missing == "impute":
        table = _to_fill(table, gaps)
    _check_finite(table)
    preparation = replace(
        learned(table.X, table.feature_names, scaling, fills=missing == "impute"),
        image_shape=table.image_shape,
        pixel_scale=table.pixel_scale,
    )
    hint = "" if are_distances else scale_hint(table) if scaling == "none" else _sparse_hint(table)
    return Ready(_noticed(table, hint), preparation.transform(table.X), preparation)


def treated(table: Table, preparation: Preparation, missing: str = "refuse") -> Ready:
    """New samples, their columns in the order of the fit, filled and scaled as those were."""
    table = _in_order(table, preparation.feature_names)
    n_features = len(preparation.feature_names)
    if table.X.shape[1] != n_features:
        msg = f"new samples must have the {n_features} features of the model, got {table.X.shape[1]}. "
        raise InputError(msg + "Pass a file of the kind that was fitted.")
    gaps = _rows_with_gaps(table)
    if missing == "impute" and preparation.fill is None:
        msg = "--missing impute needs a model of hne embed --missing impute, got one without medians. Choose drop."
        raise InputError(msg)
    if missing == "drop":
        table = _without(table, gaps)
    elif len(gaps) and preparation.fill is None:
        raise InputError(_missing_message(table, gaps, "Add --missing drop."))
    elif len(gaps):
        table = _noticed(table, _filled_notice(table, gaps))
    _check_finite(table)
    return Ready(table, preparation.transform(table.X), preparation)


def _in_order(table: Table, feature_names: tuple[str, ...]) -> Table:
    """The table with these features in this order; features without common names are taken as they come."""
    if table.feature_names == feature_names or set(table.feature_names) != set(feature_names):
        return table
    places = {name: place for place, name in enumerate(table.feature_names)}
    order = [places[name] for name in feature_names]
    return replace(table, X=table.X[:, order], feature_names=feature_names)


def _without(table: Table, gaps: IndexArray) -> Table:
    """The table without these rows, and a notice of it."""
    if not len(gaps):
        return table
    notice = f"left out {_counted(gaps)} with missing values ({_listed(table, gaps)})."
    return _noticed(rows_kept(table, np.setdiff1d(np.arange(table.X.shape[0]), gaps)), notice)


def _to_fill(table: Table, gaps: IndexArray) -> Table:
    """The table with a notice of what will be filled, or the reason why it cannot."""
    if not len(gaps):
        return table
    if issparse(table.X):
        msg = "--missing impute needs a dense table, got a sparse matrix. Choose --missing drop."
        raise InputError(msg)
    empty = np.flatnonzero(np.isnan(table.X).all(axis=0))
    if len(empty):
        names = ", ".join(f"'{table.feature_names[column]}'" for column in empty[:LISTED])
        msg = f"--missing impute needs a value in each column, got none in {names}. Add --drop for them."
        raise InputError(msg)
    return _noticed(table, _filled_notice(table, gaps))


def _filled_notice(table: Table, gaps: IndexArray) -> str:
    return f"filled missing values of {_counted(gaps)} with the medians of their columns ({_listed(table, gaps)})."


def _noticed(table: Table, notice: str) -> Table:
    return replace(table, notices=(*table.notices, notice)) if notice else table


def rows_kept(table: Table, keep: IndexArray) -> Table:
    """The table of these rows; their numbers in the file go with them."""
    if not len(keep):
        msg = "--missing drop must leave some rows, got missing values in all. Choose --missing impute, or --columns."
        raise InputError(msg)
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
    known = ~np.isnan(table.X).all(axis=0)
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
    names = np.array(table.feature_names, dtype=object)[known]
    return (
        f"columns differ in scale: '{names[wide]}' spreads by {spread[wide]:.3g}, '{names[narrow]}' by "
        f"{spread[narrow]:.3g}, so that the wide ones alone decide who is near. Add --scale standard or --scale robust "
        "to weigh all alike."
    )


def _sparse_hint(table: Table) -> str:
    return "columns are scaled but not centered, so that the matrix stays sparse." if issparse(table.X) else ""


def _check_finite(table: Table) -> None:
    """Refuse infinite values, by the row as the file counts it, and the column."""
    X: Any = table.X
    if issparse(X):
        suspects = np.unique(np.searchsorted(X.indptr, np.flatnonzero(np.isinf(X.data)), side="right") - 1)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            suspects = np.flatnonzero(~np.isfinite(X.sum(axis=1)))
    for row in suspects:
        values = _dense(X[[row]])[0]
        for column in np.flatnonzero(np.isinf(values))[:1]:
            place = f"row {_listed(table, np.array([row]))}, column '{table.feature_names[column]}'"
            msg = f"rows must be finite, got {values[column]} in {place}. Mend or leave out that row."
            raise InputError(msg)


def _rows_with_gaps(table: Table) -> IndexArray:
    """Rows of X in which a value is missing."""
    X: Any = table.X
    if issparse(X):
        return np.unique(np.searchsorted(X.indptr, np.flatnonzero(np.isnan(X.data)), side="right") - 1)
    # A row's sum is NaN where a value is, or where inf meets -inf: a cheap sieve before looking closely.
    with np.errstate(over="ignore", invalid="ignore"):
        suspects = np.flatnonzero(np.isnan(X.sum(axis=1)))
    found: IndexArray = suspects[np.isnan(X[suspects]).any(axis=1)]
    return found


def _missing_message(table: Table, gaps: IndexArray, remedy: str) -> str:
    columns = np.flatnonzero(np.isnan(_dense(table.X[gaps])).any(axis=0))
    names = ", ".join(f"'{table.feature_names[column]}'" for column in columns[:3])
    more = ", ..." if len(columns) > 3 else ""
    return (
        f"rows must be without missing values, got {_counted(gaps)} with some ({_listed(table, gaps)}; in "
        f"{names}{more}). {remedy}"
    )


def _dense(X: Any) -> Any:
    return X.toarray() if issparse(X) else X


def _counted(rows: IndexArray) -> str:
    return f"{len(rows)} row{'s' if len(rows) != 1 else ''}"


def _listed(table: Table, gaps: IndexArray) -> str:
    """Numbers of rows as the file counts them."""
    numbers = gaps + 1 if table.rows is None else table.rows[gaps]
    return ", ".join(str(number) for number in numbers[:LISTED]) + (", ..." if len(gaps) > LISTED else "")
