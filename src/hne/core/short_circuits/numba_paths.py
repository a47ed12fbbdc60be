"""Bounded shortest ways in a sparse graph, compiled by numba: for graphs in which SciPy's would cost n for each."""

from heapq import heappop, heappush

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def bounded_ways(starts_of_rows, columns, numbers, lengths, suspicion, starts, ends, limits):
    """Length of the shortest way from each start to its end, inf where it is beyond the limit, and its worst edge.

    Entries of the graph are `columns`, a row after the other, with the `numbers` of their edges, to which lengths and
    suspicions belong. Dijkstra's algorithm with a binary heap; a search touches no more than what its limit reaches.
    """
    n = len(starts_of_rows) - 1
    ways, worst = np.full(len(starts), np.inf), np.full(len(starts), -1)
    reached = np.full(n, np.inf)
    before, by = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    for query in range(len(starts)):
        reached[starts[query]] = 0.0
        touched, heap = [starts[query]], [(0.0, starts[query])]
        while len(heap) > 0:
            key, sample = heappop(heap)
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
                    touched.append(other)
                reached[other], before[other], by[other] = way, sample, numbers[entry]
                heappush(heap, (way, other))
        for sample in touched:
            reached[sample] = np.inf
    return ways, worst
