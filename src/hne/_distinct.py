"""Samples -> Distinct: which are copies of each other, and an order that does not depend on where they stand.

A sample's fingerprint is a sum, modulo 2^64, of one scrambled number for each of its values and their columns: exact
and the same in any order of summing. Samples are ordered by their first value, which keeps neighbors near in memory,
then by fingerprint; those that agree in both are compared value by value.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from hne._samples import Distances, Samples
from hne._types import Distinct, FloatArray, IndexArray, SparseMatrix

Fingerprints = NDArray[np.uint64]

BLOCK_BYTES = 2**25


def distinct_samples(X: Samples) -> Distinct:
    """Find the distinct samples; the first of several copies stands for all."""
    if isinstance(X, Distances):
        return _distinct_by_distance(X)
    return distinct_rows(fingerprints(X), X, X[:, [0]].toarray().ravel() if issparse(X) else X[:, 0])


def fingerprints(X: Samples) -> Fingerprints:
    """A number for each sample, of all its values: of distances, those to all others."""
    if isinstance(X, Distances):
        return _marks_by_distance(X.matrix)
    if issparse(X):
        return _sparse_row_sums(X)
    return _row_sums(X, np.arange(X.shape[1], dtype=np.uint64))


def distinct_rows(marks: Fingerprints, X: FloatArray | SparseMatrix, leading: FloatArray | None) -> Distinct:
    """Find the distinct samples by their fingerprints and first values; of X, those alike are compared."""
    order = np.argsort(marks, kind="stable") if leading is None else np.lexsort((marks, leading))
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


def _numbered(order: IndexArray, is_new: NDArray[np.bool_]) -> Distinct:
    """Places in this order, a new one begun wherever it says so; the first sample of one is the lowest in number."""
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.cumsum(is_new) - 1
    first = np.full(int(is_new.sum()), len(order), dtype=np.intp)
    np.minimum.at(first, place, np.arange(len(order)))
    return Distinct(first=first, place=place)


def _distinct_by_distance(X: Distances) -> Distinct:
    """Samples at distance zero of each other are copies; the order is that of the distances to all others."""
    matrix = X.matrix
    if issparse(matrix):
        zero = csr_array((matrix.data == 0, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
        zero.eliminate_zeros()
    else:
        zero = csr_array(matrix == 0)
    _, group = connected_components(zero, directed=False)
    marks = _marks_by_distance(matrix)
    # Copies differ in rounding: all of a group take the mark of one.
    shared = np.full(int(group.max()) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(shared, group, marks)
    order = np.lexsort((marks, group, shared[group]))
    is_new = np.concatenate([[True], group[order[1:]] != group[order[:-1]]])
    # Of copies that differ in rounding, the mark chooses one, not where they stand.
    return replace(_numbered(order, is_new), first=order[is_new])


def _marks_by_distance(matrix: Any) -> Fingerprints:
    # Twice: the second time, a distance counts together with whom it leads to, which tells most look-alikes apart.
    marks = np.zeros(matrix.shape[0], dtype=np.uint64)
    for _ in range(2):
        marks = _entry_sums(matrix, marks[matrix.indices]) if issparse(matrix) else _row_sums(matrix, marks)
    return marks


def _row_sums(matrix: FloatArray, columns: Fingerprints) -> Fingerprints:
    """Sums over the entries of each row; `columns` has a number for each column."""
    step = max(1, BLOCK_BYTES // (8 * matrix.shape[1]))
    # Adding zero makes the two zeros of floating point one.
    blocks = (matrix[start : start + step] + 0.0 for start in range(0, len(matrix), step))
    return np.concatenate([scrambled(_bits(block) + scrambled(columns)).sum(axis=1) for block in blocks])


def _sparse_row_sums(matrix: SparseMatrix) -> Fingerprints:
    """What `_row_sums` makes of the same matrix when it is dense, so that sparse samples stand in the same order."""
    columns = matrix.indices.astype(np.uint64)
    zeros = csr_array((np.zeros_like(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)
    # Bits of zero are zero: what is left of a column without a value is its number.
    everywhere = scrambled(scrambled(np.arange(matrix.shape[1], dtype=np.uint64))).sum()
    sums: Fingerprints = _entry_sums(matrix, columns) - _entry_sums(zeros, columns) + everywhere
    return sums


def _entry_sums(matrix: SparseMatrix, columns: Fingerprints) -> Fingerprints:
    """Sums over the stored entries of each row; `columns` has the number of each entry's column."""
    entries = np.concatenate([[np.uint64(0)], np.cumsum(scrambled(_bits(matrix.data + 0.0) + scrambled(columns)))])
    sums: Fingerprints = entries[matrix.indptr[1:]] - entries[matrix.indptr[:-1]]
    return sums


def _bits(values: FloatArray) -> Fingerprints:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)


def scrambled(numbers: Fingerprints) -> Fingerprints:
    """Numbers in which every bit of the given ones has a say in every bit: the finalizer of splitmix64."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
