"""Hierarchic Neighbors Embedding: manifold learning for data that is sparse or hangs together by threads.

Names are imported when they are first used, so that `import hne` and `hne --help` answer at once.
"""

import importlib
import logging
from typing import TYPE_CHECKING, Any

#: Version of the package, as text.
__version__ = "0.1.0"

logging.getLogger("hne").addHandler(logging.NullHandler())

if TYPE_CHECKING:
    from hne import baselines, datasets, exceptions, metrics, scale, settings, tuning, viz  # noqa: F401, for checkers
    from hne.core.forecast import forecast
    from hne.core.pipeline import embed
    from hne.estimators.hne import HNE, HierarchicNeighborsEmbedding
    from hne.estimators.linear import LinearHNE
    from hne.explorer.notebook import explore
    from hne.settings import PUBLISHED

_HOMES = {
    "HNE": "hne.estimators.hne",
    "HierarchicNeighborsEmbedding": "hne.estimators.hne",
    "LinearHNE": "hne.estimators.linear",
    "PUBLISHED": "hne.settings",
    "embed": "hne.core.pipeline",
    "explore": "hne.explorer.notebook",
    "forecast": "hne.core.forecast",
}

__all__ = [
    "HNE",
    "PUBLISHED",
    "HierarchicNeighborsEmbedding",
    "LinearHNE",
    "__version__",
    "embed",
    "explore",
    "forecast",
]


_SUBMODULES = ("baselines", "datasets", "exceptions", "metrics", "scale", "settings", "tuning", "viz")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _SUBMODULES:
        return importlib.import_module(f"hne.{name}")
    msg = f"module 'hne' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_SUBMODULES})
