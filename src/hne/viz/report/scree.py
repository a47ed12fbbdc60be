"""Eigenvalues -> a picture on a logarithmic scale, and their gap in words."""

import math
from collections.abc import Sequence

from hne.core.records import Embedding

WIDTH, HEIGHT = 560, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 38
# Eigenvalues at or below rounding are drawn at this share of the least that is above it.
FLOOR = 0.1


def eigenvalues_of(result: Embedding, scree: Sequence[float]) -> tuple[list[float], int]:
    """Eigenvalues after the constant one, ascending, and how many of them are coordinates, or make a chart."""
    pairs, d = result.eigenpairs, result.settings.n_components
    if pairs is None:
        return [], 0
    if len(scree):
        return [float(value) for value in scree], min(d, len(scree))
    known = [*map(float, pairs.values), float(pairs.next_value)]
    return [value for value in known if math.isfinite(value)], d


def gap_in_words(values: Sequence[float], used: int, charted: int = 0) -> str:
    """What the gap behind the last eigenvalue in use says; `charted`, of how many eigenvectors a chart is made.

    >>> gap_in_words([1e-6, 2e-6, 8e-6], 2)[:82]
    'Eigenvalue 2, the last one used, is 2.0e-06 and the next 8.0e-06: 4.0 times as lar'
    """
    if not values:
        return "No eigenvalues: the largest piece is too small for them."
    if len(values) <= used:
        return "All eigenvalues there are have been used, so there is no gap to look at."
    last, following = values[used - 1], values[used]
    which = f"Eigenvalue {used}" if charted else f"Eigenvalue {used}, the last one used,"
    if last <= 0:
        return f"{which} is zero to rounding, and the next {following:.1e}."
    ratio = following / last
    told = f"{ratio:.1f}" if ratio < 1e4 else f"{ratio:.0e}"
    return (
        f"{which} is {last:.1e} and the next {following:.1e}: {told} times as large. An eigenvalue is what a "
        "coordinate costs: how far samples are from where their neighbors would have them. "
        + (CHARTED.format(used=used, charted=charted) if charted else READ_GAP)
    )


READ_GAP = (
    "Far above 1, the ratio says that the coordinates shown stand apart and that small changes of the data leave them "
    "as they are; near 1, that the next coordinate describes the data about as well as the last one shown, and that "
    "the two may mix or trade places."
)
CHARTED = (
    "The chart is made of the first {charted} eigenvectors: what lies among them is found by lengths, wherever it is. "
    "Far above 1, the ratio says that the first {used} would do; near 1, that they would not stand apart without the "
    "others."
)


def scree_svg(values: Sequence[float], used: int, charted: int = 0) -> str:
    """Inline SVG: a dot for each eigenvalue, filled for the first ones in use, the gap marked between them."""
    positive = [value for value in values if value > 0 and math.isfinite(value)]
    if not positive:
        return ""
    floor = FLOOR * min(positive)
    heights = [math.log10(max(value, floor)) for value in values]
    low, high = math.floor(min(heights)), math.ceil(max(heights))
    high = max(high, low + 1)
    step = (WIDTH - LEFT - RIGHT) / len(values)
    places = [
        (LEFT + (number + 0.5) * step, TOP + (high - height) / (high - low) * (HEIGHT - TOP - BOTTOM))
        for number, height in enumerate(heights)
    ]
    sides = (f"first {used}", "others") if charted else ("used", "not used")
    parts = [_grid(low, high), _gap(places, used, sides)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{path}" class="scree-line"/>')
    for number, (x, y) in enumerate(places):
        kind = "scree-used" if number < used else "scree-next"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{kind}"><title>eigenvalue {number + 1}: '
            f"{values[number]:.2e}</title></circle>"
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{number + 1}</text>'
        )
    told = f"a chart is made of the first {charted}" if charted else f"the first {used} are used"
    label = f"Eigenvalues 1 to {len(values)} on a logarithmic scale; {told}."
    axis = f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">eigenvalue number</text>'
    body = "".join([*parts, axis])
    return f'<svg class="scree" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{body}</svg>'


def _grid(low: int, high: int) -> str:
    """A line for each power of ten, every second or third where there are many."""
    parts = []
    for power in range(low, high + 1, max(1, (high - low) // 5)):
        y = TOP + (high - power) / (high - low) * (HEIGHT - TOP - BOTTOM)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="scree-grid"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>'
        )
    return "".join(parts)


def _gap(places: Sequence[tuple[float, float]], used: int, sides: tuple[str, str]) -> str:
    if not 0 < used < len(places):
        return ""
    x = (places[used - 1][0] + places[used][0]) / 2
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" class="scree-gap"/>'
        f'<text x="{x - 6:.1f}" y="{TOP + 10}" text-anchor="end">{sides[0]}</text>'
        f'<text x="{x + 6:.1f}" y="{TOP + 10}">{sides[1]}</text>'
    )
