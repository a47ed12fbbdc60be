"""X -> the weights with which each method rebuilds it, with the constants of the paper's tables."""

import warnings
from typing import Any

from hne import PUBLISHED, embed
from hne._types import FloatArray, SparseMatrix

# ALGORITHM section 4: reg and outer_reg of each method in the tables. MLLE's are LLE's weights with a larger ridge.
REBUILDERS: dict[str, tuple[float, float | None]] = {
    "LLE": (1e-5, None),
    "MLLE": (1e-3, None),
    "IHNE": (1e-4, 1e-4),
    "RHNE": (1e-4, 1e-4),
    "BHNE": (1e-5, 1e-6),
}
ONE_LAYER = ("LLE", "MLLE")


def rebuilding_weights(method: str, X: FloatArray, n_neighbors: int, *, include_self: bool = True) -> SparseMatrix:
    """Weights of the method, a row for each sample: the inner layer for LLE and MLLE, else the joint weights."""
    reg, outer_reg = REBUILDERS[method]
    settings: dict[str, Any] = {
        "n_neighbors": n_neighbors,
        "n_components": 1,
        "variant": "ihne" if method in ONE_LAYER else method.lower(),
        "reg": reg,
        "outer_reg": outer_reg,
        "include_self": include_self,
        "n_jobs": 1,
    }
    with warnings.catch_warnings():
        # Pieces of the neighbor graph change no weights, and the embedding is not looked at.
        warnings.simplefilter("ignore")
        walked = embed(X, **{**PUBLISHED, **settings})
    return walked.weights.W if method in ONE_LAYER else walked.weights.J
