"""The units that the pipeline works in: ordinary data as it is, extreme data moved and scaled into range."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hne.core.records import FloatArray
from hne.core.samples.kinds import Distances, Samples, as_dense, stored_matrix, stored_values
from hne.exceptions import refuse

# Squares of numbers within 2**+-ORDINARY, summed over any number of features, stay normal numbers.
ORDINARY = 300
# In those units, squares of differences up to 2**FARTHEST do not overflow, and of 2**-FARTHEST do not vanish.
FARTHEST = 500
ONE_REACH = "must not mix magnitudes beyond float64's reach"
DROP_DWARFS = "Drop the samples or features that dwarf the others, or rescale them"


@dataclass(frozen=True)
class InputScaling:
    """x -> (x - origin) * scale; the method does not depend on either, and a power of two changes no digit."""

    origin: FloatArray | None = None  # None where data is not moved: ordinary, sparse, or distances
    scale: float = 1.0

    @classmethod
    def fit(cls, X: Samples, *, moved: bool = True) -> "InputScaling":
        """Choose units for these samples; `moved=False` leaves their origin, on which some metrics depend."""
        values: Any = stored_values(X)
        largest = max(abs(float(values.max())), abs(float(values.min()))) if values.size else 0.0
        if is_ordinary(largest):
            return cls()
        if values is not X or not moved:
            units = cls(scale=_unit(largest))
        else:
            half_spread = float((X.max(axis=0) / 2 - X.min(axis=0) / 2).max())
            largest = 2 * half_spread
            # A value in the middle of each column: exact for columns far from zero, and no outlier's.
            units = cls(np.partition(X, len(X) // 2, axis=0)[len(X) // 2], _unit(half_spread))
        with np.errstate(over="ignore"):
            apart = np.abs(values if units.origin is None else values - units.origin)
        # What there is a difference of must be there in these units too: it may vanish in them.
        smallest = float(np.abs(units.transform(values)).min(where=apart > 0, initial=1.0))
        if smallest < 2.0**-FARTHEST:
            got = f"differences from {apart.min(where=apart > 0, initial=np.inf):.0e} to {largest:.0e}"
            refuse("X", ONE_REACH, got, DROP_DWARFS)
        return units

    def transform(self, X: Samples) -> Samples:
        """X in these units; X itself where it is ordinary."""
        if isinstance(X, Distances):
            return Distances(self.transform(X.matrix))
        with np.errstate(over="ignore", invalid="ignore"):
            if self.origin is None:
                return X if self.scale == 1.0 else X * self.scale
            # Scaled in the first place, by half the scale: the difference of two huge numbers may overflow, and tiny
            # ones have no digit to lose.
            scaled: FloatArray = (X * (self.scale / 2) - self.origin * (self.scale / 2)) * 2
        return scaled

    def inverse_transform(self, X: Samples) -> Samples:
        """X back in the units of the data; inf where float64 ends."""
        with np.errstate(over="ignore"):
            if self.origin is None:
                return X if self.scale == 1.0 else X / self.scale
            original: FloatArray = (X / 2 + self.origin * (self.scale / 2)) / (self.scale / 2)
        return original

    def restore_lengths(self, lengths: FloatArray) -> FloatArray:
        """Lengths back in the units of the data; inf where float64 ends."""
        with np.errstate(over="ignore"):
            original: FloatArray = lengths / self.scale
        return original


def is_ordinary(largest: float) -> bool:
    """Whether samples whose largest value is that need no units of their own."""
    return abs(math.frexp(largest)[1]) <= ORDINARY


def _unit(largest: float) -> float:
    """The power of two that brings the largest value next to 1."""
    return math.ldexp(1.0, -max(math.frexp(largest)[1], -1000))


def check_told_apart(n_places: int, n_told: int) -> None:
    """Raise where some of the different samples are equal in the units of the pipeline."""
    if n_told < n_places:
        got = f"{n_places} different samples of which float64 tells {n_told} apart beside the largest"
        refuse("X", ONE_REACH, got, DROP_DWARFS)


def check_within_reach(new: Samples, units: InputScaling) -> Samples:
    """Return new samples in the units of the fitted ones, or name the first that is too far to be measured."""
    inside = units.transform(new)
    largest = as_dense(np.abs(stored_matrix(inside)).max(axis=1)).ravel()
    too_far = ~(largest <= 2.0**FARTHEST)
    if too_far.any():
        row = int(np.flatnonzero(too_far)[0])
        # The largest value says more than a distance that is infinite.
        far = largest[row] / units.scale
        far = far if np.isfinite(far) else np.abs(stored_matrix(new)[row : row + 1]).max()
        rule = f"must be within {2.0**FARTHEST / units.scale:.0e} of the fitted samples to be placed among them"
        refuse("X", rule, f"{far:.1e} in row {row}", "Check the units of X")
    return inside
