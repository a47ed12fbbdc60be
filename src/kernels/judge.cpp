// What an embedding keeps of small neighborhoods, what coordinates tell of each other, and samples of themselves.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.h"
#include "symmetric.h"

namespace {

constexpr double FAR = std::numeric_limits<double>::infinity();

// Of neighborhoods with centered coordinates (a, m, d) and tangent frames U S: the share of the plane that is lost (a,),
// 1 - |U' Q|^2 / d with Q an orthonormal basis of the coordinates; and the shapes J J' (a, d, d) of the maps J from
// tangent coordinates to these.
void compare_frames(std::int64_t start, std::int64_t stop, Floats<3> local, Floats<3> U, Floats<2> S,
                    Array<double, 1> losses, Array<double, 3> shapes) {
    const std::int64_t m = local.shape(1), d = local.shape(2), columns = U.shape(2);
    std::vector<double> across(d * columns);
    Symmetric covariance;
    covariance.resize(d);
    for (std::int64_t row = start; row < stop; ++row) {
        const double *Y = local.data() + row * m * d, *frame = U.data() + row * m * columns;
        const double *lengths = S.data() + row * columns;
        for (std::int64_t p = 0; p < d; ++p) {
            for (std::int64_t q = 0; q <= p; ++q) {
                double sum = 0.0;
                for (std::int64_t a = 0; a < m; ++a) sum += Y[a * d + p] * Y[a * d + q];
                covariance.V(p, q) = covariance.V(q, p) = sum;
            }
            for (std::int64_t c = 0; c < columns; ++c) {
                double sum = 0.0;
                for (std::int64_t a = 0; a < m; ++a) sum += Y[a * d + p] * frame[a * columns + c];
                across[p * columns + c] = sum;
            }
        }
        for (std::int64_t p = 0; p < d; ++p)
            for (std::int64_t q = 0; q < d; ++q) {
                double sum = 0.0;
                for (std::int64_t c = 0; c < columns; ++c)
                    if (lengths[c] > 0)
                        sum += (across[p * columns + c] / lengths[c]) * (across[q * columns + c] / lengths[c]);
                shapes.data()[(row * d + p) * d + q] = sum;
            }
        covariance.solve();
        const double limit = NEGLIGIBLE * covariance.values[d - 1];
        double kept = 0.0;
        for (std::int64_t j = 0; j < d; ++j) {
            if (!(covariance.values[j] > limit)) continue;
            for (std::int64_t c = 0; c < columns; ++c) {
                double sum = 0.0;
                for (std::int64_t p = 0; p < d; ++p) sum += covariance.V(p, j) * across[p * columns + c];
                kept += sum * sum / covariance.values[j];
            }
        }
        const std::int64_t spans = std::count_if(lengths, lengths + columns, [](double one) { return one > 0; });
        losses.data()[row] = 1 - kept / std::max<std::int64_t>(spans, 1);
    }
}

// Logarithms (a, d) of the stretches of the maps W J, given J J' (a, d, d), and their axes (a, d, d), one a column.
void fill_stretches(Floats<2> W, Floats<3> shapes, double most, Array<double, 2> logs, Array<double, 3> axes) {
    const std::int64_t d = W.shape(0);
    std::vector<double> half(d * d);
    Symmetric problem;
    problem.resize(d);
    const double *map = W.data();
    for (std::size_t row = 0; row < shapes.shape(0); ++row) {
        const double *shape = shapes.data() + row * d * d;
        for (std::int64_t p = 0; p < d; ++p)
            for (std::int64_t q = 0; q < d; ++q) {
                double sum = 0.0;
                for (std::int64_t r = 0; r < d; ++r) sum += map[p * d + r] * shape[r * d + q];
                half[p * d + q] = sum;
            }
        for (std::int64_t p = 0; p < d; ++p)
            for (std::int64_t q = 0; q <= p; ++q) {
                double sum = 0.0;
                for (std::int64_t r = 0; r < d; ++r) sum += half[p * d + r] * map[q * d + r];
                problem.V(p, q) = problem.V(q, p) = sum;
            }
        problem.solve();
        for (std::int64_t j = 0; j < d; ++j) {
            const double log = std::log(std::max(problem.values[j], 1e-300)) / 2;
            logs.data()[row * d + j] = std::min(std::max(log, -most), most);
            for (std::int64_t p = 0; p < d; ++p) axes.data()[(row * d + p) * d + j] = problem.V(p, j);
        }
    }
}

// Mean of a value (n,) over the K samples that are nearest to each by its other coordinates (n, c). `order` sorts the
// first of them: a search goes outward from each sample as far as that one alone is nearer than the K-th.
void told_by_others(Floats<2> others, Floats<1> values, Indices<1> order, std::int64_t K, Array<double, 1> means) {
    const std::int64_t n = others.shape(0), c = others.shape(1);
    std::vector<std::pair<double, std::int64_t>> near;
    for (std::int64_t place = 0; place < n; ++place) {
        const std::int64_t sample = order.data()[place];
        const double *own = others.data() + sample * c;
        std::int64_t low = place - 1, high = place + 1;
        near.clear();
        while (low >= 0 || high < n) {
            const double below = low >= 0 ? own[0] - others.data()[order.data()[low] * c] : FAR;
            const double above = high < n ? others.data()[order.data()[high] * c] - own[0] : FAR;
            const double nearer = std::min(below, above);
            if (static_cast<std::int64_t>(near.size()) == K && nearer * nearer >= near.back().first) break;
            // Not by the lengths alone: of NaN and infinite ones, none is nearer.
            const bool is_below = low >= 0 && (high == n || below <= above);
            const std::int64_t other = order.data()[is_below ? low-- : high++];
            double square = 0.0;
            for (std::int64_t f = 0; f < c; ++f) {
                const double apart = others.data()[other * c + f] - own[f];
                square += apart * apart;
            }
            if (static_cast<std::int64_t>(near.size()) == K) {
                if (!(square < near.back().first)) continue;
                near.pop_back();
            }
            near.insert(std::upper_bound(near.begin(), near.end(), std::make_pair(square, n)), {square, other});
        }
        double sum = 0.0;
        for (const auto &one : near) sum += values.data()[one.second];
        means.data()[sample] = sum / K;
    }
}

// Share (n,) of a row's weights, by magnitude, that is the sample's own.
template <typename Index>
void own_shares(Array<const Index, 1> starts, Array<const Index, 1> columns, Floats<1> weights,
                Array<double, 1> shares) {
    for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
        double total = 0.0, own = 0.0;
        for (Index entry = starts.data()[row]; entry < starts.data()[row + 1]; ++entry) {
            total += std::abs(weights.data()[entry]);
            if (static_cast<std::size_t>(columns.data()[entry]) == row) own += std::abs(weights.data()[entry]);
        }
        shares.data()[row] = total > 0 ? own / total : 0.0;
    }
}

} // namespace

void add_judge(nb::module_ &module) {
    module.def("compare_frames", &compare_frames, NoLock());
    module.def("fill_stretches", &fill_stretches, NoLock());
    module.def("told_by_others", &told_by_others, NoLock());
    module.def("own_shares", &own_shares<std::int32_t>, NoLock());
    module.def("own_shares", &own_shares<std::int64_t>, NoLock());
}
