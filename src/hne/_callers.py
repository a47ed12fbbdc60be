"""Who called: warnings point at the line outside the package that asked for the work."""

import sys


def frames_up() -> int:
    """Frames between the warning and the first caller outside the package, whichever door was used."""
    frame, level = sys._getframe(1), 1  # noqa: SLF001
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("hne.", "sklearn.")):
        frame, level = frame.f_back, level + 1
    return level
