"""Rows of the upper triangle of G = gamma A'A + B'B, compiled by numba; no state, no Python lock.

Row j of G sums, over every row i of A (and of B) that has an entry in column j, that entry times row i. `marked[c]`
says that column c of the row at hand has been met, so that nothing needs to be cleared between rows. Sums run over
i in ascending order, whatever the block and the thread.
"""

import numpy as np
from numba import njit

compiled = njit(nogil=True, cache=True)


@compiled
def count_entries(start, stop, Ap, Ai, ATp, ATi, Bp, Bi, BTp, BTi):
    """Number of entries in each row from start to stop."""
    counts = np.zeros(stop - start, dtype=np.int64)
    marked = np.full(len(Ap) - 1, -1, dtype=np.int64)
    for row in range(start, stop):
        counts[row - start] = _count(row, Ap, Ai, ATp, ATi, marked) + _count(row, Bp, Bi, BTp, BTi, marked)
    return counts


@compiled
def _count(row, indptr, indices, column_indptr, column_indices, marked):
    count = 0
    for place in range(column_indptr[row], column_indptr[row + 1]):
        source = column_indices[place]
        for entry in range(indptr[source], indptr[source + 1]):
            column = indices[entry]
            if column >= row and marked[column] != row:
                marked[column] = row
                count += 1
    return count


@compiled
def fill_entries(start, stop, gamma, Ap, Ai, ATp, ATi, Bp, Bi, BTp, BTi, Ax, ATx, Bx, BTx, indptr, indices, data):
    """Write the columns and values of the rows from start to stop, columns ascending."""
    sums = np.empty(len(Ap) - 1)
    marked = np.full(len(Ap) - 1, -1, dtype=np.int64)
    for row in range(start, stop):
        first = indptr[row]
        last = _add(row, gamma, Ap, Ai, Ax, ATp, ATi, ATx, sums, marked, indices, first)
        last = _add(row, 1.0, Bp, Bi, Bx, BTp, BTi, BTx, sums, marked, indices, last)
        indices[first:last].sort()
        for entry in range(first, last):
            data[entry] = sums[indices[entry]]


@compiled
def _add(row, weight, indptr, indices, values, column_indptr, column_indices, column_values, sums, marked, found, last):
    """Add one term to the row's sums; write columns met for the first time behind `last`, and return the new end."""
    for place in range(column_indptr[row], column_indptr[row + 1]):
        source = column_indices[place]
        factor = weight * column_values[place]
        for entry in range(indptr[source], indptr[source + 1]):
            column = indices[entry]
            if column < row:
                continue
            if marked[column] != row:
                marked[column] = row
                sums[column] = 0.0
                found[last] = column
                last += 1
            sums[column] += factor * values[entry]
    return last
