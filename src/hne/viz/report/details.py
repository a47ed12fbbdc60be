"""What is known of the samples -> Details: what a page tells beyond the embedding itself."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hne.core.records import Embedding
from hne.core.trust.assess import assess
from hne.core.trust.record import Assessment
from hne.exceptions import refuse

# Columns that a page carries, coordinates aside.
MAX_COLUMNS = 100


@dataclass(frozen=True, kw_only=True)
class Details:
    """What whoever read the data knows of it; everything may be left out, nothing is trusted to be free of HTML."""

    title: str = "Hierarchic Neighbors Embedding"
    ids: Sequence[str] | None = None  # (n,), names of the samples; None takes the numbers of their rows
    id_name: str = "sample"
    rows: NDArray[Any] | None = None  # (n,), numbers of the rows in what was read, from 1; None counts all from 1
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # (n,) each, numbers or str and None
    color: str | None = None  # of these the one to color by at first
    images: NDArray[Any] | None = None  # (n, height, width) or (n, height, width, 3), uint8, or from 0 to 1 or more
    X: Any = None  # (n, D), dense or sparse, the samples to measure against; None takes those of the embedding
    trust: Assessment | None = None  # how far the embedding can be believed; None takes what it knows itself
    timings: Mapping[str, float] = field(default_factory=dict)  # seconds of each stage
    embedding_warnings: Sequence[str] | None = None  # in the caller's words; None takes those of the embedding
    data_notes: Sequence[str] = ()  # what is worth knowing about the data
    left_out: Sequence[str] = ()  # what the page would have, had it not been too much
    source: str = ""  # what was read, in a line
    command: str = ""  # what makes the same report again

    def trust_in(self, result: Embedding) -> Assessment:
        """How far the embedding can be believed: as known, or, of a loaded model, measured again."""
        trust: Assessment = self.trust or result.trust
        return trust or assess(result.core, result.settings).of_samples(result.distinct.index)


def gather_details(
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
    """Gather what is known of the samples of an embedding.

    Columns are the labels, then the features, as long as all together are no more than a page shows. Beyond, and where
    they are sparse or the pixels of the images, only the feature to color by is there.

    Parameters
    ----------
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
    >>> X = np.random.default_rng(0).random((30, 2))
    >>> details = gather_details(features=X, labels={"kind": ["a", "b"] * 15}, color=range(30))
    >>> list(details.columns), details.color
    (['color', 'kind', 'x1', 'x2'], 'color')
    """
    columns = {str(name): np.asarray(values) for name, values in (labels or {}).items()}
    numbers: dict[str, int] = {}  # of each feature by its name
    if features is not None:
        for number, name in enumerate(feature_names or [f"x{one + 1}" for one in range(features.shape[1])]):
            numbers[free_name(str(name), {*columns, *numbers})] = number
    if isinstance(color, str):
        check_color(color, [*columns, *numbers])
    left_out = list(others.pop("left_out", ()))
    reason = "" if features is None else _why_left_out(features, images, len(columns))
    if reason:
        left_out.append(f"The {len(numbers)} features as columns: {reason}.")
    else:
        columns |= {name: features[:, number] for name, number in numbers.items()}
    if isinstance(color, str) and color not in columns:
        values = features[:, [numbers[color]]]
        columns[color] = (values.toarray() if hasattr(values, "toarray") else values)[:, 0]
    elif color is not None and not isinstance(color, str):
        name = free_name("color", columns)
        columns, color = {name: np.asarray(color), **columns}, name
    return Details(
        X=X,
        ids=None if ids is None else [str(one) for one in ids],
        columns=columns,
        color=color,
        images=None if images is None else np.asarray(images),
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


def _why_left_out(features: Any, images: Any, n_labels: int) -> str:
    """Why features are no columns of the page; empty where they are."""
    if images is not None and features.shape[1] == math.prod(np.shape(images)[1:]):
        return "they are the pixels of the images"
    if hasattr(features, "tocsr"):
        return "they are sparse"
    return f"a page has at most {MAX_COLUMNS}" if n_labels + features.shape[1] > MAX_COLUMNS else ""


def check_details(details: Details, n: int) -> Details:
    """Return the details, whose parts have a value for each sample, or raise."""
    columns = [(f"columns[{name!r:.60}]", values) for name, values in details.columns.items()]
    for name, values in [("ids", details.ids), ("rows", details.rows), ("images", details.images), *columns]:
        if values is not None and len(values) != n:
            refuse(name, f"must have one value for each of {n} samples", str(len(values)), "Pass matching rows")
    for name, values in [("rows", details.rows), *columns]:
        if values is not None and np.ndim(values) != 1:
            refuse(name, "must be one-dimensional", f"the shape {np.shape(values)}", "Pass one value for each sample")
    if details.X is not None and details.X.shape[0] != n:
        refuse("X", f"must have a row for each of {n} samples", str(details.X.shape[0]), "Pass what was embedded")
    if details.color is not None:
        check_color(details.color, list(details.columns))
    shape = () if details.images is None else np.shape(details.images)
    if shape and (len(shape) not in {3, 4} or 0 in shape[1:] or shape[3:] not in {(), (3,)}):
        refuse("images", "must be (n, height, width) or (n, height, width, 3)", str(shape), "Reshape them")
    return details


def check_color(name: str, known: Sequence[str]) -> None:
    """Raise for a name to color by that is not among those of the columns."""
    if name not in known:
        names = ", ".join(f"{one!r:.40}" for one in known[:8]) or "none"
        refuse("color", "must be the name of a column", f"{name!r:.60}", f"There are: {names}")
