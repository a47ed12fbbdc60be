"""What others wrote -> the words of it that a message quotes: no more than people read."""

from typing import Any

# Characters of a quoted value and of a whole message: a line and a half, and what fits on a screen.
MOST_QUOTED, MOST_SAID = 120, 1500


def quoted(value: Any) -> str:
    """The value as Python writes it, without the middle of a long one.

    >>> quoted("points"), len(quoted("x" * 10**6))
    ("'points'", 120)
    """
    return shortened(repr(value))


def shortened(text: str, most: int = MOST_QUOTED) -> str:
    """The text, without the middle of a long one.

    >>> shortened("n_neighbors", 9)
    'n_ ... rs'
    """
    if len(text) <= most:
        return text
    kept = (most - len(" ... ")) / 2
    return f"{text[: int(kept + 0.5)]} ... {text[len(text) - int(kept) :]}"
