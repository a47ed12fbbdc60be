// The samples that a search has reached, the nearest first; of equally near ones the first of all, so that of several
// shortest ways it is always the same that is found.
#pragma once

#include <algorithm>
#include <vector>

#include "arrays.h"

struct Reached {
    double length;
    std::int64_t sample;
    bool operator<(const Reached &other) const {
        return length < other.length || (length == other.length && sample < other.sample);
    }
};

// A heap with four children to each: flatter than with two, and the children lie side by side.
class Queue {
  public:
    bool is_empty() const { return heap.empty(); }
    void clear() { heap.clear(); }

    void push(Reached one) {
        std::size_t at = heap.size();
        heap.push_back(one);
        for (; at > 0 && one < heap[(at - 1) / 4]; at = (at - 1) / 4) heap[at] = heap[(at - 1) / 4];
        heap[at] = one;
    }

    Reached pop() {
        const Reached nearest = heap.front(), last = heap.back();
        heap.pop_back();
        const std::size_t size = heap.size();
        std::size_t at = 0;
        while (4 * at + 1 < size) {
            const std::size_t end = std::min(4 * at + 5, size);
            std::size_t best = 4 * at + 1;
            for (std::size_t child = best + 1; child < end; ++child)
                if (heap[child] < heap[best]) best = child;
            if (!(heap[best] < last)) break;
            heap[at] = heap[best];
            at = best;
        }
        if (size > 0) heap[at] = last;
        return nearest;
    }

  private:
    std::vector<Reached> heap;
};
