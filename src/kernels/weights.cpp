// Both layers' weights, target by target.
//
// Letters: k neighbors a target, m slots. A slot is a place in a target's list of distinct samples within two hops,
// ascending. K (m, m) is the Gram matrix of the differences `sample - target`; after it, nothing costs D any more.
// Lists may be short: -1 stands behind the last neighbor.
#include <algorithm>
#include <cmath>
#include <vector>

#include "lanes.h"
#include "neighborhood.h"

namespace {

// Ridge floor relative to the lengths that a Gram matrix was summed up from: what rounding may have taken from it
// already. It binds only where they cancel: BHNE on near-duplicates, or with weights in the thousands from a tiny reg.
constexpr double NOISE = 1e-15;
// 2**1000 is the largest unit that a Gram matrix is measured in: its inverse is still a normal number.
constexpr int SMALLEST_EXPONENT = -1000;
// Rows and columns of a Gram matrix that are summed at once, so that sums stay in registers.
constexpr int TILE_ROWS = 4, TILE_COLUMNS = 8;

enum Variant : std::int64_t { IHNE, RHNE, BHNE }; // in the order of hne.settings.VARIANTS

// What the variants need for one target, kept from one to the next and grown to the largest.
struct Workspace {
    explicit Workspace(int k) : k(k), lanes(LANES * (k * k + 2 * k)) {
        C = reinterpret_cast<Lanes *>(lanes.data());
        v = C + k * k;
        ones = v + k;
    }

    void hold(int m) {
        if (static_cast<std::size_t>(m) <= rest.size()) return;
        for (auto *each : {&column, &rest, &pull}) each->resize(m);
        for (auto *each : {&start, &z}) each->resize(k * m);
        wide.resize(static_cast<std::size_t>(m) * m);
        picked.resize(m);
    }

    // For one system at a time.
    double *one_C() { return lanes.data(); }
    double *one_v() { return lanes.data() + k * k; }
    double *one_ones() { return lanes.data() + k * k + k; }

