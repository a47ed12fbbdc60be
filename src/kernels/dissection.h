// Samples -> an order by nested dissection, and the tree of its parts; rows of A and B are the hyperedges of the graph.
//
// A part is laid out from one side to the other, cut where the fewest samples share a row with the other side, and these
// come after both.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "arrays.h"

namespace {

using Int = std::int32_t;
using Ints = std::vector<Int>;
using Block = std::vector<double>;

constexpr int CORNERS = 300; // samples of a part from which its four corners are worth two more walks

// A sparse matrix by rows (pattern alone) and by columns.
struct Matrix {
    Array<const Int, 1> row_starts, columns, column_starts, rows;
    Floats<1> values; // by columns
    double weight;
};

// Rows whose columns are positions, ascending.
struct Elements {
    Ints positions;
    Block values;
};

// What Python sets when nobody waits any more.
using Flag = Array<const Int, 1>;
bool is_set(const Flag &flag) { return *static_cast<const volatile Int *>(flag.data()) != 0; }

// Lists of numbers, one behind the other.
struct Lists {
    Ints starts, entries;
    const Int *begin(Int list) const { return entries.data() + starts[list]; }
    const Int *end(Int list) const { return entries.data() + starts[list + 1]; }
};

class Dissection {
  public:
    Dissection(const Matrix &inner, const Matrix &joint, Int n, Int leaf, const Flag &give_up)
        : order(n), give_up_(give_up), leaf_(leaf), part_(n, 0) {
        for (auto &steps : steps_) steps.resize(n);
        for (auto &last : last_) last.assign(n, -1);
        for (auto &met : met_) met.assign(n, -1);
        // Samples are numbered as a walk meets them, its end first: neighbors are near each other in memory, and the
        // first is a corner.
        for (Int i = 0; i < n; ++i) order[i] = i;
        find_lists(inner, joint, order, order);
        walk(0, n, 0, 0, steps_[0]);
        const Ints names(queue_.rbegin(), queue_.rend());
        Ints numbers(n);
        for (Int i = 0; i < n; ++i) numbers[names[i]] = i;
        find_lists(inner, joint, names, numbers);
        divide(0, n);
        starts.push_back(n);
        for (Int &sample : order) sample = names[sample];
    }

    Ints order, starts, parents; // samples by position; first position of each node, and the node above, in post-order

  private:
    const Flag &give_up_;
    Int leaf_, n_parts_ = 0;
    Lists neighbors_, rows_[2]; // of each sample: who shares a row of A as its first; rows of A and of B that it is in
    Ints part_, queue_, roots_;
    Ints steps_[4], last_[2], met_[2];

    void find_lists(const Matrix &inner, const Matrix &joint, const Ints &names, const Ints &numbers) {
        const auto copy = [&](const Matrix &matrix, bool by_rows, Int sample, Ints &target) {
            const Int *starts = (by_rows ? matrix.row_starts : matrix.column_starts).data();
            const Int *entries = (by_rows ? matrix.columns : matrix.rows).data();
            for (Int e = starts[sample]; e < starts[sample + 1]; ++e) target.push_back(numbers[entries[e]]);
        };
        const Matrix *matrices[2] = {&inner, &joint};
        for (Lists *lists : {&neighbors_, &rows_[0], &rows_[1]}) {
            lists->starts.assign(1, 0);
            lists->entries.clear();
        }
        for (Int sample : names) {
            copy(inner, true, sample, neighbors_.entries);
            copy(inner, false, sample, neighbors_.entries);
            neighbors_.starts.push_back(static_cast<Int>(neighbors_.entries.size()));
            for (int m = 0; m < 2; ++m) {
                copy(*matrices[m], false, sample, rows_[m].entries);
                rows_[m].starts.push_back(static_cast<Int>(rows_[m].entries.size()));
            }
        }
    }

    void divide(Int begin, Int end) {
        const std::size_t below = roots_.size();
        Int own = begin;
        if (end - begin > leaf_ && !is_set(give_up_)) {
            const auto [middle, separator] = bisect(begin, end);
            // Nothing is gained by a cut that is as large as what it cuts.
            if (middle > begin && separator > middle) {
                divide(begin, middle);
                divide(middle, separator);
                own = separator;
            }
        }
        if (own == end) return;
        const Int node = static_cast<Int>(parents.size());
        starts.push_back(own);
        parents.push_back(-1);
        for (std::size_t child = below; child < roots_.size(); ++child) parents[roots_[child]] = node;
        roots_.resize(below);
        roots_.push_back(node);
    }

