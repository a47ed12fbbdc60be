"""The methods of the paper's comparisons that `hne.baselines` has not: CLLE and LLC."""

from typing import Any

from numpy.typing import ArrayLike

from hne.baselines.methods import check_common, check_unique
from hne.core.parameters import check_choice
from hne.core.records import FloatArray
from hne_paper.baselines import clle, llc
from hne_paper.baselines.clle import CLLE
from hne_paper.baselines.llc import LLC

__all__ = ["CLLE", "LLC", "METHODS", "published_embedding"]

METHODS = ("clle", "llc")


def published_embedding(
    method: str,
    X: ArrayLike,
    *,
    n_neighbors: int = 5,
    n_components: int = 2,
    reg: float = 1e-3,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> FloatArray:
    """Embed the samples of X by "clle" or "llc", as `hne.baselines.baseline_embedding` does by others.

    Copies of a sample count once. A BaselineError says why coordinates are none; warnings come after all errors.
    """
    check_choice("method", method, METHODS)
    common = {"n_components": n_components, "reg": reg, "random_state": random_state, "n_jobs": n_jobs}
    settings = check_common({"n_neighbors": n_neighbors, **common})
    distinct, _, inside = check_unique(X, settings)
    if method == "clle":
        halves, pairs = clle.clle(inside, settings)
        Y = clle.METHOD.check_answer(pairs.vectors, halves.pieces, settings)
        clle.warn_of_clle(halves, pairs, settings)
    else:
        layout = llc.llc(inside, settings)
        Y = llc.METHOD.check_answer(layout.Y, layout.pieces, settings)
        llc.warn_of_llc(layout, settings)
    return Y[distinct.inverse]
