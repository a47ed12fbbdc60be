"""Embedding, what is known of its samples -> Details: which columns a page gets, and which one colors it."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import Embedding
from hne.core.spectrum import scree
from hne.viz.report.columns import MAX_COLUMNS
from hne.viz.report.details import Details, check_color


def details_of(
    result: Embedding,
    *,
    X: Any = None,
    features: Any = None,
    feature_names: Sequence[str] | None = None,
    labels: Mapping[str, Any] | None = None,
    ids: Sequence[Any] | None = None,
    color: Any = None,
    images: Any = None,
    **others: Any,
) -> Details:
    """Details of an embedding from whatever is known of its samples.

    Columns are the labels, then the features, as long as all together are no more than a page shows. Beyond, and where
    they are sparse or the pixels of the images, only the feature to color by is there.

    Parameters
    ----------
    result : Embedding
        What the page is of.
    X : array-like of shape (n_samples, n_features), default=None
        The samples to measure against; None takes those of the embedding.
    features : array-like or sparse of shape (n_samples, n_features), default=None
        Columns to show, in units that a reader knows; None shows none.
    feature_names : sequence of str, default=None
        Their names; None calls them x1, x2 and so on.
    labels : mapping of str to array-like of shape (n_samples,), default=None
        Columns that were not embedded. They come first; a feature of the same name gets another.
    ids : sequence, default=None
        Names of the samples; None takes the numbers of their rows.
    color : str or array-like of shape (n_samples,), default=None
        What to color by at first: the name of a label or a feature, or values of its own. None leaves it to the page.
    images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3), default=None
        Pictures of the samples.
    **others
        Further fields of `Details`.

    Examples
    --------
    >>> from hne import embed
    >>> X = np.random.default_rng(0).random((30, 2))
    >>> details = details_of(embed(X), features=X, labels={"kind": ["a", "b"] * 15}, color=range(30))
    >>> list(details.columns), details.color
    (['color', 'kind', 'x1', 'x2'], 'color')
    """
    columns = {str(name): np.asarray(values) for name, values in (labels or {}).items()}
    numbered = {} if features is None else _free_names(feature_names, features.shape[1], columns)
    if isinstance(color, str):
        check_color(color, [*columns, *numbered])
    left_out = list(others.pop("left_out", ()))
    why = "" if features is None else _why_left_out(features, images, len(columns))
    if not why:
        columns |= {name: features[:, number] for name, number in numbered.items()}
    else:
        left_out.append(f"The {len(numbered)} features as columns: {why}.")
    if isinstance(color, str) and color not in columns:
        columns[color] = _dense(features[:, [numbered[color]]])
    elif color is not None and not isinstance(color, str):
        name = free_name("color", columns)
        columns, color = {name: np.asarray(color), **columns}, name
    return Details(
        X=X,
        ids=None if ids is None else [str(one) for one in ids],
        columns=columns,
        color=color,
        images=None if images is None else np.asarray(images),
        scree=scree(result).values.tolist(),
        left_out=left_out,
        **others,
    )


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, numbered where it is taken.

    >>> free_name("color", {"color": 1, "color 2": 2})
    'color 3'
    """
    names = (name if number == 1 else f"{name} {number}" for number in range(1, len(taken) + 2))
    return next(one for one in names if one not in taken)


def _free_names(names: Sequence[str] | None, count: int, taken: Collection[str]) -> dict[str, int]:
    """Number of each feature by its name."""
    numbered: dict[str, int] = {}
    for number, name in enumerate([f"x{one}" for one in range(1, count + 1)] if names is None else names):
        is_free = name not in taken and name not in numbered
        numbered[str(name) if is_free else free_name(str(name), {*taken, *numbered})] = number
    return numbered


def _why_left_out(features: Any, images: Any, n_labels: int) -> str:
    """Why features are no columns of the page; empty where they are."""
    if images is not None and features.shape[1] == math.prod(np.shape(images)[1:]):
        return "they are the pixels of the images"
    if hasattr(features, "tocsr"):
        return "they are sparse"
    return f"a page has at most {MAX_COLUMNS}" if n_labels + features.shape[1] > MAX_COLUMNS else ""


def _dense(column: Any) -> NDArray[Any]:
    values: NDArray[Any] = (column.toarray() if hasattr(column, "toarray") else column)[:, 0]
    return values
