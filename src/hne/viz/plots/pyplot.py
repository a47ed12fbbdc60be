"""matplotlib, which is an extra: asked for when something is drawn, and missed in one message."""

from types import ModuleType
from typing import Any

from hne.exceptions import InputTypeError, MissingExtraError


def pyplot() -> ModuleType:
    """Import matplotlib's pyplot, or say what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        msg = "pictures need matplotlib, got none installed. Run: pip install matplotlib."
        raise MissingExtraError(msg) from error
    return plt


def check_axes(axes: Any, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """Return the axes to draw on: those given, or of a new figure."""
    if axes is None:
        return pyplot().subplots(figsize=size, layout="constrained")[1]
    if not hasattr(axes, "add_collection"):
        msg = (
            f"axes must be one Axes of matplotlib or None, got {type(axes).__name__}. "
            "Pass one of those that plt.subplots() gave."
        )
        raise InputTypeError(msg)
    return axes
