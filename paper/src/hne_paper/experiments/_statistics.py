"""Errors of many seeds -> medians, quartiles, shares, and how they are written.

A method that failed on a seed has an infinite error there: worse than any that gave an answer.
"""

from collections.abc import Iterable, Sequence
from math import inf, isinf

# Errors that differ by less count as equal: nobody sees it on a picture.
SAME = 0.01


def quartiles(errors: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile, interpolated between neighbors; inf where that takes in a failure.

    >>> quartiles([1, 2, 3, 4])
    (1.75, 2.5, 3.25)
    """
    low, middle, high = (_quantile(sorted(errors), share) for share in (0.25, 0.5, 0.75))
    return low, middle, high


def _quantile(ascending: Sequence[float], share: float) -> float:
    place = share * (len(ascending) - 1)
    below = int(place)
    weight = place - below
    if weight == 0:
        return float(ascending[below])
    # Written out because inf minus inf is not a number to NumPy.
    if ascending[below + 1] == inf:
        return inf
    return float(ascending[below] + weight * (ascending[below + 1] - ascending[below]))


def median(errors: Sequence[float]) -> float:
    """The middle one, as in `quartiles`."""
    return quartiles(errors)[1]


def is_failed(errors: Iterable[float]) -> bool:
    """Whether the method failed on every seed."""
    return all(isinf(error) for error in errors)


def wins(ours: Sequence[float], theirs: Sequence[float]) -> int:
    """Number of seeds on which ours is below theirs by more than what one sees on a picture.

    >>> wins([0.1, 0.1, 0.1], [0.2, 0.105, float("inf")])
    2
    """
    return sum(our + SAME < their for our, their in zip(ours, theirs, strict=True))


def number(value: float) -> str:
    """Two digits that matter, and no zero before the point.

    >>> number(0.0312), number(0.5), number(1.0), number(0.00004), number(float("inf"))
    ('.031', '.50', '1.0', '0', 'failed')
    """
    if value == inf:
        return "failed"
    if value < 0.00005:
        return "0"
    if value >= 0.095:
        return f"{value:.2f}"[1:] if value < 0.995 else f"{value:.1f}"
    if value >= 0.0095:
        return f"{value:.3f}"[1:]
    return f"{value:.4f}"[1:]


def spread(errors: Sequence[float]) -> str:
    """Median and quartiles in a table's cell.

    >>> spread([0.1, 0.2, 0.3, 0.4, 0.5])
    '.30 (.20-.40)'
    """
    if is_failed(errors):
        return "failed"
    low, middle, high = quartiles(errors)
    return f"{number(middle)} ({number(low)}-{number(high)})"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them.

    >>> listed(["LLE"]), listed(["LLE", "LTSA", "LLC"])
    ('LLE', 'LLE, LTSA and LLC')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
