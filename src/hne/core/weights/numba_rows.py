"""Both layers' weights for a block of targets, compiled by numba: the twin of `batch`, row by row.

Importing this module costs the import of numba and, on the first call of a fresh installation, seconds of
compiling (kept in numba's cache afterwards), so it is imported only where the work is worth it. Functions run
without Python's global lock and keep no state: threads may share them. No `fastmath`: it would reorder sums.
Absent samples are skipped, not padded: a short list gets the bits that it gets in a graph of its own length.
"""

import math

import numpy as np
from numba import njit

from hne.core.records import FloatArray, IndexArray
from hne.core.weights import batch as _batch

NOISE = _batch.NOISE
SMALLEST_EXPONENT = _batch.SMALLEST_EXPONENT
# Above this many features BLAS, called through NumPy, beats the plain loop (measured with 24 slots: 1.3 against 1.6 us
# at 8 features, 2.5 against 2.2 at 16).
LOOP_MAX_FEATURES = 12

compiled = njit(nogil=True, cache=True)


@compiled
def local_sets(own, lists, left_out):
    """See `batch.local_sets`."""
    b, k = own.shape
    ids = np.full((b, k + k * k), -1, dtype=np.intp)
    inner_slots = np.full((b, k), -1, dtype=np.intp)
    outer_slots = np.full((b, k, k), -1, dtype=np.intp)
    samples = np.empty(k + k * k, dtype=np.intp)
    longest = 1
    for row in range(b):
        length = _length(own[row])
        samples[:length] = own[row, :length]
        count = length
        for l in range(length):
            for j in range(k):
                sample = lists[own[row, l], j]
                if sample >= 0 and sample != left_out[row]:
                    samples[count] = sample
                    count += 1
        ascending = np.sort(samples[:count])
        size = 0
        for position in range(count):
            if position == 0 or ascending[position] != ascending[position - 1]:
                ids[row, size] = ascending[position]
                size += 1
        distinct = ids[row, :size]
        for l in range(length):
            inner_slots[row, l] = np.searchsorted(distinct, own[row, l])
            for j in range(k):
                sample = lists[own[row, l], j]
                if sample >= 0 and sample != left_out[row]:
                    outer_slots[row, l, j] = np.searchsorted(distinct, sample)
        longest = max(longest, size)
    return ids[:, :longest].copy(), inner_slots, outer_slots


def local_gram(X: FloatArray, targets: FloatArray, ids: IndexArray) -> FloatArray:
    """See `batch.local_gram`."""
    if X.shape[1] > LOOP_MAX_FEATURES:
        return _batch.local_gram(X, targets, ids)
    return _local_gram(X, targets, ids)


@compiled
def _local_gram(X, targets, ids):
    b, m = ids.shape
    D = X.shape[1]
    K = np.empty((b, m, m))
    difference = np.empty((m, D))
    for row in range(b):
        reach = 0.0
        for slot in range(m):
            for axis in range(D):
                step = X[ids[row, slot], axis] - targets[row, axis]
                difference[slot, axis] = step
                reach = max(reach, abs(step))
        unit = math.ldexp(1.0, -max(math.frexp(reach)[1], SMALLEST_EXPONENT))
        for first in range(m):
            for axis in range(D):
                difference[first, axis] *= unit
            for second in range(first + 1):
                total = 0.0
                for axis in range(D):
                    total += difference[first, axis] * difference[second, axis]
                K[row, first, second] = total
                K[row, second, first] = total
    return K


@compiled
def inner_weights(K, inner_slots, reg):
    """See `batch.inner_weights`."""
    b, k = inner_slots.shape
    w = np.zeros((b, k))
    C = np.empty((k, k))
    for row in range(b):
        slots = inner_slots[row]
        length = _length(slots)
        for first in range(length):
            for second in range(first + 1):
                C[first, second] = K[row, slots[first], slots[second]]
        _affine(C, length, reg, 0.0, w[row])
    return w


@compiled
def ihne(K, w, inner_slots, outer_slots, outer_reg):
    """See `batch.ihne`."""
    b, k = w.shape
    joint = np.zeros((b, K.shape[1]))
    C = np.empty((k, k))
    v = np.empty(k)
    slots = np.empty(k, dtype=np.intp)
    for row in range(b):
        for l in range(_length(inner_slots[row])):
            size = _present(outer_slots[row, l], slots)
            if size == 0:
                joint[row, inner_slots[row, l]] += w[row, l]
                continue
            for first in range(size):
                for second in range(first + 1):
                    C[first, second] = K[row, slots[first], slots[second]]
            _affine(C, size, outer_reg, 0.0, v)
            for j in range(size):
                joint[row, slots[j]] += w[row, l] * v[j]
    return joint