    // Steps from a sample to those of its part, through rows of A; who cannot be reached comes last. Fills queue_.
    void walk(Int begin, Int end, Int source, Int part, Ints &steps) {
        queue_.clear();
        for (Int i = begin; i < end; ++i) steps[order[i]] = -1;
        steps[source] = 0;
        queue_.push_back(source);
        Int next = begin;
        for (std::size_t head = 0;; ++head) {
            if (head == queue_.size()) {
                while (next < end && steps[order[next]] >= 0) ++next;
                if (next == end) break;
                steps[order[next]] = steps[queue_.back()] + 1;
                queue_.push_back(order[next]);
            }
            const Int sample = queue_[head], step = steps[sample] + 1;
            for (const Int *other = neighbors_.begin(sample); other < neighbors_.end(sample); ++other)
                if (part_[*other] == part && steps[*other] < 0) {
                    steps[*other] = step;
                    queue_.push_back(*other);
                }
        }
    }

    // Reorders a part into one side, the other side, and what separates them; where the second and the third begin.
    std::pair<Int, Int> bisect(Int begin, Int end) {
        const Int part = ++n_parts_, size = end - begin;
        for (Int i = begin; i < end; ++i) part_[order[i]] = part;
        // Four corners: one end of what the part was cut from, the furthest from there, the furthest from both, and the
        // furthest from that. The two that are nearest to each other make a side, the others the opposite one.
        walk(begin, end, order[begin], part, steps_[0]);
        const Int opposite = queue_.back();
        walk(begin, end, opposite, part, steps_[1]);
        Ints &way = steps_[0];
        if (size < CORNERS) {
            for (Int sample : queue_) way[sample] -= steps_[1][sample];
        } else {
            Int third = opposite, most = 0;
            for (Int sample : queue_)
                if (way[sample] + steps_[1][sample] > most) {
                    third = sample;
                    most = way[sample] + steps_[1][sample];
                }
            walk(begin, end, third, part, steps_[2]);
            const Int fourth = queue_.back();
            walk(begin, end, fourth, part, steps_[3]);
            const bool with_third = way[third] < way[fourth];
            const Ints &beside = steps_[with_third ? 2 : 3], &beyond = steps_[with_third ? 3 : 2];
            for (Int sample : queue_) way[sample] += beside[sample] - steps_[1][sample] - beyond[sample];
        }
        // From one side to the other: a counting sort, ties as the last walk met them.
        Int lowest = 4 * size, highest = -4 * size;
        for (Int sample : queue_) {
            lowest = std::min(lowest, way[sample]);
            highest = std::max(highest, way[sample]);
        }
        Ints places(highest - lowest + 2, 0);
        for (Int sample : queue_) ++places[way[sample] - lowest + 1];
        for (std::size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
        Ints line(size);
        for (Int sample : queue_) line[places[way[sample] - lowest]++] = sample;
        return cut(begin, end, part, line);
    }

    std::pair<Int, Int> cut(Int begin, Int end, Int part, const Ints &line) {
        const Int size = end - begin;
        // How far the rows of a sample reach forward; for a cut before place t, those before t that reach t or more are
        // the separator, counted for all t at once.
        Ints reach(size), crossing(size + 1, 0);
        for (Int i = size - 1; i >= 0; --i) {
            Int furthest = i;
            for (int m = 0; m < 2; ++m)
                for (const Int *row = rows_[m].begin(line[i]); row < rows_[m].end(line[i]); ++row) {
                    if (met_[m][*row] != part) {
                        met_[m][*row] = part;
                        last_[m][*row] = i;
                    }
                    furthest = std::max(furthest, last_[m][*row]);
                }
            reach[i] = furthest;
            ++crossing[i + 1 > size ? size : i + 1];
            if (furthest < size) --crossing[furthest + 1 > size ? size : furthest + 1];
        }
        Int best = -1, width = size, count = 0;
        for (Int t = 0; t < size; ++t) {
            count += crossing[t];
            if (t >= size * 2 / 5 && t <= size * 3 / 5 && count < width) {
                best = t;
                width = count;
            }
        }
        if (best < 0 || width * 2 > size) return {begin, begin};
        Int left = begin, right = begin + best - width, middle = right, separator = end - width, last = separator;
        for (Int i = 0; i < size; ++i) {
            if (i >= best) order[right++] = line[i];
            else if (reach[i] >= best) order[last++] = line[i];
            else order[left++] = line[i];
        }
        return {middle, separator};
    }
};

} // namespace
