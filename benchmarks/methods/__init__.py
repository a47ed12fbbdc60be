"""The methods, one file each: `NAME`, and `embed(X, n_neighbors, n_components, reg)` that returns Y.

`embed` imports its library itself, so that a run loads one library alone. `reg` is the ridge of the local weights; a
method without one, or with a fixed one, does not use it. A method of hne takes further settings by name and returns
its whole record, which has `Y`. A method that compiles what it needs by size also has `warm_up(n_samples)`, and one
whose first fit is measured names the `LIBRARY` that is imported before.
"""

import importlib
from types import ModuleType

HNE = ("ihne", "rhne", "bhne")  # as published; `hne_alone` is HNE() told nothing
BASELINES = (
    "lle",
    "mlle",
    "ltsa",
    "hlle",
    "isomap",
    "spectral",
    "tapkee_lle",
    "tapkee_lle_vptree",
    "umap_learn",
    "phate_learn",
    "pacmap_learn",
    "opentsne_learn",
    "tsne_learn",
)
FLOORS = ("pca", "random")
METHODS = ("hne_alone", *HNE, *BASELINES, *FLOORS)


def load_method(name: str) -> ModuleType:
    """The module of a method."""
    return importlib.import_module(f"methods.{name}")
