"""Samples -> UniqueSamples: which are copies of each other, and an order that does not depend on where they stand.

A sample's fingerprint is a sum, modulo 2^64, of one scrambled number for each of its values and their columns: exact
and the same in any order of summing. Zeros and constant columns add nothing, and values count in the power of two that
is next to the largest: dense and sparse samples, in whatever unit of that kind, have the same fingerprints, and so the
same neighbors where distances tie. Samples are ordered by the first column that is not constant, which keeps neighbors
near in memory, then by fingerprint; those that agree in both are compared value by value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from hne.core.records import FloatArray, IndexArray, SparseMatrix, UniqueSamples
from hne.core.samples.kinds import Distances, Samples, as_dense, stored_values

Fingerprints = NDArray[np.uint64]

BLOCK_BYTES = 2**25
# Where the bits of a float64 have its exponent, and from where on those of all values are too small to be written there
# (2**-1022): values below are raised first, which no value of theirs is too large for.
EXPONENT_BIT, TINY_EXPONENT, RAISE = 52, -500, 500


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
    same = marks[order[1:]] == marks[order[:-1]]
    after = np.flatnonzero(same) + 1
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
    sums: Fingerprints = entries[ends[1:]] - entries[ends[:-1]]
    return sums


def _marked(values: FloatArray, numbers: Fingerprints, exponent: int) -> Fingerprints:
    """A scrambled number for each value and the number of its column, the same for values in another power of two."""
    if exponent < TINY_EXPONENT:
        values, exponent = values * 2.0**RAISE, exponent + RAISE
    # Taking the exponent off the bits divides by a power of two, and rounds nothing.
    unit = np.uint64((exponent << EXPONENT_BIT) % 2**64)
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    marks: Fingerprints = np.where(values == 0, np.uint64(0), scrambled(bits - unit + scrambled(numbers)))
    return marks


def scrambled(numbers: Fingerprints) -> Fingerprints:
    """Numbers in which every bit of the input has a say in every bit: the finalizer of splitmix64."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
