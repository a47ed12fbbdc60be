"""Every method under one call: an embedding, or the reason why there is none; or the weights that rebuild samples."""

import warnings
from dataclasses import dataclass
from typing import Any

from hne import PUBLISHED, embed
from hne.baselines import BASELINES, baseline_embedding
from hne.core.records import FloatArray, SparseMatrix
from hne.exceptions import HNEError
from hne_paper.baselines import METHODS, published_embedding

VARIANTS = ("IHNE", "RHNE", "BHNE")
# The methods of the paper, which its claims are about.
ALL = ("LLE", "MLLE", "HLLE", "LTSA", "CLLE", "LLC", *VARIANTS)
# Shown beside them and counted in no claim: `HNE(coordinates="chart")`, which cuts short circuits first.
CHART = "HNE chart"
ALL_AND_CHART = (*ALL, CHART)
# The default k of a chart.
OWN = None

# The two choices of the ridge that are measured everywhere: the published method's, for all methods that have one, and
# what the authors' program uses for pictures (ALGORITHM section 4: BHNE's outer layer has its own).
DEFAULT, AUTHORS = "default", "authors"
REG = {DEFAULT: 1e-4, AUTHORS: 1e-5}
AUTHORS_OUTER_REG = {"BHNE": 1e-6}
REG_WORDS = {DEFAULT: "reg = 1e-4, that of hne.PUBLISHED", AUTHORS: "reg = 1e-5, as in the authors' program"}
# ALGORITHM section 4: reg and outer_reg of each method in the tables. MLLE's are LLE's weights with a larger ridge.
REBUILDERS: dict[str, tuple[float, float | None]] = {
    "LLE": (1e-5, None),
    "MLLE": (1e-3, None),
    "IHNE": (1e-4, 1e-4),
    "RHNE": (1e-4, 1e-4),
    "BHNE": (1e-5, 1e-6),
}
ONE_LAYER = ("LLE", "MLLE")


@dataclass(frozen=True)
class Attempt:
    """What came of one method on one data set."""

    Y: FloatArray | None
    failure: str = ""


def attempt(method: str, X: FloatArray, n_neighbors: int | None, n_components: int = 2, reg: str = DEFAULT) -> Attempt:
    """Embed X by the method, on one thread; pieces and other warnings are what the method makes of them."""
    settings: dict[str, Any] = {"n_neighbors": n_neighbors, "n_components": n_components, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if method == CHART:
                return Attempt(embed(X, coordinates="chart", **settings).Y)
            settings["reg"] = REG[reg]
            if method in VARIANTS:
                outer_reg = AUTHORS_OUTER_REG.get(method) if reg == AUTHORS else None
                settings |= {"variant": method.lower(), "outer_reg": outer_reg}
                return Attempt(embed(X, **{**PUBLISHED, **settings}).Y)
            embedding = published_embedding if method.lower() in METHODS else baseline_embedding
            return Attempt(embedding(method.lower(), X, **settings))
        except HNEError as error:
            return Attempt(None, str(error))


def has_reg(method: str) -> bool:
    """Whether the method's weights have a ridge that can be chosen; a chart chooses its own."""
    name = method.lower()
    return method in VARIANTS or name in METHODS or (method != CHART and BASELINES[name].uses_reg)


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
