// A block of samples -> squared distances of all others, and their ranks in X and in Y.
//
// Distances sum over features in the order of SciPy's, so that both have the same bits. Ranks are by distance, equal
// distances by index; the sample itself, at distance -1, has rank 0.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "arrays.h"

namespace {

// From here on sorting, at 10 ns a sample, beats counting, at 0.3 ns a sample and neighbor.
constexpr std::int64_t COUNTED_NEIGHBORS = 32;
// Samples and features that all rows of a block meet in turn: 64 KB, which stay in the second cache.
constexpr std::int64_t TILE = 512, TILE_FEATURES = 16;
// Distances that are looked at one by one only if some of them are near.
constexpr std::int64_t AT_ONCE = 128;
constexpr double FAR = std::numeric_limits<double>::infinity();
// Keys are sorted by digits of so many bits; two digits order distances well enough for a few exchanges to finish it.
constexpr int DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, SHORT_BITS = 22, ALL_BITS = 64;
// Exchanges a sample after which a general sort is faster.
constexpr std::int64_t PATIENCE = 32;

HNE_VECTORIZED void add_squares(const double *columns, std::int64_t n, std::int64_t first, std::int64_t last,
                                std::int64_t start, std::int64_t stop, std::int64_t sample, double *sums) {
    for (std::int64_t feature = first; feature < last; ++feature) {
        const double *values = columns + feature * n, value = values[sample];
        for (std::int64_t other = start; other < stop; ++other)
            sums[other] += (value - values[other]) * (value - values[other]);
    }
}

// Squared distances (b, n) of some samples to all, -1 to themselves; `columns` (D, n) has a row a feature.
void squared_distances(Floats<2> columns, Indices<1> rows, Array<double, 2> distances) {
    const std::int64_t n_features = columns.shape(0), n = columns.shape(1), b = rows.size();
    std::fill(distances.data(), distances.data() + b * n, 0.0);
    for (std::int64_t start = 0; start < n; start += TILE)
        for (std::int64_t first = 0; first < n_features; first += TILE_FEATURES)
            for (std::int64_t row = 0; row < b; ++row)
                add_squares(columns.data(), n, first, std::min(first + TILE_FEATURES, n_features), start,
                            std::min(start + TILE, n), rows(row), distances.data() + row * n);
    for (std::int64_t row = 0; row < b; ++row) distances(row, rows(row)) = -1.0;
}

HNE_VECTORIZED std::int64_t count_below(const double *distances, std::int64_t n, double limit) {
    std::int64_t count = 0;
    for (std::int64_t sample = 0; sample < n; ++sample) count += distances[sample] < limit;
    return count;
}

// The k nearest in a row of distances, nearest first, equally near ones by index; without `left_out`, -1 for none.
void find_nearest(const double *distances, std::int64_t n, std::int64_t left_out, std::int64_t k, std::int64_t *near) {
    std::int64_t size = 0;
    for (std::int64_t first = 0; first < n; first += AT_ONCE) {
        const std::int64_t last = std::min(first + AT_ONCE, n);
        if (size == k && !count_below(distances + first, last - first, distances[near[k - 1]])) continue;
        for (std::int64_t sample = first; sample < last; ++sample) {
            const double length = distances[sample];
            if (sample == left_out || (size == k && !(length < distances[near[k - 1]]))) continue;
            std::int64_t place = size < k ? size++ : k - 1;
            for (; place > 0 && length < distances[near[place - 1]]; --place) near[place] = near[place - 1];
            near[place] = sample;
        }
    }
}

HNE_VECTORIZED std::int64_t count_nearer(const double *distances, std::int64_t n, std::int64_t sample) {
    const double length = distances[sample];
    std::int64_t nearer = 0;
    for (std::int64_t other = 0; other < sample; ++other) nearer += distances[other] <= length;
    for (std::int64_t other = sample + 1; other < n; ++other) nearer += distances[other] < length;
    return nearer;
}

// Sum over the samples that are no neighbors of their ranks less k; `kept` counts those that are.
std::int64_t excess(const double *distances, std::int64_t n, const std::vector<std::int64_t> &samples,
                    const std::vector<std::int64_t> &neighbors, std::int64_t k, std::int64_t &kept) {
    std::int64_t sum = 0;
    kept = 0;
    for (std::int64_t position = 1; position <= k; ++position) {
        const std::int64_t sample = samples[position];
        if (std::find(neighbors.begin() + 1, neighbors.begin() + k + 1, sample) != neighbors.begin() + k + 1)
            ++kept;
        else
            sum += count_nearer(distances, n, sample) - k;
    }
    return sum;
}

// Ranks of all samples by their distances: positive numbers are in the order of their bits.
class Ranker {
  public:
    explicit Ranker(std::int64_t n) : n(n), keys(n), shortened(n), order(n), other(n), starts(DIGITS + 1) {}

