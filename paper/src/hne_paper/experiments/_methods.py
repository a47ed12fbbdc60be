"""Every method under one call that never raises: an embedding, or the reason why there is none."""

import warnings
from dataclasses import dataclass
from typing import Any

from hne import PUBLISHED, embed
from hne._types import FloatArray
from hne.exceptions import HNEError
from hne.rivals import RIVALS, rival_embedding

VARIANTS = ("IHNE", "RHNE", "BHNE")
# The methods of the paper, which its claims are about.
ALL = ("LLE", "MLLE", "HLLE", "LTSA", "CLLE", "LLC", *VARIANTS)
# What stands beside them and no claim counts: `HNE()` with its defaults, short circuits cut and a chart drawn.
CHART = "HNE chart"
ALL_AND_CHART = (*ALL, CHART)
# The k of a chart that is told none: it chooses one that suits the samples.
OWN = None

# The two choices of the ridge that are measured everywhere: the published method's, for all methods that have one, and
# what the authors' program uses for pictures (ALGORITHM section 4: BHNE's outer layer has its own).
DEFAULT, AUTHORS = "default", "authors"
REG = {DEFAULT: 1e-4, AUTHORS: 1e-5}
AUTHORS_OUTER_REG = {"BHNE": 1e-6}
REG_WORDS = {DEFAULT: "reg = 1e-4, that of hne.PUBLISHED", AUTHORS: "reg = 1e-5, as in the authors' program"}


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
                return Attempt(embed(X, **settings).Y)
            settings["reg"] = REG[reg]
            if method in VARIANTS:
                outer_reg = AUTHORS_OUTER_REG.get(method) if reg == AUTHORS else None
                settings |= {"variant": method.lower(), "outer_reg": outer_reg}
                return Attempt(embed(X, **{**PUBLISHED, **settings}).Y)
            return Attempt(rival_embedding(method.lower(), X, **settings))
        except HNEError as error:
            return Attempt(None, str(error))


def has_reg(method: str) -> bool:
    """Whether the method's weights have a ridge that can be chosen; a chart chooses its own."""
    return method in VARIANTS or (method != CHART and RIVALS[method.lower()].uses_reg)
