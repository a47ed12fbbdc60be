"""Errors of many seeds -> medians, quartiles, shares, and how they are written.

A method that failed on a seed has an infinite error there: worse than any that gave an answer.
"""

from collections.abc import Iterable, Sequence
from math import inf, isinf

import numpy as np

from hne._types import FloatArray


def quartiles(errors: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile; of an even number the lower of two middles, so that inf stays."""
    low, middle, high = np.quantile(np.asarray(errors), [0.25, 0.5, 0.75], method="lower")
    return float(low), float(middle), float(high)


def median(errors: Sequence[float]) -> float:
    """The middle one, as in `quartiles`."""
    return quartiles(errors)[1]


def is_failed(errors: Iterable[float]) -> bool:
    """Whether the method failed on every seed."""
    return all(isinf(error) for error in errors)


def wins(ours: Sequence[float], theirs: Sequence[float]) -> int:
    """Number of seeds on which ours is below theirs."""
    pairs: FloatArray = np.column_stack([ours, theirs])
    return int((pairs[:, 0] < pairs[:, 1]).sum())


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
