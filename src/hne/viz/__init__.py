"""What a person looks at: plots by matplotlib, and reports of one HTML file; names are imported when first used."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hne.viz.plots import compare, neighbor_links, reconstruction, scatter, scatter_images, scree
    from hne.viz.report import write_report, write_tuning_report

__all__ = [
    "compare",
    "neighbor_links",
    "reconstruction",
    "scatter",
    "scatter_images",
    "scree",
    "write_report",
    "write_tuning_report",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = "hne.viz.report" if name.startswith("write_") else "hne.viz.plots"
        return getattr(importlib.import_module(home), name)
    msg = f"module 'hne.viz' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
