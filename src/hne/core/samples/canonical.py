"""Samples -> what the pipeline works with: each once, in an order of their own, in units that float64 bears.

A sample's fingerprint is a sum, modulo 2^64, of one scrambled number for each of its values and their columns: exact
and the same in any order of summing. Zeros and constant columns add nothing, and values count in the power of two that
is next to the largest: dense and sparse samples, in whatever unit of that kind, have the same fingerprints, and so the
same neighbors where distances tie. Samples are ordered by the first column that is not constant, which keeps neighbors
near in memory, then by fingerprint; those that agree in both are compared value by value.

Ordinary data stays in its units, extreme data is moved and scaled into range.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from hne._runtime.threads import limit_blas_threads
from hne.core.records import FloatArray, IndexArray, SparseMatrix, UniqueSamples
from hne.core.samples.check import check_places
from hne.core.samples.kinds import Distances, Samples, as_dense, is_dense, stored_matrix, stored_values
from hne.exceptions import refuse
from hne.settings import Settings

Fingerprints = NDArray[np.uint64]

BLOCK_BYTES = 2**25
# Where the bits of a float64 have its exponent, and from where on those of all values are too small to be written there
# (2**-1022): values below are raised first, which no value of theirs is too large for.
EXPONENT_BIT, TINY_EXPONENT, RAISE = 52, -500, 500
# Squares of numbers within 2**+-ORDINARY, summed over any number of features, stay normal numbers.
ORDINARY = 300
# In those units, squares of differences up to 2**FARTHEST do not overflow, and of 2**-FARTHEST do not vanish.
FARTHEST = 500
ONE_REACH = "must not mix magnitudes beyond float64's reach"
DROP_DWARFS = "Drop the samples or features that dwarf the others, or rescale them"


def canonicalize(X: Samples, settings: Settings) -> tuple[UniqueSamples, "InputScaling", Samples, Settings]:
    """Which samples are distinct, those in units that float64 bears, and settings with what they tell of the metric."""
    distinct = unique_samples(X)
    check_places(distinct, settings)
    X = X.to(distinct, distinct) if isinstance(X, Distances) else X[distinct.index]
    units = InputScaling.fit(X, moved=settings.metric == "euclidean")
    inside = units.transform(X)
    if units.scale != 1.0 or units.origin is not None:
        check_told_apart(distinct.n_places, unique_samples(inside).n_places)
    params = estimated_params(settings.metric, settings.metric_params, inside)
    return distinct, units, inside, replace(settings, metric_params=params)


def estimated_params(metric: Any, params: Any, X: Samples) -> Any:
    """Parameters of the metric with what it takes from the samples, once for all searches among any of them."""
    known = {} if params is None else dict(params)
    if is_dense(X):
        with limit_blas_threads(1):
            if metric == "seuclidean" and "V" not in known:
                return known | {"V": np.var(X, axis=0, ddof=1)}
            if metric == "mahalanobis" and not known.keys() & {"V", "VI"}:
                return known | {"VI": np.linalg.pinv(np.atleast_2d(np.cov(X.T)))}
    return params


@dataclass(frozen=True)
class Ranges:
    """The smallest and the largest value of each column."""

    low: FloatArray  # (D,)
    high: FloatArray  # (D,)

    @cached_property
    def varying(self) -> IndexArray:
        """The columns that are not constant."""
        return np.flatnonzero(self.low < self.high)

    @property
    def largest(self) -> float:
        """The largest magnitude of all columns."""
        return max(float(-self.low.min(initial=0.0)), float(self.high.max(initial=0.0)))

    @property
    def exponent(self) -> int:
        """The unit in which values count, as a power of two."""
        return math.frexp(Ranges(self.low[self.varying], self.high[self.varying]).largest)[1]


def joined_ranges(parts: Sequence[Ranges]) -> Ranges:
    """Ranges of all samples from those of some."""
    return Ranges(np.min([one.low for one in parts], axis=0), np.max([one.high for one in parts], axis=0))


def ranges_of(X: Samples) -> Ranges:
    """Ranges of the columns, dense or sparse; both zeros of floating point are one."""
    return Ranges(*(np.asarray(as_dense(one)).ravel() + 0.0 for one in (X.min(axis=0), X.max(axis=0))))


def unique_samples(X: Samples) -> UniqueSamples:
    """Find the distinct samples; the first of several copies stands for all."""
    if isinstance(X, Distances):
        return _unique_by_distance(X)
    ranges = ranges_of(X)
    return distinct_rows(fingerprints(X, ranges), X, leading_values(X, ranges))


def fingerprints(X: Samples, ranges: Ranges) -> Fingerprints:
    """A number for each sample, of all its values; `ranges` are those of all samples, of which X may be some."""
    varying, exponent = ranges.varying, ranges.exponent
    if issparse(X):
        # Constant columns get number -1, which counts for nothing.
        numbers = np.full(X.shape[1], -1)
        numbers[varying] = np.arange(len(varying))
        columns = numbers[X.indices]
        values = np.where(columns >= 0, X.data, 0.0)
        return _entry_sums(X.indptr, values, columns.astype(np.uint64), exponent)
    return _row_sums(X, varying, np.arange(len(varying), dtype=np.uint64), exponent)


def leading_values(X: Samples, ranges: Ranges) -> FloatArray:
    """The values of the first column that is not constant; zeros where all are."""
    if not len(ranges.varying):
        return np.zeros(X.shape[0])
    return np.array(as_dense(X[:, ranges.varying[:1]])).ravel()


def distinct_rows(marks: Fingerprints, X: FloatArray | SparseMatrix, leading: FloatArray) -> UniqueSamples:
    """Find the distinct samples by their fingerprints and leading values; of X, those alike are compared."""
    order = np.lexsort((marks, leading))
    after = np.flatnonzero(marks[order[1:]] == marks[order[:-1]]) + 1
    # Copies stand side by side, first come first; equal fingerprints of samples that differ are not expected, ever.
    differs = np.zeros(len(after), dtype=bool)
    step = max(1, BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(after), step):
        few = after[start : start + step]
        difference = X[order[few]] != X[order[few - 1]]
        differs[start : start + step] = np.asarray(difference.sum(axis=1)).ravel() > 0
    is_new = np.ones(len(marks), dtype=bool)
    is_new[after[~differs]] = False
    return _numbered(order, is_new)


def _numbered(order: IndexArray, is_new: NDArray[np.bool_]) -> UniqueSamples:
    """Places in this order, a new one begun wherever it says so; the first sample of one is the lowest in number."""
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.cumsum(is_new) - 1
    first = np.full(int(is_new.sum()), len(order), dtype=np.intp)
    np.minimum.at(first, place, np.arange(len(order)))
    return UniqueSamples(index=first, inverse=place)


def _unique_by_distance(X: Distances) -> UniqueSamples:
    """Samples at distance zero of each other are copies; the order is that of the distances to all others."""
    matrix = X.matrix
    exponent = math.frexp(float(stored_values(X).max(initial=0.0)))[1]
    marks = np.zeros(X.shape[0], dtype=np.uint64)
    # Twice: the second time, a distance counts together with whom it leads to, which tells most look-alikes apart.
    for _ in range(2):
        if X.is_complete:
            marks = _row_sums(matrix, np.arange(X.shape[1]), marks, exponent)
        else:
            marks = _entry_sums(matrix.indptr, matrix.data, marks[matrix.indices], exponent)
    if X.is_complete:
        zero = csr_array(matrix == 0)
    else:
        zero = csr_array((matrix.data == 0, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
        zero.eliminate_zeros()
    _, group = connected_components(zero, directed=False)
    # Copies differ in rounding: all of a group take the mark of one.
    shared = np.full(int(group.max()) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(shared, group, marks)
    order = np.lexsort((marks, group, shared[group]))
    is_new = np.concatenate([[True], group[order[1:]] != group[order[:-1]]])
    # Of copies that differ in rounding, the mark chooses one, not where they stand.
    return replace(_numbered(order, is_new), index=order[is_new])


def _row_sums(matrix: FloatArray, columns: IndexArray, numbers: Fingerprints, exponent: int) -> Fingerprints:
    """Sums over the entries of each row in some columns, each of which has a number."""
    step = max(1, BLOCK_BYTES // (8 * matrix.shape[1]))
    blocks = (matrix[start : start + step] for start in range(0, len(matrix), step))
    if len(columns) < matrix.shape[1]:
        blocks = (block[:, columns] for block in blocks)
    return np.concatenate([_marked(block, numbers, exponent).sum(axis=1, dtype=np.uint64) for block in blocks])


def _entry_sums(ends: IndexArray, values: FloatArray, numbers: Fingerprints, exponent: int) -> Fingerprints:
    """Sums over the stored entries of each row; `numbers` has that of each entry's column."""
    entries = np.concatenate([[np.uint64(0)], np.cumsum(_marked(values, numbers, exponent))])
    return entries[ends[1:]] - entries[ends[:-1]]


