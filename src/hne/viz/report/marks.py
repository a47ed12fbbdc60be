"""Level of trust -> its mark, an inline SVG, and its word: told by shape and by word, not by color alone."""

# What is drawn in a square of 24: the shape, and the sign on it.
SHAPES = {
    "good": ("M12 1a11 11 0 1 0 0 22a11 11 0 1 0 0-22z", "M6.8 12.6l3.6 3.6 6.8-7.8"),
    "doubtful": ("M12 1.6 23.3 21.9H.7z", "M12 8.6v6.4M12 18.2v.1"),
    "bad": ("M7.4 1h9.2L23 7.4v9.2L16.6 23H7.4L1 16.6V7.4z", "M8.1 8.1l7.8 7.8M15.9 8.1l-7.8 7.8"),
    "unknown": ("M12 .8 23.2 12 12 23.2.8 12z", "M9.5 9.7a2.6 2.6 0 1 1 3.9 2.3c-.9.5-1.4 1-1.4 1.9M12 16.9v.1"),
}
# A circle with an i, for what is only to be known.
NOTE = (SHAPES["good"][0], "M12 11.2v6M12 6.9v.1")
WORDS = {"good": "Good.", "doubtful": "Doubtful.", "bad": "Bad.", "unknown": "Not known."}


def mark_svg(level: str) -> str:
    """The mark of a level, or for others that of a note; `.mark-shape` and `.mark-sign` are left to be colored."""
    shape, sign = SHAPES.get(level, NOTE)
    return (
        f'<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><path class="mark-shape" d="{shape}"/>'
        f'<path class="mark-sign" d="{sign}" fill="none" stroke-width="2.6" stroke-linecap="round" '
        'stroke-linejoin="round"/></svg>'
    )
