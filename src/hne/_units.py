"""The units that the walk works in: ordinary data as it is, extreme data moved and scaled into range."""

import math
from dataclasses import dataclass

import numpy as np

from hne._types import FloatArray
from hne.exceptions import InputError

# Squares of numbers within 2**+-ORDINARY, summed over any number of features, stay normal numbers.
ORDINARY = 300
# In those units, squares of differences up to 2**FARTHEST do not overflow, and of 2**-FARTHEST do not vanish.
FARTHEST = 500


@dataclass(frozen=True)
class Units:
    """x -> (x - origin) * scale; the method does not depend on either, and a power of two changes no digit."""

    origin: FloatArray | None = None  # None for ordinary data, which is left alone
    scale: float = 1.0

    def of(self, X: FloatArray) -> FloatArray:
        """X in these units; X itself where it is ordinary."""
        if self.origin is None:
            return X
        with np.errstate(over="ignore", invalid="ignore"):
            # Scaled in the first place, by half the scale: the difference of two huge numbers may overflow, and tiny
            # ones have no digit to lose.
            scaled: FloatArray = (X * (self.scale / 2) - self.origin * (self.scale / 2)) * 2
        return scaled

    def undo(self, X: FloatArray) -> FloatArray:
        """X back in the units of the data."""
        if self.origin is None:
            return X
        original: FloatArray = (X / 2 + self.origin * (self.scale / 2)) / (self.scale / 2)
        return original

    def undo_length(self, lengths: FloatArray) -> FloatArray:
        """Lengths back in the units of the data."""
        original: FloatArray = lengths / self.scale
        return original


def units_of(X: FloatArray) -> Units:
    """Choose units for these samples."""
    _, exponent = math.frexp(max(abs(float(X.max())), abs(float(X.min()))))
    if abs(exponent) <= ORDINARY:
        return Units()
    half_spread = float((X.max(axis=0) / 2 - X.min(axis=0) / 2).max())
    _, exponent = math.frexp(half_spread)
    # A value in the middle of each column: exact for columns far from zero, and no outlier's.
    origin = np.partition(X, len(X) // 2, axis=0)[len(X) // 2]
    units = Units(origin=origin, scale=math.ldexp(1.0, -max(exponent, -1000)))
    inside = np.abs(units.of(X))
    smallest = float(inside.min(where=inside > 0, initial=1.0))
    if smallest < 2.0**-FARTHEST:
        msg = (
            f"X must not mix magnitudes beyond float64's reach, got differences from {smallest / units.scale:.0e} to "
            f"{2 * half_spread:.0e}. Drop the samples or features that dwarf the others, or rescale them."
        )
        raise InputError(msg)
    return units


def check_within_reach(new: FloatArray, units: Units) -> FloatArray:
    """Return new samples in the units of the fitted ones, or name the first that is too far to be measured."""
    inside = units.of(new)
    too_far = ~(np.abs(inside).max(axis=1) <= 2.0**FARTHEST)
    if too_far.any():
        row = int(np.flatnonzero(too_far)[0])
        msg = (
            f"X must be within {2.0**FARTHEST / units.scale:.0e} of the fitted samples to be placed among them, "
            f"got {np.abs(new[row]).max():.1e} in row {row}. Check the units of X."
        )
        raise InputError(msg)
    return inside
