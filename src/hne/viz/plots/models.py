"""A fitted model, an embedding or an array -> its coordinates, NaN where a sample has none; and what else is drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from hne.core.pieces.bridges import find_bridges
from hne.core.records import BoolArray, Embedding, FloatArray, IndexArray, SparseMatrix
from hne.core.samples.tables import check_matrix
from hne.exceptions import InputError, InputTypeError, quoted


def coordinates(model: Any, name: str = "model") -> FloatArray:
    """Return the coordinates (n, d) of a fitted model, an Embedding or an array; rows of NaN stay.

    Of an HNE and of an Embedding, those in the lengths of X: a chart, or rescaled ones.
    """
    Y = _embedding(model, name)
    given = np.asarray(Y)
    if given.dtype.kind != "f" or given.ndim != 2 or not given.size:
        given = check_matrix(Y, name)
    is_lost = np.isnan(given).all(axis=1)
    if is_lost.all():
        msg = f"{name} must have samples with coordinates, got {given.shape[0]} without any. Pass at least one."
        raise InputError(msg)
    checked = check_matrix(np.where(is_lost[:, None], 0.0, given), name)
    return np.where(is_lost[:, None], np.nan, checked)


def _embedding(model: Any, name: str) -> Any:
    if isinstance(model, Embedding):
        return model.rescaled_Y
    if hasattr(model, "rescaled_embedding_"):
        return model.rescaled_embedding_
    if hasattr(model, "embedding_"):
        return model.embedding_
    if isinstance(model, BaseEstimator):
        kind = type(model).__name__
        msg = f"{name} must be fitted or an array, got {kind} without coordinates. Call fit, or pass what it made of X."
        raise InputError(msg)
    return model


def is_rescaled(model: Any) -> bool:
    """Whether the coordinates of the model have the lengths of X."""
    return isinstance(model, Embedding) or hasattr(model, "rescaled_embedding_")


def kind_of(model: Any) -> str:
    """What the coordinates of a model that have the lengths of X are called: "chart" or "rescaled" ones."""
    return walk_of(model, "coordinates").kind


def axis_name(model: Any, column: int) -> str:
    """What an axis shows."""
    return (
        f"{kind_of(model)} coordinate {column + 1} (units of X)" if is_rescaled(model) else f"coordinate {column + 1}"
    )


def has_place(points: FloatArray) -> BoolArray:
    """Whether each row is finite, (n,)."""
    placed: BoolArray = np.asarray(np.isfinite(points).all(axis=1))
    return placed


def walk_of(model: Any, purpose: str) -> Embedding:
    """Return the walk behind a fitted HNE, or an Embedding as it is."""
    result = model if isinstance(model, Embedding) else getattr(model, "_fitted", None)
    if not isinstance(result, Embedding):
        kind = type(model).__name__
        msg = f"model must be a fitted HNE or what embed() gave for {purpose}, got {kind}. Pass HNE(...).fit(X)."
        raise InputTypeError(msg)
    return result


def piece_labels(model: Any) -> IndexArray | None:
    """Return the piece of each sample, 0 the largest, where there are several."""
    if isinstance(model, Embedding):
        return model.pieces.labels if model.pieces.count > 1 else None
    return model.piece_labels_ if getattr(model, "n_pieces_", 1) > 1 else None


def layers(model: Any, purpose: str = "links") -> tuple[SparseMatrix, SparseMatrix]:
    """Return the weights of the inner and of the joint layer, (n, n) each."""
    if isinstance(model, Embedding):
        return model.weights.W, model.weights.J
    if not hasattr(model, "inner_weights_"):
        kind = type(model).__name__
        msg = f"model must be a fitted HNE or LinearHNE to have {purpose}, got {kind}. Pass HNE(...).fit(X)."
        raise InputTypeError(msg)
    return model.inner_weights_, model.joint_weights_


def inner_links(W: SparseMatrix) -> IndexArray:
    """Pairs (smaller, larger) of samples of which one is a neighbor of the other, each once, (m, 2)."""
    rows, columns = W.nonzero()
    pairs = np.sort(np.column_stack([rows, columns]), axis=1)
    return np.unique(pairs, axis=0).astype(np.intp, copy=False)


def thin_links_of(model: Any) -> IndexArray:
    """Pairs of samples whose link alone holds two parts together; none of a model that does not know them."""
    if isinstance(model, Embedding):
        return model.distinct.index[find_bridges(model.core.graph).pairs]
    return getattr(model, "bridges_", np.empty((0, 2), dtype=np.intp))


def short_circuits_of(model: Any) -> tuple[IndexArray, str]:
    """Pairs of samples whose edge leads across a gap, and what became of them in a word; none where nobody looked."""
    if not is_rescaled(model):
        return np.empty((0, 2), dtype=np.intp), ""
    result = walk_of(model, "links")
    return result.short_circuits, "cut" if result.is_cut else "suspected"


def check_components(components: Sequence[int], d: int) -> tuple[int, int]:
    """Return the two columns to draw, of d that there are."""
    try:
        first, second = (int(column) for column in components)
    except (TypeError, ValueError):
        first = second = -1
    if not (0 <= first < d and 0 <= second < d):
        got = quoted(components)
        msg = f"components must be two of the {d} coordinates, counted from 0, got {got}. Try components=(0, 1)."
        raise InputError(msg)
    return first, second
