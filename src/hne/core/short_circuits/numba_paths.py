"""Bounded shortest ways in a sparse graph, compiled by numba: for graphs in which SciPy's would cost n for each."""

import numpy as np
from numba import njit

# A heap of our own: that of heapq takes equal ways in another order, and so another of several shortest ones.
compiled = njit(nogil=True, cache=True)


@compiled
def bounded_ways(starts_of_rows, columns, numbers, lengths, suspicion, starts, ends, limits):
    """Length of the shortest way from each start to its end, inf where it is beyond the limit, and its worst edge.

    Entries of the graph are `columns`, a row after the other, with the `numbers` of their edges, to which lengths and
    suspicions belong. Dijkstra's algorithm with a binary heap; a search touches no more than what its limit reaches.
    """
    n = len(starts_of_rows) - 1
    ways, worst = np.full(len(starts), np.inf), np.full(len(starts), -1)
    reached = np.full(n, np.inf)
    before, by = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    touched = np.empty(n, dtype=np.intp)
    keys, samples = np.empty(1024), np.empty(1024, dtype=np.intp)
    for query in range(len(starts)):
        reached[starts[query]], touched[0], n_touched = 0.0, starts[query], 1
        keys[0], samples[0], size = 0.0, starts[query], 1
        while size > 0:
            key, sample = keys[0], samples[0]
            size -= 1
            _sift_down(keys, samples, size)
            if key > reached[sample]:
                continue
            if sample == ends[query]:
                ways[query] = key
                while sample != starts[query]:
                    if worst[query] < 0 or suspicion[by[sample]] > suspicion[worst[query]]:
                        worst[query] = by[sample]
                    sample = before[sample]
                break
            for entry in range(starts_of_rows[sample], starts_of_rows[sample + 1]):
                other, way = columns[entry], key + lengths[numbers[entry]]
                if way > limits[query] or way >= reached[other]:
                    continue
                if reached[other] == np.inf:
                    touched[n_touched] = other
                    n_touched += 1
                reached[other], before[other], by[other] = way, sample, numbers[entry]
                if size == len(keys):
                    keys, samples = np.concatenate((keys, keys)), np.concatenate((samples, samples))
                _sift_up(keys, samples, size, way, other)
                size += 1
        for place in range(n_touched):
            reached[touched[place]] = np.inf
    return ways, worst


@compiled
def _sift_down(keys, samples, size):
    """Put the last entry of a heap of `size` + 1 at its top, whose entry has been taken, and down to its place."""
    key, sample, place = keys[size], samples[size], 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place], samples[place] = keys[child], samples[child]
        place = child
    keys[place], samples[place] = key, sample


@compiled
def _sift_up(keys, samples, place, key, sample):
    """Put an entry at the end of a heap and up to its place."""
    while place > 0:
        parent = (place - 1) // 2
        if keys[parent] <= key:
            break
        keys[place], samples[place] = keys[parent], samples[parent]
        place = parent
    keys[place], samples[place] = key, sample