    void rank(const double *distances, std::vector<std::int32_t> &ranks) {
        std::uint64_t smallest = ~0ull, largest = 1;
        for (std::int64_t sample = 0; sample < n; ++sample) {
            std::uint64_t bits;
            std::memcpy(&bits, distances + sample, sizeof bits);
            // The sample itself has key 0, its copies 1: they come before all others.
            keys[sample] = distances[sample] >= 0 ? bits + 1 : 0;
            order[sample] = sample;
            if (keys[sample] > 1) {
                smallest = std::min(smallest, keys[sample]);
                largest = std::max(largest, keys[sample]);
            }
        }
        smallest = std::min(smallest, largest);
        int shift = 0;
        while ((largest - smallest) >> shift >= (1u << SHORT_BITS) - 1) ++shift;
        for (std::int64_t sample = 0; sample < n; ++sample)
            shortened[sample] = keys[sample] > 1 ? 1 + ((keys[sample] - smallest) >> shift) : 0;
        sort(shortened, SHORT_BITS);
        if (!finish()) {
            for (std::int64_t sample = 0; sample < n; ++sample) order[sample] = sample;
            sort(keys, ALL_BITS);
        }
        for (std::int64_t position = 0; position < n; ++position)
            ranks[order[position]] = static_cast<std::int32_t>(position);
    }

  private:
    // Sorts the samples by their keys, digit by digit from the last; those with equal keys keep their order.
    void sort(const std::vector<std::uint64_t> &by, int n_bits) {
        for (int shift = 0; shift < n_bits; shift += DIGIT_BITS) {
            std::fill(starts.begin(), starts.end(), 0);
            for (const std::uint64_t key : by) ++starts[((key >> shift) & (DIGITS - 1)) + 1];
            for (int digit = 0; digit < DIGITS; ++digit) starts[digit + 1] += starts[digit];
            for (const std::int64_t sample : order) other[starts[(by[sample] >> shift) & (DIGITS - 1)]++] = sample;
            std::swap(order, other);
        }
    }

    // Sorts what is nearly sorted by exchanging neighbors, or gives up: whether it is sorted now.
    bool finish() {
        std::int64_t patience = PATIENCE * n;
        for (std::int64_t position = 1; position < n; ++position) {
            const std::int64_t sample = order[position];
            std::int64_t place = position;
            for (; place > 0 && keys[sample] < keys[order[place - 1]]; --place) order[place] = order[place - 1];
            order[place] = sample;
            patience -= position - place;
            if (patience < 0) return false;
        }
        return true;
    }