def _marked(values: FloatArray, numbers: Fingerprints, exponent: int) -> Fingerprints:
    """A scrambled number for each value and the number of its column, the same for values in another power of two."""
    if exponent < TINY_EXPONENT:
        values, exponent = values * 2.0**RAISE, exponent + RAISE
    # Taking the exponent off the bits divides by a power of two, and rounds nothing.
    unit = np.uint64((exponent << EXPONENT_BIT) % 2**64)
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    return np.where(values == 0, np.uint64(0), scrambled(bits - unit + scrambled(numbers)))


def scrambled(numbers: Fingerprints) -> Fingerprints:
    """Numbers in which every bit of the input has a say in every bit: the finalizer of splitmix64."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


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
        origin, reach = None, largest
        if values is X and moved:
            reach = float((X.max(axis=0) / 2 - X.min(axis=0) / 2).max())
            # A value in the middle of each column: exact for columns far from zero, and no outlier's.
            origin, largest = np.partition(X, len(X) // 2, axis=0)[len(X) // 2], 2 * reach
        # The power of two that brings what reaches farthest next to 1.
        units = cls(origin, math.ldexp(1.0, -max(math.frexp(reach)[1], -1000)))
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
            return lengths / self.scale


def is_ordinary(largest: float) -> bool:
    """Whether samples whose largest value is that need no units of their own."""
    return abs(math.frexp(largest)[1]) <= ORDINARY


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