    int k;
    std::vector<double> lanes;
    Lanes *C, *v, *ones; // (k, k), (k,), (k,)
    std::vector<double> wide, column, rest, pull, start, z;
    std::vector<int> picked;
};

struct Gram {
    const double *K;
    int stride;
    double operator()(int one, int other) const { return K[one * stride + other]; }
};

// The Gram matrix of the differences from the target, in units of the farthest of them: weights do not change with the
// unit, and it keeps the squares of huge and tiny differences in range. Sums run over the features in their order.
HNE_VECTORIZED void local_gram(const double *X, std::int64_t D, const double *target, const Neighborhood &near,
                               double *difference, double *K, int stride) {
    const int m = near.m;
    double reach = 0.0;
    for (int slot = 0; slot < m; ++slot) {
        const double *sample = X + near.ids[slot] * D;
        for (std::int64_t axis = 0; axis < D; ++axis) {
            const double step = sample[axis] - target[axis];
            difference[axis * stride + slot] = step;
            reach = std::max(reach, std::fabs(step));
        }
    }
    int exponent;
    std::frexp(reach, &exponent);
    const double unit = std::ldexp(1.0, -std::max(exponent, SMALLEST_EXPONENT));
    for (std::int64_t axis = 0; axis < D; ++axis) {
        double *of_axis = difference + axis * stride;
        for (int slot = 0; slot < m; ++slot) of_axis[slot] *= unit;
        for (int slot = m; slot < stride; ++slot) of_axis[slot] = 0.0;
    }
    for (int first = 0; first < m; first += TILE_ROWS)
        for (int second = 0; second < first + TILE_ROWS; second += TILE_COLUMNS) {
            double sums[TILE_ROWS][TILE_COLUMNS] = {};
            for (std::int64_t axis = 0; axis < D; ++axis) {
                const double *one = difference + axis * stride + first, *other = difference + axis * stride + second;
                for (int row = 0; row < TILE_ROWS; ++row)
                    for (int column = 0; column < TILE_COLUMNS; ++column) sums[row][column] += one[row] * other[column];
            }
            for (int row = 0; row < TILE_ROWS; ++row)
                for (int column = 0; column < TILE_COLUMNS; ++column)
                    K[(first + row) * stride + second + column] = sums[row][column];
        }
    for (int first = 0; first < m; ++first)
        for (int second = 0; second < first; ++second) K[second * stride + first] = K[first * stride + second];
}

HNE_INLINE double &in_lane(double *numbers, int place, int) { return numbers[place]; }
HNE_INLINE double &in_lane(Lanes *numbers, int place, int lane) {
    return reinterpret_cast<double *>(numbers + place)[lane];
}

// Puts the Gram matrix of up to k slots, absent ones -1, into a lane, and returns its trace.
template <typename Number>
HNE_INLINE double select(const Gram &K, const int *slots, int k, int lane, Number *C, Number *ones) {
    double trace = 0.0;
    for (int a = 0; a < k; ++a) {
        const int one = slots[a];
        in_lane(ones, a, lane) = one >= 0 ? 1.0 : 0.0;
        const double *row = K.K + std::max(one, 0) * K.stride;
        for (int b = 0; b <= a; ++b) {
            const int other = slots[b];
            in_lane(C, a * k + b, lane) = one >= 0 && other >= 0 ? row[other] : 0.0;
        }
        if (one >= 0) trace += row[one];
    }
    return trace;
}

// Every point equals its target where there is no ridge: with C = 0 any gives equal weights.
HNE_INLINE double positive(double ridge) { return ridge > 0 ? ridge : 1.0; }

// Weights w (k,) with which the neighbors rebuild the target (plain LLE).
HNE_VECTORIZED void inner_weights(const Gram &K, const Neighborhood &near, double reg, Workspace &work, double *w) {
    const int k = near.k;
    double *C = work.one_C(), *ones = work.one_ones();
    const double ridge = positive(reg * select(K, near.inner.data(), k, 0, C, ones));
    solve_ones(C, k, ridge, ones, w);
}

// IHNE: each outer neighborhood rebuilds the target itself, eight of them at a time. A neighbor without a list stands
// for itself.
HNE_LANEWISE void ihne(const Gram &K, const Neighborhood &near, const double *w, double reg, Workspace &work,
                         double *joint) {
    const int k = near.k;
    for (int first = 0; first < near.length; first += LANES) {
        const int last = std::min(first + LANES, near.length);
        Lanes ridge;
        for (int lane = 0; lane < LANES; ++lane) {
            const int *slots = near.outer.data() + std::min(first + lane, last - 1) * k;
            ridge.of[lane] = positive(reg * select(K, slots, k, lane, work.C, work.ones));
        }
        solve_ones(work.C, k, ridge, work.ones, work.v);
        for (int l = first; l < last; ++l) {
            bool is_alone = true;
            for (int j = 0; j < k; ++j) {
                const int slot = near.outer[l * k + j];
                if (slot < 0) continue;
                joint[slot] += w[l] * work.v[j].of[l - first];
                is_alone = false;
            }
            if (is_alone) joint[near.inner[l]] += w[l];
        }
    }
}

// RHNE: all outer samples rebuild the target at once, repeats kept. Repeats of a sample get equal weights, so with c its
// count the k^2 problem is one over distinct samples: (K + rho diag(1/c)) u = 1 for the summed weight u of each, with
// rho = r * sum(c * diag(K)).
HNE_VECTORIZED void rhne(const Gram &K, const Neighborhood &near, const double *w, double reg, Workspace &work,
                         double *joint) {
    double *counts = work.rest.data(), *C = work.wide.data(), *column = work.column.data(), *u = work.pull.data();
    int *slots = work.picked.data(), size = 0;
    std::fill(counts, counts + near.m, 0.0);
    for (const int slot : near.outer)
        if (slot >= 0) counts[slot] += 1.0;
    double trace = 0.0;
    for (int slot = 0; slot < near.m; ++slot)
        if (counts[slot] > 0) {
            slots[size++] = slot;
            trace += counts[slot] * K(slot, slot);
        }
    if (size == 0) {
        // Nobody in the outer layer: the inner weights stay on the neighbors.
        for (int l = 0; l < near.length; ++l) joint[near.inner[l]] += w[l];
        return;
    }
    const double ridge = reg * trace > 0 ? reg * trace : 1.0;
    for (int a = 0; a < size; ++a) {
        for (int b = 0; b <= a; ++b) C[a * size + b] = K(slots[a], slots[b]);
        C[a * size + a] += ridge / counts[slots[a]];
        u[a] = 1.0;
    }
    for (int c = 0; c < size; ++c) {
        const double inverse = 1.0 / std::sqrt(std::max(C[c * size + c], 0.0));
        C[c * size + c] = inverse;
        u[c] *= inverse;
        for (int a = c + 1; a < size; ++a) {
            column[a] = C[a * size + c] *= inverse;
            u[a] -= column[a] * u[c];
        }
        for (int a = c + 1; a < size; ++a) {
            const double factor = column[a];
            double *row = C + a * size;
            for (int b = c + 1; b <= a; ++b) row[b] -= factor * column[b];
        }
    }
    double sum = 0.0;
    for (int a = size - 1; a >= 0; --a) {
        u[a] *= C[a * size + a];
        sum += u[a];
        const double *row = C + a * size, known = u[a];
        for (int b = 0; b < a; ++b) u[b] -= row[b] * known;
    }
    for (int a = 0; a < size; ++a) joint[slots[a]] = u[a] / sum;
}

// What all neighborhoods but one add up to: s (m,) as coefficients `rest` over the slots, its products `pull` with each
// sample, its squared length `height`, and the length `reach` of its terms one behind the other.
HNE_INLINE void sum_others(const Gram &K, const Neighborhood &near, const double *w, int left_out, const double *from,
                           const double *lengths, double *rest, double *pull, double &height, double &reach) {
    const int m = near.m;
    std::fill(rest, rest + m, 0.0);
    std::fill(pull, pull + m, 0.0);
    for (int other = 0; other < near.length; ++other) {
        if (other == left_out) continue;
        const double *each = from + other * m, share = w[other];
        for (int slot = 0; slot < m; ++slot) rest[slot] += share * each[slot];
    }
    for (int source = 0; source < m; ++source) {
        const double amount = rest[source], *row = K.K + source * K.stride;
        if (amount == 0.0) continue;
        for (int slot = 0; slot < m; ++slot) pull[slot] += amount * row[slot];
    }
    height = reach = 0.0;
    for (int slot = 0; slot < m; ++slot) {
        height += rest[slot] * pull[slot];
        reach += std::fabs(rest[slot]) * lengths[slot];
    }
}

// BHNE: neighborhoods take turns to rebuild what the others leave. Neighborhood l has the points w_l x_j and the target
// t_l, whose differences are w_l (x_j - x) + s with s = sum over the others of w (z - x), here as coefficients over the
// slots: all of it in terms of K. In the first round all are against the original neighbors, later against what the ones
// before have become.
HNE_VECTORIZED void bhne(const Gram &K, const Neighborhood &near, const double *w, double reg, std::int64_t n_rounds,
                         Workspace &work, double *joint) {
    const int k = near.k, m = near.m, length = near.length;
    double *rest = work.rest.data(), *pull = work.pull.data(), *start = work.start.data(), *z = work.z.data();
    double *lengths = work.column.data(); // |x_j - x|
    for (int slot = 0; slot < m; ++slot) lengths[slot] = std::sqrt(K(slot, slot));
    double *C = work.one_C(), *ones = work.one_ones(), *v = work.one_v();
    std::fill(start, start + length * m, 0.0);
    for (int l = 0; l < length; ++l) start[l * m + near.inner[l]] = 1.0;
    std::copy(start, start + length * m, z);
    for (std::int64_t turn = 0; turn < length * (1 + n_rounds); ++turn) {
        const int l = static_cast<int>(turn % length), *slots = near.outer.data() + l * k;
        if (std::all_of(slots, slots + k, [](int slot) { return slot < 0; })) continue;
        const double *from = turn < length ? start : z, weight = w[l];
        double height, reach, terms = 0.0;
        sum_others(K, near, w, l, from, lengths, rest, pull, height, reach);
        select(K, slots, k, 0, C, ones);
        double trace = 0.0;
        for (int a = 0; a < k; ++a) {
            if (slots[a] < 0) continue;
            for (int b = 0; b <= a; ++b)
                if (slots[b] >= 0)
                    C[a * k + b] = weight * (weight * C[a * k + b] + pull[slots[a]] + pull[slots[b]]) + height;
            const double longest = std::fabs(weight) * lengths[slots[a]] + reach;
            terms += longest * longest;
            trace += C[a * k + a];
        }
        solve_ones(C, k, positive(std::max(reg * trace, NOISE * terms)), ones, v);
        std::fill(z + l * m, z + (l + 1) * m, 0.0);
        for (int j = 0; j < k; ++j)
            if (slots[j] >= 0) z[l * m + slots[j]] = v[j];
    }
    for (int l = 0; l < length; ++l)
        for (int slot = 0; slot < m; ++slot) joint[slot] += w[l] * z[l * m + slot];
}

// What of the settings the weights depend on.
struct Settings {
    std::int64_t variant, n_rounds;
    double reg, outer_reg;

