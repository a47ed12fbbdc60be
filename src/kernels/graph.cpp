// Graphs of neighbors: pairs within two hops, lengths of pairs and shortest ways.
//
// A graph is rows of neighbors, (starts, columns), as in a CSR matrix: symmetric, each row ascending.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "queue.h"

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
            for (int lane = 0; lane < 4; ++lane) {
                const double difference = a[k + lane] - b[k + lane];
                sums[lane] += difference * difference;
            }
        for (; k < width; ++k) sums[k % 4] += (a[k] - b[k]) * (a[k] - b[k]);
        lengths.data()[pair] = std::sqrt((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
}

// Samples from which ways are searched at the same time: a cache line.
constexpr std::int64_t TOGETHER = 8;

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

// Shortens ways (n, TOGETHER) along the edges of samples whose own were, until none is any more: forth and back.
HNE_VECTORIZED
void settle(const std::int64_t *begin, const std::int64_t *ends, const double *steps, std::int64_t n, double *ways,
            char *is_new) {
    bool is_done = false;
    for (std::int64_t sweep = 0; !is_done; ++sweep) {
        is_done = true;
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t sample = sweep % 2 ? n - 1 - i : i;
            if (!is_new[sample]) continue;
            is_new[sample] = 0;
            is_done = false;
            double here[TOGETHER], there[TOGETHER];
            for (int way = 0; way < TOGETHER; ++way) here[way] = ways[sample * TOGETHER + way];
            for (std::int64_t at = begin[sample]; at < begin[sample + 1]; ++at) {
                double *known = ways + ends[at] * TOGETHER;
                std::int64_t gained = 0;
                for (int way = 0; way < TOGETHER; ++way) {
                    const double around = here[way] + steps[at];
                    there[way] = around < known[way] ? around : known[way];
                }
                for (int way = 0; way < TOGETHER; ++way) gained |= -static_cast<std::int64_t>(there[way] < known[way]);
                if (gained == 0) continue;
                for (int way = 0; way < TOGETHER; ++way) known[way] = there[way];
                is_new[ends[at]] = 1;
            }
        }
    }
}

// Shortest ways (s, n) from some samples. Ways from several at a time are shortened along all edges until none is any
// more, forth and back in the order of the first of them: a third of the time of one after the other.
void shortest_ways(Indices<1> starts, Indices<1> columns, Floats<1> lengths, Indices<1> sources,
                   Array<double, 2> ways) {
    const std::int64_t n = static_cast<std::int64_t>(starts.size()) - 1;
    const std::int64_t count = static_cast<std::int64_t>(sources.size());
    const double far = std::numeric_limits<double>::infinity();
    std::vector<double> away(n, far);
    lower(starts.data(), columns.data(), lengths.data(), sources.data()[0], away.data());
    if (count == 1) {
        std::copy(away.begin(), away.end(), ways.data());
        return;
    }
    std::vector<std::int64_t> order(n), place(n), begin(n + 1, 0);
    for (std::int64_t i = 0; i < n; ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::int64_t one, std::int64_t other) {
        return away[one] < away[other] || (away[one] == away[other] && one < other);
    });
    for (std::int64_t i = 0; i < n; ++i) {
        place[order[i]] = i;
        begin[i + 1] = begin[i] + starts.data()[order[i] + 1] - starts.data()[order[i]];
    }
    std::vector<std::int64_t> ends(begin[n]);
    std::vector<double> steps(begin[n]);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t at = starts.data()[order[i]], to = begin[i]; to < begin[i + 1]; ++at, ++to) {
            ends[to] = place[columns.data()[at]];
            steps[to] = lengths.data()[at];
        }
    std::vector<double> together(n * TOGETHER);
    std::vector<char> is_new(n);
    for (std::int64_t first = 0; first < count; first += TOGETHER) {
        const std::int64_t used = std::min(TOGETHER, count - first);
        std::fill(together.begin(), together.end(), far);
        std::fill(is_new.begin(), is_new.end(), 0);
        for (std::int64_t i = 0; i < used; ++i) {
            together[place[sources.data()[first + i]] * TOGETHER + i] = 0.0;
            is_new[place[sources.data()[first + i]]] = 1;
        }
        settle(begin.data(), ends.data(), steps.data(), n, together.data(), is_new.data());
        for (std::int64_t i = 0; i < used; ++i)
            for (std::int64_t sample = 0; sample < n; ++sample)
                ways.data()[(first + i) * n + sample] = together[place[sample] * TOGETHER + i];
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