@compiled
def rhne(K, w, inner_slots, outer_slots, outer_reg):
    """See `batch.rhne`."""
    b, k = w.shape
    m = K.shape[1]
    joint = np.zeros((b, m))
    C = np.empty((m, m))
    counts = np.empty(m)
    slots = np.empty(m, dtype=np.intp)
    u = np.empty(m)
    for row in range(b):
        counts[:] = 0.0
        for l in range(k):
            for j in range(k):
                if outer_slots[row, l, j] >= 0:
                    counts[outer_slots[row, l, j]] += 1.0
        size = 0
        trace = 0.0
        for slot in range(m):
            if counts[slot] > 0:
                slots[size] = slot
                size += 1
                trace += counts[slot] * K[row, slot, slot]
        if size == 0:
            for l in range(_length(inner_slots[row])):
                joint[row, inner_slots[row, l]] += w[row, l]
            continue
        ridge = outer_reg * trace if outer_reg * trace > 0 else 1.0
        for first in range(size):
            for second in range(first + 1):
                C[first, second] = K[row, slots[first], slots[second]]
            C[first, first] += ridge / counts[slots[first]]
        _solve_ones(C, size, 0.0, u)
        for j in range(size):
            joint[row, slots[j]] = u[j]
    return joint


@compiled
def bhne(K, w, inner_slots, outer_slots, outer_reg, n_rounds):
    """See `batch.bhne`."""
    b, k = w.shape
    m = K.shape[1]
    joint = np.zeros((b, m))
    start = np.empty((k, m))
    z = np.empty((k, m))
    scratch = np.empty((2, m))
    C = np.empty((k, k))
    v = np.empty(k)
    slots = np.empty(k, dtype=np.intp)
    for row in range(b):
        length = _length(inner_slots[row])
        start[:] = 0.0
        for l in range(length):
            start[l, inner_slots[row, l]] = 1.0
        z[:] = start
        for turn in range(length + n_rounds * length):
            l = turn % length
            size = _present(outer_slots[row, l], slots)
            if size > 0:
                _rest(K[row], w[row, :length], start if turn < length else z, l, scratch)
                _rebuild_rest(K[row], w[row, l], slots[:size], outer_reg, scratch, C, v)
                z[l] = 0.0
                for j in range(size):
                    z[l, slots[j]] = v[j]
        for l in range(length):
            for slot in range(m):
                joint[row, slot] += w[row, l] * z[l, slot]
    return joint


@compiled
def _rest(K, w, z, l, scratch):
    """Write what the others leave for neighborhood l: coefficients into scratch[0], K times them into [1]."""
    rest, pull = scratch[0], scratch[1]
    m = len(K)
    rest[:] = 0.0
    pull[:] = 0.0
    for other in range(len(w)):
        if other != l:
            for slot in range(m):
                rest[slot] += w[other] * z[other, slot]
    for source in range(m):
        if rest[source] != 0.0:
            for slot in range(m):
                pull[slot] += rest[source] * K[source, slot]


@compiled
def _rebuild_rest(K, weight, slots, outer_reg, scratch, C, v):
    """See `batch._rebuild_rest`; here for one neighborhood, its weights written to v."""
    rest, pull = scratch[0], scratch[1]
    size = len(slots)
    height = 0.0
    reach = 0.0
    for slot in range(len(K)):
        height += rest[slot] * pull[slot]
        reach += abs(rest[slot]) * math.sqrt(K[slot, slot])
    terms = 0.0
    for first in range(size):
        for second in range(first + 1):
            slope = pull[slots[first]] + pull[slots[second]]
            C[first, second] = weight * (weight * K[slots[first], slots[second]] + slope) + height
        terms += (abs(weight) * math.sqrt(K[slots[first], slots[first]]) + reach) ** 2
    _affine(C, size, outer_reg, NOISE * terms, v)


@compiled
def _length(neighbors):
    """Count a target's neighbors, or their slots: -1 stands behind the last."""
    length = 0
    while length < len(neighbors) and neighbors[length] >= 0:
        length += 1
    return length


@compiled
def _present(outer_slots, slots):
    """Copy the slots of the samples that are there, and count them."""
    size = 0
    for slot in outer_slots:
        if slot >= 0:
            slots[size] = slot
            size += 1
    return size


@compiled
def _affine(C, size, reg, floor, v):
    """See `batch._affine`; C is given by its lower triangle and overwritten."""
    trace = 0.0
    for a in range(size):
        trace += C[a, a]
    ridge = max(reg * trace, floor)
    if not ridge > 0:
        ridge = 1.0
    for a in range(size):
        C[a, a] += ridge
    _solve_ones(C, size, ridge, v)


@compiled
def _solve_ones(C, size, smallest_pivot, v):
    """Solve C v = 1 by Cholesky's factorization in place, then make sum(v) = 1.

    No pivot of a positive semidefinite matrix plus a ridge is below the ridge: one that is comes of rounding.
    """
    for a in range(size):
        for b in range(a):
            total = C[a, b]
            for c in range(b):
                total -= C[a, c] * C[b, c]
            C[a, b] = total / C[b, b]
        total = C[a, a]
        for c in range(a):
            total -= C[a, c] * C[a, c]
        C[a, a] = math.sqrt(max(total, smallest_pivot))
    for a in range(size):
        total = 1.0
        for c in range(a):
            total -= C[a, c] * v[c]
        v[a] = total / C[a, a]
    total_weight = 0.0
    for a in range(size - 1, -1, -1):
        total = v[a]
        for c in range(a + 1, size):
            total -= C[c, a] * v[c]
        v[a] = total / C[a, a]
        total_weight += v[a]
    for a in range(size):
        v[a] /= total_weight
