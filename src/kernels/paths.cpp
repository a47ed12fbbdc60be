// Graphs of samples: their edges, shortest ways within limits, spanning forests, and what they hang together by.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "queue.h"

namespace {

using Index = std::int64_t;
constexpr double FAR = std::numeric_limits<double>::infinity();

// Edges of lists of neighbors (n, k), -1 behind the last, by their ends: (e,) the smaller and the larger, (e, 2) whether
// the one lists the other, and the other the one. Returns how many there are; arrays have room for as many as are listed.
Index list_edges(Indices<2> indices, Array<Index, 1> smaller, Array<Index, 1> larger, Array<bool, 2> is_listed) {
    const Index n = indices.shape(0), k = indices.shape(1);
    const Index *listed = indices.data();
    // Who lists whom, by whom: rows ascend.
    std::vector<Index> starts(n + 1, 0);
    for (Index entry = 0; entry < n * k; ++entry)
        if (listed[entry] >= 0) ++starts[listed[entry] + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<Index> by(starts[n]), ends(starts.begin(), starts.end() - 1), own;
    for (Index row = 0; row < n; ++row)
        for (Index entry = row * k; entry < row * k + k; ++entry)
            if (listed[entry] >= 0) by[ends[listed[entry]]++] = row;
    Index count = 0;
    for (Index row = 0; row < n; ++row) {
        own.clear();
        for (Index entry = row * k; entry < row * k + k; ++entry)
            if (listed[entry] > row) own.push_back(listed[entry]);
        std::sort(own.begin(), own.end());
        own.erase(std::unique(own.begin(), own.end()), own.end());
        const Index *one = own.data(), *last_one = own.data() + own.size();
        const Index *other = by.data() + starts[row], *last_other = by.data() + starts[row + 1];
        other = std::upper_bound(other, last_other, row);
        while (one < last_one || other < last_other) {
            const bool is_own = other == last_other || (one < last_one && *one <= *other);
            const bool is_by = one == last_one || (other < last_other && *other <= *one);
            smaller.data()[count] = row;
            larger.data()[count] = is_own ? *one : *other;
            is_listed.data()[2 * count] = is_own;
            is_listed.data()[2 * count + 1] = is_by;
            one += is_own;
            while (is_by && other < last_other && *other == larger.data()[count]) ++other;
            ++count;
        }
    }
    return count;
}

// Sorted edges as rows of a symmetric matrix: where rows begin (n + 1,), columns and numbers of edges (2 e,).
void fill_rows(Indices<1> smaller, Indices<1> larger, Indices<1> numbers, Array<Index, 1> starts,
               Array<Index, 1> columns, Array<Index, 1> of_edges) {
    const Index n = starts.size() - 1, count = smaller.size();
    std::vector<Index> lower(n, 0), upper(n, 0);
    for (Index edge = 0; edge < count; ++edge) {
        ++upper[smaller.data()[edge]];
        ++lower[larger.data()[edge]];
    }
    starts.data()[0] = 0;
    for (Index row = 0; row < n; ++row) {
        starts.data()[row + 1] = starts.data()[row] + lower[row] + upper[row];
        // From here on, where the next one goes: smaller ends come first.
        upper[row] = starts.data()[row] + lower[row];
        lower[row] = starts.data()[row];
    }
    for (Index edge = 0; edge < count; ++edge) {
        const Index one = smaller.data()[edge], other = larger.data()[edge];
        columns.data()[upper[one]] = other;
        of_edges.data()[upper[one]++] = numbers.data()[edge];
        columns.data()[lower[other]] = one;
        of_edges.data()[lower[other]++] = numbers.data()[edge];
    }
}

// Length of the shortest way from each source to its end, inf where it is beyond the limit, and its most suspicious
// edge or -1. Dijkstra's algorithm over the edges that may be used; a search touches no more than its limit reaches.
void bounded_ways(Indices<1> starts, Indices<1> columns, Indices<1> numbers, Array<const bool, 1> is_usable,
                  Floats<1> lengths, Floats<1> suspicion, Indices<1> sources, Indices<1> ends, Floats<1> limits,
                  Array<double, 1> ways, Array<Index, 1> worst) {
    const Index n = starts.size() - 1;
    std::vector<double> reached(n, FAR);
    std::vector<Index> before(n), by(n), touched;
    Queue queue;
    for (std::size_t query = 0; query < sources.size(); ++query) {
        const Index source = sources.data()[query];
        ways.data()[query] = FAR;
        worst.data()[query] = -1;
        queue.clear();
        queue.push({0.0, source});
        reached[source] = 0.0;
        touched.assign(1, source);
        while (!queue.is_empty()) {
            auto [key, sample] = queue.pop();
            if (key > reached[sample]) continue;
            if (sample == ends.data()[query]) {
                ways.data()[query] = key;
                for (Index &edge = worst.data()[query]; sample != source; sample = before[sample])
                    if (edge < 0 || suspicion.data()[by[sample]] > suspicion.data()[edge]) edge = by[sample];
                break;
            }
            for (Index entry = starts.data()[sample]; entry < starts.data()[sample + 1]; ++entry) {
                const Index other = columns.data()[entry], edge = numbers.data()[entry];
                if (!is_usable.data()[edge]) continue;
                const double way = key + lengths.data()[edge];
                if (way > limits.data()[query] || way >= reached[other]) continue;
                if (reached[other] == FAR) touched.push_back(other);
                reached[other] = way;
                before[other] = sample;
                by[other] = edge;
                queue.push({way, other});
            }
        }
        for (Index sample : touched) reached[sample] = FAR;
    }
}

// Sets of samples, each known by the first of its own.
class Sets {
  public:
    explicit Sets(Index n) : above(n) { std::iota(above.begin(), above.end(), Index{0}); }

    Index first(Index sample) {
        while (above[sample] != sample) sample = above[sample] = above[above[sample]];
        return sample;
    }

    // Whether there were two sets.
    bool join(Index one, Index other) {
        one = first(one);
        other = first(other);
        above[std::max(one, other)] = std::min(one, other);
        return one != other;
    }

  private:
    std::vector<Index> above;
};

// Which edges join two parts, taken in this order: Kruskal's spanning forest.
void join_in_order(Indices<1> one, Indices<1> other, Indices<1> order, Index n, Array<bool, 1> joins) {
    Sets parts(n);
    for (std::size_t place = 0; place < order.size(); ++place) {
        const Index edge = order.data()[place];
        joins.data()[edge] = parts.join(one.data()[edge], other.data()[edge]);
    }
}

// Of the wanted edges, in turn, those that leave both ends so many edges, and so many neighbors in their lists. Returns
// how many these are.
Index take_while_enough(Indices<1> smaller, Indices<1> larger, Array<const bool, 2> is_listed, Indices<1> wanted,
                        Index n, Index fewest, Array<Index, 1> taken) {
    std::vector<Index> degree(n, 0), n_listed(n, 0);
    const auto ends = [&](Index edge, int side) { return (side ? larger : smaller).data()[edge]; };
    const auto lists = [&](Index edge, int side) { return is_listed.data()[2 * edge + side]; };
    for (Index edge = 0; edge < static_cast<Index>(smaller.size()); ++edge)
        for (int side = 0; side < 2; ++side) {
            ++degree[ends(edge, side)];
            n_listed[ends(edge, side)] += lists(edge, side);
        }
    Index count = 0;
    for (std::size_t place = 0; place < wanted.size(); ++place) {
        const Index edge = wanted.data()[place];
        bool is_spare = true;
        for (int side = 0; side < 2; ++side)
            is_spare &= degree[ends(edge, side)] > fewest &&
                        (!lists(edge, side) || n_listed[ends(edge, side)] > fewest);
        if (!is_spare) continue;
        for (int side = 0; side < 2; ++side) {
            --degree[ends(edge, side)];
            n_listed[ends(edge, side)] -= lists(edge, side);
        }
        taken.data()[count++] = edge;
    }
    return count;
}

// Pieces of lists of neighbors (n, k), -1 for none, numbered by their first samples (n,). Returns how many there are.
Index label_pieces(Indices<2> indices, Array<Index, 1> labels) {
    const Index n = indices.shape(0), k = indices.shape(1);
    Sets parts(n);
    for (Index entry = 0; entry < n * k; ++entry)
        if (indices.data()[entry] >= 0) parts.join(entry / k, indices.data()[entry]);
    Index count = 0;
    for (Index sample = 0; sample < n; ++sample) {
        const Index first = parts.first(sample);
        labels.data()[sample] = first == sample ? count++ : labels.data()[first];
    }
    return count;
}

// Blocks of a graph, numbers (e,): two edges are in one if they lie on a circle (Hopcroft and Tarjan 1973). And the
// forest by which they were found: of each sample its parent, -1 for the first of a piece, and how many it is above.
Index fill_blocks(Indices<1> starts, Indices<1> columns, Indices<1> numbers, Array<Index, 1> parents,
                  Array<Index, 1> sizes, Array<Index, 1> blocks) {
    const Index n = starts.size() - 1;
    std::vector<Index> found(n, -1), low(n), next(n), edge_above(n), path, open;
    Index n_found = 0, n_blocks = 0;
    const auto enter = [&](Index sample, Index parent, Index edge) {
        parents.data()[sample] = parent;
        edge_above[sample] = edge;
        sizes.data()[sample] = 1;
        found[sample] = low[sample] = n_found++;
        next[sample] = starts.data()[sample];
        path.push_back(sample);
    };
    for (Index root = 0; root < n; ++root) {
        if (found[root] >= 0) continue;
        enter(root, -1, -1);
        while (!path.empty()) {
            const Index sample = path.back(), parent = parents.data()[sample];
            if (next[sample] < starts.data()[sample + 1]) {
                const Index entry = next[sample]++, other = columns.data()[entry];
                if (found[other] < 0) {
                    open.push_back(numbers.data()[entry]);
                    enter(other, sample, numbers.data()[entry]);
                } else if (other != parent && found[other] < found[sample]) {
                    open.push_back(numbers.data()[entry]);
                    low[sample] = std::min(low[sample], found[other]);
                }
                continue;
            }
            path.pop_back();
            if (parent < 0) continue;
            sizes.data()[parent] += sizes.data()[sample];
            low[parent] = std::min(low[parent], low[sample]);
            if (low[sample] < found[parent]) continue;
            // Nothing below leads above the parent: all edges since the one that led here are a block.
            Index edge;
            do {
                edge = open.back();
                open.pop_back();
                blocks.data()[edge] = n_blocks;
            } while (edge != edge_above[sample]);
            ++n_blocks;
        }
    }
    return n_blocks;
}

} // namespace

void add_paths(nb::module_ &module) {
    module.def("list_edges", &list_edges, NoLock());
    module.def("fill_rows", &fill_rows, NoLock());
    module.def("bounded_ways", &bounded_ways, NoLock());
    module.def("join_in_order", &join_in_order, NoLock());
    module.def("take_while_enough", &take_while_enough, NoLock());
    module.def("label_pieces", &label_pieces, NoLock());
    module.def("fill_blocks", &fill_blocks, NoLock());
}
