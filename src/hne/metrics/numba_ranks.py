"""A block of samples -> ranks of all others in X and in Y, compiled by numba: the twin of `metrics.rows`, row by row.

Importing this module costs the import of numba and, on the first call of a fresh installation, seconds of compiling
(kept in numba's cache afterwards), so it is imported only where the work is worth it. No Python lock, no state, no
`fastmath`: distances sum over features in the order of SciPy's, so that both have the same bits.
"""

import numpy as np
from numba import njit

COUNTED_NEIGHBORS = 32  # from here on sorting, at 10 ns a sample, beats counting, at 0.3 ns a sample and neighbor
# Samples and features that all rows of a block meet in turn: 64 KB, which stay in the second cache.
TILE, TILE_FEATURES = 512, 16
# Keys are sorted by digits of so many bits; two digits order distances well enough for a few exchanges to finish it.
DIGIT_BITS, SHORT_BITS, ALL_BITS = 11, 22, 64
DIGITS = 1 << DIGIT_BITS
# Exchanges a sample after which a general sort is faster.
PATIENCE = 32

compiled = njit(nogil=True, cache=True)


def arranged(points):
    """See `rows.arranged`: here a row a feature."""
    return np.ascontiguousarray(points.T)


@compiled
def squared_distances(columns, rows):
    """See `rows.squared_distances`; many samples side by side, each summed in the order of the features."""
    n_features, n = columns.shape
    distances = np.zeros((len(rows), n))
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        for first in range(0, n_features, TILE_FEATURES):
            last = min(first + TILE_FEATURES, n_features)
            for row in range(len(rows)):
                sums = distances[row, start:stop]
                for feature in range(first, last - 3, 4):
                    four = columns[feature : feature + 4, rows[row]]
                    _add_four(columns, feature, start, stop, four[0], four[1], four[2], four[3], sums)
                for feature in range(last - (last - first) % 4, last):
                    value, values = columns[feature, rows[row]], columns[feature, start:stop]
                    for sample in range(len(sums)):
                        sums[sample] += (value - values[sample]) * (value - values[sample])
    for row in range(len(rows)):
        distances[row, rows[row]] = -1.0
    return distances


@compiled
def _add_four(columns, feature, start, stop, one, two, three, four, sums):
    """Add the squares of four features in a turn, which loads and stores the sums once: a quarter less time."""
    ones, twos = columns[feature, start:stop], columns[feature + 1, start:stop]
    threes, fours = columns[feature + 2, start:stop], columns[feature + 3, start:stop]
    for sample in range(stop - start):
        total = sums[sample] + (one - ones[sample]) * (one - ones[sample])
        total += (two - twos[sample]) * (two - twos[sample])
        total += (three - threes[sample]) * (three - threes[sample])
        sums[sample] = total + (four - fours[sample]) * (four - fours[sample])


@compiled
def neighbor_sums(in_X, in_Y, k):
    """See `rows.neighbor_sums`."""
    b, n = in_X.shape
    sums = np.zeros((b, 3), dtype=np.int64)
    near_X, near_Y = np.empty(k + 1, dtype=np.int64), np.empty(k + 1, dtype=np.int64)
    ranks_X, ranks_Y = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    work = np.empty((4, n), dtype=np.int64)
    for row in range(b):
        if k > COUNTED_NEIGHBORS:
            _rank(in_X[row], work, ranks_X)
            _rank(in_Y[row], work, ranks_Y)
            for sample in range(n):
                rank_X, rank_Y = ranks_X[sample], ranks_Y[sample]
                if rank_Y <= k < rank_X:
                    sums[row, 0] += rank_X - k
                elif rank_X <= k < rank_Y:
                    sums[row, 1] += rank_Y - k
                elif 0 < rank_X <= k:
                    sums[row, 2] += 1
            continue
        _nearest(in_X[row], k, near_X)
        _nearest(in_Y[row], k, near_Y)
        sums[row, 0], kept = _excess(in_X[row], near_Y, near_X, k)
        sums[row, 1], kept = _excess(in_Y[row], near_X, near_Y, k)
        sums[row, 2] = kept
    return sums


