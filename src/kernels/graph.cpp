// Graphs of neighbors: pairs within two hops, lengths of pairs and shortest ways.
//
// A graph is rows of neighbors, (starts, columns), as in a CSR matrix: symmetric, each row ascending.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.h"

namespace {

// No fewer than the pairs that `list_pairs` finds.
std::int64_t most_pairs(Indices<1> starts, Indices<1> columns, Indices<1> rows) {
    const std::int64_t *begin = starts.data();
    std::int64_t count = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::int64_t at = begin[rows.data()[i]]; at < begin[rows.data()[i] + 1]; ++at)
            count += 1 + begin[columns.data()[at] + 1] - begin[columns.data()[at]];
    return count;
}

// Pairs within two hops of the rows (ascending), each once: from the smaller end where both are rows. Returns how many.
std::int64_t list_pairs(Indices<1> starts, Indices<1> columns, Indices<1> rows, Array<std::int64_t, 1> first,
                        Array<std::int64_t, 1> second) {
    const std::int64_t n = static_cast<std::int64_t>(starts.size()) - 1, *begin = starts.data();
    std::vector<char> is_row(n, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) is_row[rows.data()[i]] = 1;
    std::vector<std::int64_t> marked(n, -1);
    std::int64_t count = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::int64_t row = rows.data()[i], from = count;
        marked[row] = row;
        const auto meet = [&](std::int64_t other) {
            if (marked[other] == row || (is_row[other] && other < row)) return;
            marked[other] = row;
            second.data()[count++] = other;
        };
        for (std::int64_t at = begin[row]; at < begin[row + 1]; ++at) {
            const std::int64_t near = columns.data()[at];
            meet(near);
            for (std::int64_t far = begin[near]; far < begin[near + 1]; ++far) meet(columns.data()[far]);
        }
        std::sort(second.data() + from, second.data() + count);
        std::fill(first.data() + from, first.data() + count, row);
    }
    return count;
}

// Lengths of the differences of some rows of X.
void measure_pairs(Floats<2> X, Indices<1> one, Indices<1> other, Array<double, 1> lengths) {
    const std::int64_t width = static_cast<std::int64_t>(X.shape(1));
    for (std::size_t pair = 0; pair < one.size(); ++pair) {
        const double *a = X.data() + one.data()[pair] * width, *b = X.data() + other.data()[pair] * width;
        // Four sums, for one would wait for itself.
        double sums[4] = {};
        std::int64_t k = 0;
        for (; k + 4 <= width; k += 4)
            for (int lane = 0; lane < 4; ++lane) sums[lane] += (a[k + lane] - b[k + lane]) * (a[k + lane] - b[k + lane]);
        for (; k < width; ++k) sums[k % 4] += (a[k] - b[k]) * (a[k] - b[k]);
        lengths.data()[pair] = std::sqrt((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
}

struct Reached {
    double length;
    std::int64_t sample;
    bool operator<(const Reached &other) const {
        return length < other.length || (length == other.length && sample < other.sample);
    }
};

// The nearest first, four children to each: flatter than two, and the children lie side by side.
class Queue {
  public:
    bool is_empty() const { return heap.empty(); }

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

// Lowers `away` to the shortest way from the source wherever that is less (Dijkstra).
void lower(const std::int64_t *starts, const std::int64_t *columns, const double *lengths, std::int64_t source,
           double *away) {
    Queue queue;
    away[source] = 0.0;
    queue.push({0.0, source});
    while (!queue.is_empty()) {
        const Reached here = queue.pop();
        if (here.length > away[here.sample]) continue;
        for (std::int64_t at = starts[here.sample]; at < starts[here.sample + 1]; ++at) {
            const double length = here.length + lengths[at];
            if (length < away[columns[at]]) {
                away[columns[at]] = length;
                queue.push({length, columns[at]});
            }
        }
    }
}

// Shortest ways (s, n) from some samples.
void shortest_ways(Indices<1> starts, Indices<1> columns, Floats<1> lengths, Indices<1> sources, Array<double, 2> ways) {
    const std::size_t n = starts.size() - 1;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        double *away = ways.data() + i * n;
        std::fill(away, away + n, std::numeric_limits<double>::infinity());
        lower(starts.data(), columns.data(), lengths.data(), sources.data()[i], away);
    }
}

// Samples, each as far as can be from all before, from the first that is given on; returns how many lie apart.
std::int64_t spread_landmarks(Indices<1> starts, Indices<1> columns, Floats<1> lengths,
                              Array<std::int64_t, 1> landmarks) {
    std::vector<double> away(starts.size() - 1, std::numeric_limits<double>::infinity());
    std::size_t count = 0;
    while (true) {
        // Those nearer to another landmark are not looked at again.
        lower(starts.data(), columns.data(), lengths.data(), landmarks.data()[count++], away.data());
        const auto farthest = std::max_element(away.begin(), away.end());
        if (count == landmarks.size() || !(*farthest > 0.0)) return static_cast<std::int64_t>(count);
        landmarks.data()[count] = farthest - away.begin();
    }
}

} // namespace

void add_graph(nb::module_ &module) {
    module.def("most_pairs", &most_pairs, NoLock());
    module.def("list_pairs", &list_pairs, NoLock());
    module.def("measure_pairs", &measure_pairs, NoLock());
    module.def("shortest_ways", &shortest_ways, NoLock());
    module.def("spread_landmarks", &spread_landmarks, NoLock());
}
