"""Real data with a known truth, a quantity or classes.

DEVELOPMENT is what rules may be made with. FINAL is for the end: no rule has seen it, and until RULES_ARE_FIXED says so
hne is not measured on it. Once it has been looked at, its sets are for development, and others are found for the end.
"""

import sys
from collections.abc import Iterable, Iterator

from hne.core.records import FloatArray
from pictures import Truth
from real_files import AbsentError
from real_final import FINAL
from real_images import IMAGES
from real_sets import RealSet
from real_signals import SIGNALS
from real_tables import TABLES

DEVELOPMENT = (*IMAGES, *SIGNALS, *TABLES)
RULES_ARE_FIXED = True


def development_sets() -> Iterator[tuple[str, FloatArray, Truth, str]]:
    """Name, X, truth and kind of the sets that rules may be made with; those that are not here are told of."""
    yield from _present(DEVELOPMENT)


def final_sets() -> Iterator[tuple[str, FloatArray, Truth, str]]:
    """Name, X, truth and kind of the sets that are for the end."""
    yield from _present(FINAL)


def _present(sets: Iterable[RealSet]) -> Iterator[tuple[str, FloatArray, Truth, str]]:
    for one in sets:
        try:
            X, truth = one.load()
        except AbsentError as reason:
            print(f"  {one.name} is left out: {reason}", file=sys.stderr)
            continue
        yield one.name, X, truth, one.kind
