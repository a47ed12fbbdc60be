"""A matrix with labels beside it, and what the user chose -> Table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from hne._runtime.memory import available_bytes, gigabytes
from hne.exceptions import TooLargeError
from hne.io.labels import as_ids
from hne.io.names import numbered
from hne.io.record import ReadOptions, Table
from hne.io.selection import LABEL, NUMBER, TEXT, Roles, assigned_roles
from hne.io.sources import File

# A short name: its characters, Python's header, and its places in a tuple and among the columns.
NAME_BYTES = 72
# The largest value of an 8-bit pixel.
WHITE = 255.0
Value = TypeVar("Value")


def finished(
    file: File,
    X: Any,
    choices: ReadOptions,
    *,
    source: str,
    feature_names: tuple[str, ...] | None = None,
    labels: Mapping[str, NDArray[Any]] | None = None,
    ids: tuple[str, ...] | None = None,
    id_name: str = "id",
    stored: Mapping[str, NDArray[Any]] | None = None,
    image_shape: tuple[int, ...] | None = None,
    pixel_scale: float | None = None,
    is_column_major: bool = False,
    notices: tuple[str, ...] = (),
) -> Table:
    """Make the table of what the user chose from a matrix, samples as rows, and from what describes its samples.

    Names of a label and a feature may be the same: the label is then called `name_label`. `stored` has features as the
    file has them, where they are columns of their own: names of samples and labels are made of these.
    """
    names = feature_names or numbered(X.shape[1])
    beside = _apart(labels or {}, names)
    table = Table(
        X=X,
        feature_names=names,
        source=source,
        ids=ids,
        id_name=id_name,
        labels=beside,
        image_shape=image_shape,
        pixel_scale=pixel_scale,
        notices=notices,
    )
    kinds = [NUMBER] * len(names) + [TEXT if column.dtype == object else LABEL for column in beside.values()]
    columns = partial(_column, table, stored or {})
    roles = assigned_roles(
        file,
        [*names, *beside],
        kinds,
        choices,
        lambda i: ids is None and _is_unique(columns(i)),
        keeps_numbers=stored is not None,
    )
    return shaped(file, _selected(table, roles, columns), choices, is_column_major=is_column_major)


def n_features_foreseen(
    file: File, names: Sequence[str] | int, labels: Sequence[str], choices: ReadOptions, *, keeps_numbers: bool = False
) -> int:
    """Number of features that `finished` will leave of a matrix with these names, beside labels with those.

    Of a matrix whose features have no names, their number is enough: names are made only where they are asked for.
    """
    if not (choices.columns or choices.features or choices.drop or choices.id or choices.color):
        return names if isinstance(names, int) else len(names)
    if isinstance(names, int):
        check_fits(file, NAME_BYTES * names, f"names of {names} features")
        names = numbered(names)
    beside = list(_apart(dict.fromkeys(labels), names))
    kinds = [NUMBER] * len(names) + [LABEL] * len(beside)
    known = [*names, *beside]
    return len(assigned_roles(file, known, kinds, choices, lambda _: False, keeps_numbers=keeps_numbers).features)


def check_fits(file: File, size: int, what: str) -> None:
    """Raise where so many bytes are more than there are; `what` takes them."""
    available = available_bytes()
    if size > available:
        msg = (
            f"{file.title} needs {gigabytes(size)} to be read ({what}), got {gigabytes(available)} of free memory. "
            "Choose fewer columns, or write a part of its rows to a file of their own."
        )
        raise TooLargeError(msg)


def _apart(labels: Mapping[str, Value], names: Sequence[str]) -> dict[str, Value]:
    """Labels with names that no feature has."""
    taken = set(names) & set(labels)
    return {f"{name}_label" if name in taken else name: column for name, column in labels.items()}


def _column(table: Table, stored: Mapping[str, NDArray[Any]], i: int) -> NDArray[Any]:
    """Column of a feature or, counted on, of a label."""
    n_features = len(table.feature_names)
    if i >= n_features:
        return list(table.labels.values())[i - n_features]
    if table.feature_names[i] in stored:
        return stored[table.feature_names[i]]
    column: Any = table.X[:, [i]]
    values: NDArray[Any] = (column.toarray() if issparse(column) else column)[:, 0]
    return values


def _is_unique(column: NDArray[Any]) -> bool:
    if column.dtype != object and not (np.isfinite(column) & (column == np.rint(column))).all():
        return False
    return len(set(column.tolist())) == len(column)


def _selected(table: Table, roles: Roles, columns: Callable[[int], NDArray[Any]]) -> Table:
    names = [*table.feature_names, *table.labels]
    labels = {names[i]: columns(i) for i in roles.labels}
    changes: dict[str, Any] = {"labels": labels, "notices": (*table.notices, *roles.notices)}
    if roles.color is not None:
        changes["color"] = names[roles.color]
    if roles.id is not None:
        changes |= {"ids": as_ids(columns(roles.id)), "id_name": names[roles.id]}
    if roles.features != tuple(range(len(table.feature_names))):
        chosen = list(roles.features)
        changes |= {"X": table.X[:, chosen], "feature_names": tuple(names[i] for i in chosen), "image_shape": None}
    return replace(table, **changes)


def shaped(file: File, table: Table, choices: ReadOptions, *, is_column_major: bool = False) -> Table:
    """The table with its rows as upright images of the size that the user gave, if one was given."""
    if choices.image_size is None or table.image_shape is not None:
        return table
    width, height = choices.image_size
    n_samples, n_features = table.X.shape
    if n_features not in (width * height, 3 * width * height):
        rule = f"must have {width * height} features, or 3 times as many, for images of {width} x {height}"
        msg = f"{rule}, got {n_features}.{_sizes(n_features)}"
        raise file.error(msg)
    X: Any = table.X
    X = X.toarray() if issparse(X) else X
    n_channels = n_features // (width * height)
    if is_column_major:
        # MATLAB counts rows fastest, then columns, then colors.
        X = X.reshape(n_samples, n_channels, width, height).transpose(0, 3, 2, 1).reshape(n_samples, -1)
    X, scale, notices = unit_pixels(X, choices.pixel_scale)
    shape = (height, width) if n_channels == 1 else (height, width, 3)
    return replace(table, X=X, image_shape=shape, pixel_scale=scale, notices=(*table.notices, *notices))


def _sizes(n_features: int) -> str:
    """The most nearly square sizes that would fit, as a remedy."""
    sides = [i for i in range(1, int(n_features**0.5) + 1) if n_features % i == 0][-1:]
    words = [f"{side} x {n_features // side}" for side in sides if side > 1]
    return f" Try --image-size {words[0].replace(' ', '')}, width first." if words else " Leave --image-size out."


def unit_pixels(X: NDArray[Any], scale: float | None = None) -> tuple[NDArray[Any], float, tuple[str, ...]]:
    """Pixels, what they were divided by, and a notice of it: by `scale`, else by 255 where they are 8-bit pixels."""
    if scale is None:
        # Darker ones than that are of another scale, such as 0 to 16, and stay as they are.
        scale = WHITE if X.size and X.min() >= 0 and WHITE / 2 < X.max() <= WHITE else 1.0
        return (X, scale, ()) if scale == 1 else (X / scale, scale, ("Pixels from 0 to 255 are divided by 255.",))
    if scale == 1:
        return X, scale, ()
    return X / scale, scale, (f"Pixels are divided by {scale:g}, as those of the model were.",)