    std::int64_t n;
    std::vector<std::uint64_t> keys, shortened;
    std::vector<std::int64_t> order, other, starts;
};

// Three sums (b, 3) for each sample, of squared distances (b, n) in both spaces: over its k neighbors in Y, by how much
// their ranks in X exceed k; the same with X and Y exchanged; and how many samples are neighbors in both.
void neighbor_sums(Floats<2> in_X, Floats<2> in_Y, std::int64_t k, Array<std::int64_t, 2> sums) {
    const std::int64_t b = in_X.shape(0), n = in_X.shape(1);
    const bool is_counted = k <= COUNTED_NEIGHBORS;
    std::vector<std::int64_t> near_X(k + 1), near_Y(k + 1);
    Ranker ranker(is_counted ? 0 : n);
    std::vector<std::int32_t> ranks_X(is_counted ? 0 : n), ranks_Y(is_counted ? 0 : n);
    for (std::int64_t row = 0; row < b; ++row) {
        const double *to_X = &in_X(row, 0), *to_Y = &in_Y(row, 0);
        std::int64_t *of_row = &sums(row, 0);
        if (is_counted) {
            find_nearest(to_X, n, -1, k + 1, near_X.data());
            find_nearest(to_Y, n, -1, k + 1, near_Y.data());
            of_row[0] = excess(to_X, n, near_Y, near_X, k, of_row[2]);
            of_row[1] = excess(to_Y, n, near_X, near_Y, k, of_row[2]);
            continue;
        }
        std::fill(of_row, of_row + 3, 0);
        ranker.rank(to_X, ranks_X);
        ranker.rank(to_Y, ranks_Y);
        for (std::int64_t sample = 0; sample < n; ++sample) {
            const std::int64_t rank_X = ranks_X[sample], rank_Y = ranks_Y[sample];
            if (rank_Y <= k && k < rank_X)
                of_row[0] += rank_X - k;
            else if (rank_X <= k && k < rank_Y)
                of_row[1] += rank_Y - k;
            else if (0 < rank_X && rank_X <= k)
                ++of_row[2];
        }
    }
}

// How many samples have each number from 0 to n - 1 as the larger of their ranks in X and in Y, (b, n).
void larger_rank_counts(Floats<2> in_X, Floats<2> in_Y, Array<std::int64_t, 2> counts) {
    const std::int64_t b = in_X.shape(0), n = in_X.shape(1);
    std::fill(counts.data(), counts.data() + b * n, 0);
    Ranker ranker(n);
    std::vector<std::int32_t> ranks_X(n), ranks_Y(n);
    for (std::int64_t row = 0; row < b; ++row) {
        ranker.rank(&in_X(row, 0), ranks_X);
        ranker.rank(&in_Y(row, 0), ranks_Y);
        for (std::int64_t sample = 0; sample < n; ++sample) ++counts(row, std::max(ranks_X[sample], ranks_Y[sample]));
    }
}

// The K nearest (q, K) in rows of distances (q, n), without the samples themselves.
void nearest_columns(std::int64_t start, std::int64_t stop, Floats<2> away, Indices<1> own, Array<std::int64_t, 2> near) {
    const std::int64_t n = away.shape(1), K = near.shape(1);
    for (std::int64_t row = start; row < stop; ++row)
        find_nearest(away.data() + row * n, n, own.data()[row], K, near.data() + row * K);
}

// Of each row, how far strangers among the K nearest in Y are off in X (q, 2), and neighbors in X in Y. X is known by
// distances (q, n), inf where not known, of which the K nearest are `near`; the coordinates of Y are columns (d, n).
void lost_ranks(std::int64_t start, std::int64_t stop, Floats<2> away, Indices<1> own, Indices<2> near, Floats<2> Y,
                Array<std::int64_t, 2> lost) {
    const std::int64_t d = Y.shape(0), n = Y.shape(1), K = near.shape(1);
    std::vector<double> drawn(n);
    std::vector<std::int64_t> nearest(K);
    for (std::int64_t row = start; row < stop; ++row) {
        const std::int64_t self = own.data()[row], *known = near.data() + row * K;
        const double *to = away.data() + row * n;
        std::fill(drawn.begin(), drawn.end(), 0.0);
        add_squares(Y.data(), n, 0, d, 0, n, self, drawn.data());
        drawn[self] = FAR;
        find_nearest(drawn.data(), n, self, K, nearest.data());
        std::int64_t strangers = 0, missing = 0;
        for (std::int64_t sample : nearest)
            if (std::find(known, known + K, sample) == known + K) {
                // What is not known comes last.
                const std::int64_t rank = to[sample] == FAR ? n - 1 : count_nearer(to, n, sample);
                strangers += std::max<std::int64_t>(rank - K, 0);
            }
        for (std::int64_t slot = 0; slot < K; ++slot)
            if (drawn[known[slot]] > drawn[nearest[K - 1]])
                missing += std::max<std::int64_t>(count_below(drawn.data(), n, drawn[known[slot]]) + 1 - K, 0);
        lost.data()[2 * row] = strangers;
        lost.data()[2 * row + 1] = missing;
    }
}

} // namespace

void add_ranks(nb::module_ &module) {
    module.def("squared_distances", &squared_distances, NoLock());
    module.def("neighbor_sums", &neighbor_sums, NoLock());
    module.def("larger_rank_counts", &larger_rank_counts, NoLock());
    module.def("nearest_columns", &nearest_columns, NoLock());
    module.def("lost_ranks", &lost_ranks, NoLock());
}
