"""A group of samples -> what sets it apart: columns that differ, edges that leave it, samples rebuilt worst."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.stats import rankdata

from hne.core.records import BoolArray, Embedding, FloatArray, IndexArray
from hne.explorer.messages import Message
from hne.viz.report.details import encode_column, shorten
from hne.viz.report.pictures import brightness_range

# Columns that are listed; of thousands, those whose means differ the most are looked at closely.
LISTED, LOOKED_AT = 12, 60
# Samples of the group that are rebuilt worst.
WORST = 6
MAX_NAME = 60


@dataclass(frozen=True)
class Difference:
    """How a column differs between a group and all others."""

    name: str
    text: str  # a sentence
    inside: float
    outside: float
    effect: float  # from 0, no difference, to 1, none of the group is like any other


def differences(
    X: Any, names: Sequence[str], labels: Mapping[str, NDArray[Any]], inside: BoolArray
) -> list[Difference]:
    """The columns that tell a group from all others best, features and labels, the best first.

    Numbers by how much oftener a sample of the group has the larger value than another has (Somers' D, twice the area
    under the ROC curve less one); categories by the share of samples that would have to change theirs.

    Examples
    --------
    >>> X = np.column_stack([np.arange(6.0), [0, 1, 0, 1, 0, 1]])
    >>> found = differences(X, ["order", "noise"], {}, np.arange(6) >= 3)
    >>> found[0].name, found[0].effect
    ('order', 1.0)
    """
    if inside.all():
        return []
    found = [_of_numbers(names[column], _column(X, column), inside) for column in _candidates(X, inside)]
    for name, values in labels.items():
        column = encode_column(name, np.asarray(values))
        if column is None:
            continue
        if column.categories is None:
            found.append(_of_numbers(name, column.values.astype(np.float64), inside))
        elif len(column.categories) <= len(inside) / 2:
            found.append(_of_categories(name, column.values, column.categories, inside))
    known = [one for one in found if one is not None and one.effect > 0]
    return sorted(known, key=lambda one: -one.effect)[:LISTED]


def _column(X: Any, column: int) -> FloatArray:
    values: Any = X[:, [column]]
    values = values.toarray() if issparse(values) else values
    return np.asarray(values[:, 0], dtype=np.float64)


def _candidates(X: Any, inside: BoolArray) -> IndexArray:
    """Columns whose means differ the most, in their standard deviations."""
    if X.shape[1] <= LOOKED_AT:
        return np.arange(X.shape[1])
    here, there = (_moments(X[np.flatnonzero(which)]) for which in (inside, ~inside))
    spread = np.sqrt(here[1] + there[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(here[0] - there[0]) / spread
    return np.argsort(-np.nan_to_num(apart, nan=0.0, posinf=np.inf), kind="stable")[:LOOKED_AT]


def _moments(X: Any) -> tuple[FloatArray, FloatArray]:
    """Means and variances of columns."""
    if issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        return mean, np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0)
    # Gaps have no say.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.nanmean(X, axis=0), np.nanvar(X, axis=0)


def _of_numbers(name: str, values: FloatArray, inside: BoolArray) -> Difference | None:
    known = np.isfinite(values)
    here, n = known & inside, int(known.sum())
    n_here = int(here.sum())
    if not 0 < n_here < n:
        return None
    ranks = rankdata(values[known])
    # Mann and Whitney's count of pairs in which the group's value is the larger.
    larger = float(ranks[inside[known]].sum()) - n_here * (n_here + 1) / 2
    effect = 2 * larger / (n_here * (n - n_here)) - 1
    there, side = known & ~inside, "higher" if effect > 0 else "lower"
    # Medians are what people know, unless they tie or lie on the other side; then the mean ranks say it.
    middle, of = (float(np.median(values[here])), float(np.median(values[there]))), "median"
    if (middle[0] - middle[1]) * effect <= 0:
        middle, of = (float(ranks[inside[known]].mean()), float(ranks[~inside[known]].mean())), "mean rank"
    text = f"{shorten(name, MAX_NAME)} is {side}: {of} {middle[0]:.4g} inside, {middle[1]:.4g} outside"
    return Difference(name, text, *middle, abs(effect))


def _of_categories(name: str, codes: NDArray[Any], categories: Sequence[str], inside: BoolArray) -> Difference | None:
    known = codes < len(categories)
    if not (known & inside).any() or not (known & ~inside).any():
        return None
    here, there = (
        np.bincount(codes[known & which], minlength=len(categories)) / max(1, int((known & which).sum()))
        for which in (inside, ~inside)
    )
    most = int(np.argmax(here - there))
    category = shorten(categories[most], MAX_NAME)
    text = f"{shorten(name, MAX_NAME)} is {category!r} for {here[most]:.0%} inside, {there[most]:.0%} outside"
    return Difference(name, text, float(here[most]), float(there[most]), float(np.abs(here - there).sum() / 2))


def edges_text(result: Embedding, inside: BoolArray) -> str:
    """How far the group hangs together, and with the others, in the neighbor graph."""
    indices = result.graph.indices[inside]
    listed = indices >= 0
    if not listed.any():
        return "None of these samples has a neighbor."
    stays = float(inside[indices[listed]].mean())
    by_chance = (int(inside.sum()) - 1) / max(1, len(inside) - 1)
    pieces = np.unique(result.pieces.labels[inside])
    where = f" They lie in {len(pieces)} pieces." if len(pieces) > 1 else ""
    return f"{stays:.0%} of their neighbors are in the group; by chance it would be {by_chance:.0%}.{where}"


def rebuilt_worst(result: Embedding, inside: BoolArray) -> tuple[IndexArray, str]:
    """Samples of the group with the largest reconstruction errors, and how large these are in the group."""
    errors, members = result.reconstruction_errors, np.flatnonzero(inside)
    members = members[np.isfinite(errors[members])]
    others = errors[~inside][np.isfinite(errors[~inside])]
    if not len(members) or not len(others):
        return members[:0], ""
    worst = members[np.argsort(-errors[members], kind="stable")[:WORST]]
    here, there = float(np.median(errors[members])), float(np.median(others))
    return worst, f"Rebuilt by their neighbors they are off by {here:.3g} in the median, others by {there:.3g}."


def mean_images(images: NDArray[Any], inside: BoolArray, message: Message) -> dict[str, Any]:
    """The mean picture of the group and that of all others, as bytes of RGBA beside a message."""
    low, high = brightness_range(images)
    facts: dict[str, Any] = {"width": int(images.shape[2]), "height": int(images.shape[1])}
    for name, which in (("inside", inside), ("outside", ~inside)):
        share = np.clip((np.nanmean(images[which], axis=0, dtype=np.float64) - low) / (high - low), 0, 1)
        pixels = np.full((*share.shape[:2], 4), 255, dtype=np.uint8)
        pixels[..., :3] = np.rint(255 * (share if share.ndim == 3 else share[..., None]))
        facts[name] = message.put(pixels.ravel())
    return facts