    // Weights w (k,), and joint (m,), which is zero before; whether they are finite.
    bool apply(const Gram &K, const Neighborhood &near, Workspace &work, double *w, double *joint) const {
        work.hold(near.m);
        inner_weights(K, near, reg, work, w);
        if (variant == IHNE) ihne(K, near, w, outer_reg, work, joint);
        if (variant == RHNE) rhne(K, near, w, outer_reg, work, joint);
        if (variant == BHNE) bhne(K, near, w, outer_reg, n_rounds, work, joint);
        const auto is_finite = [](double value) { return std::isfinite(value); };
        return std::all_of(w, w + near.length, is_finite) && std::all_of(joint, joint + near.m, is_finite);
    }
};

// Weights of targets (b, D) among dense samples: inner (b, k), zero before, and joint ones without zeros, a row behind
// the other: values and columns, counts (b,). Returns whether all are finite.
bool dense_weights(Floats<2> X, Floats<2> targets, Indices<2> neighbors, Indices<2> lists, Indices<1> left_out,
                   std::int64_t variant, std::int64_t n_rounds, double reg, double outer_reg, Array<double, 2> inner,
                   Array<double, 1> values, Array<std::int64_t, 1> columns, Array<std::int64_t, 1> counts) {
    const int k = static_cast<int>(neighbors.shape(1));
    const std::int64_t b = neighbors.shape(0), D = X.shape(1);
    const Settings settings{variant, n_rounds, reg, outer_reg};
    Neighborhood near(k);
    Workspace work(k);
    std::vector<double> K, difference, joint(k + k * k);
    std::int64_t end = 0;
    for (std::int64_t row = 0; row < b; ++row) {
        const std::int64_t first = end;
        near.find(neighbors.data() + row * k, lists.data(), left_out(row));
        const std::size_t stride = (near.m + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
        if (stride * stride > K.size()) {
            K.resize(stride * stride);
            difference.resize(stride * D);
        }
        const Gram gram{K.data(), static_cast<int>(stride)};
        local_gram(X.data(), D, targets.data() + row * D, near, difference.data(), K.data(), gram.stride);
        std::fill(joint.begin(), joint.begin() + near.m, 0.0);
        if (near.m > 0 && !settings.apply(gram, near, work, inner.data() + row * k, joint.data())) return false;
        for (int slot = 0; slot < near.m; ++slot)
            if (joint[slot] != 0.0) {
                values.data()[end] = joint[slot];
                columns.data()[end++] = near.ids[slot];
            }
        counts(row) = end - first;
    }
    return true;
}

// For samples of other kinds, in two steps: the samples within two hops, ids (b, k + k^2), slots (b, k) and (b, k, k),
// sizes (b,); and the weights of targets with equally many slots by their Gram matrices (b, m, m).
void local_sets(Indices<2> neighbors, Indices<2> lists, Indices<1> left_out, Array<std::int64_t, 2> ids,
                Array<std::int64_t, 2> inner_slots, Array<std::int64_t, 3> outer_slots, Array<std::int64_t, 1> sizes) {
    const int k = static_cast<int>(neighbors.shape(1));
    Neighborhood near(k);
    for (std::size_t row = 0; row < neighbors.shape(0); ++row) {
        near.find(&neighbors(row, 0), lists.data(), left_out(row));
        std::copy(near.ids.begin(), near.ids.begin() + near.m, &ids(row, 0));
        std::copy(near.inner.begin(), near.inner.end(), &inner_slots(row, 0));
        std::copy(near.outer.begin(), near.outer.end(), &outer_slots(row, 0, 0));
        sizes(row) = near.m;
    }
}

bool gram_weights(Floats<3> K, Indices<2> inner_slots, Indices<3> outer_slots, std::int64_t variant,
                  std::int64_t n_rounds, double reg, double outer_reg, Array<double, 2> inner, Array<double, 2> joint) {
    const int k = static_cast<int>(inner_slots.shape(1)), m = static_cast<int>(K.shape(1));
    const Settings settings{variant, n_rounds, reg, outer_reg};
    Neighborhood near(k);
    Workspace work(k);
    near.m = m;
    for (std::size_t row = 0; row < K.shape(0); ++row) {
        std::copy_n(inner_slots.data() + row * k, k, near.inner.begin());
        std::copy_n(outer_slots.data() + row * k * k, k * k, near.outer.begin());
        near.length = static_cast<int>(std::count_if(near.inner.begin(), near.inner.end(), [](int s) { return s >= 0; }));
        double *of_row = joint.data() + row * m;
        std::fill(of_row, of_row + m, 0.0);
        if (!settings.apply({K.data() + row * m * m, m}, near, work, inner.data() + row * k, of_row)) return false;
    }
    return true;
}

} // namespace

void add_weights(nb::module_ &module) {
    module.def("dense_weights", &dense_weights, NoLock());
    module.def("local_sets", &local_sets, NoLock());
    module.def("gram_weights", &gram_weights, NoLock());
}