@compiled
def larger_rank_counts(in_X, in_Y):
    """See `rows.larger_rank_counts`."""
    b, n = in_X.shape
    counts = np.zeros((b, n), dtype=np.int64)
    ranks_X, ranks_Y = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    work = np.empty((4, n), dtype=np.int64)
    for row in range(b):
        _rank(in_X[row], work, ranks_X)
        _rank(in_Y[row], work, ranks_Y)
        for sample in range(n):
            counts[row, max(ranks_X[sample], ranks_Y[sample])] += 1
    return counts


@compiled
def _nearest(distances, k, near):
    """Write the sample itself and its k nearest: whoever comes later must be strictly nearer to go before."""
    size = 0
    limit = np.inf
    for sample in range(len(distances)):
        length = distances[sample]
        if size == k + 1 and not length < limit:
            continue
        if size < k + 1:
            size += 1
        place = size - 1
        while place > 0 and length < distances[near[place - 1]]:
            near[place] = near[place - 1]
            place -= 1
        near[place] = sample
        limit = distances[near[size - 1]]


@compiled
def _excess(distances, samples, neighbors, k):
    """Sum over the samples that are no neighbors of their ranks less k, and how many are."""
    excess = 0
    kept = 0
    for position in range(1, k + 1):
        sample = samples[position]
        is_kept = False
        for other in range(1, k + 1):
            is_kept |= neighbors[other] == sample
        if is_kept:
            kept += 1
            continue
        length = distances[sample]
        rank = 0
        for other in range(sample):
            rank += distances[other] <= length
        for other in range(sample + 1, len(distances)):
            rank += distances[other] < length
        excess += rank - k
    return excess, kept


@compiled
def _rank(distances, work, ranks):
    """Write the rank of every sample: positive numbers are in the order of their bits."""
    n = len(distances)
    keys, short, order, other = work[0], work[1], work[2], work[3]
    bits = distances.view(np.int64)
    smallest, largest = np.int64(0x7FF0000000000000), np.int64(1)
    for sample in range(n):
        # The sample itself has key 0, its copies 1: they come before all others.
        keys[sample] = bits[sample] + 1 if distances[sample] >= 0 else 0
        order[sample] = sample
        if keys[sample] > 1:
            smallest, largest = min(smallest, keys[sample]), max(largest, keys[sample])
    shift = 0
    while (largest - smallest) >> shift >= (1 << SHORT_BITS) - 1:
        shift += 1
    for sample in range(n):
        short[sample] = 1 + ((keys[sample] - smallest) >> shift) if keys[sample] > 1 else 0
    _sort(short, SHORT_BITS, order, other)
    if not _finish(keys, order):
        for sample in range(n):
            order[sample] = sample
        _sort(keys, ALL_BITS, order, other)
    for position in range(n):
        ranks[order[position]] = position


@compiled
def _sort(keys, n_bits, order, other):
    """Sort the samples by their keys, digit by digit from the last; those with equal keys keep their order."""
    starts = np.empty(DIGITS + 1, dtype=np.int64)
    for shift in range(0, n_bits, DIGIT_BITS):
        starts[:] = 0
        for sample in range(len(keys)):
            starts[((keys[sample] >> shift) & (DIGITS - 1)) + 1] += 1
        for digit in range(DIGITS):
            starts[digit + 1] += starts[digit]
        for position in range(len(keys)):
            digit = (keys[order[position]] >> shift) & (DIGITS - 1)
            other[starts[digit]] = order[position]
            starts[digit] += 1
        # Both numbers of bits have an even number of digits.
        order, other = other, order


@compiled
def _finish(keys, order):
    """Sort what is nearly sorted by exchanging neighbors, or give up: whether it is sorted now."""
    patience = PATIENCE * len(order)
    for position in range(1, len(order)):
        sample = order[position]
        place = position
        while place > 0 and keys[sample] < keys[order[place - 1]]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = sample
        patience -= position - place
        if patience < 0:
            return False
    return True
