// Gradient descent of a layout Y (n, d) on the Kullback-Leibler divergence from affinities P to
//
//     Q_ij = q_ij / Z,     q_ij = 1 / (1 + |y_i - y_j|^2),     Z = sum of q_ij over i != j.
//
// The gradient is 4 sum_j P_ij q_ij (y_i - y_j) - 4 f_i / Z with the repulsion f_i = sum_j q_ij^2 (y_i - y_j). It is
// summed over all pairs for few samples. For many it is -1/2 of the gradient of the potential phi(y) = sum_j 1 / (1 +
// |y - y_j|^2), which is a convolution: charges are spread on a grid by cubic B-splines, convolved by FFT (in Python),
// and the potential and its gradient are gathered by the same splines.
#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.h"

namespace {

// Samples whose distances are computed together, and partial sums that are kept side by side.
constexpr std::int64_t BLOCK = 64, LANES = 8;
// Nodes of the grid along each axis that a cubic B-spline reaches.
constexpr std::int64_t NODES = 4;

std::int64_t length(std::size_t size) { return static_cast<std::int64_t>(size); }

void require(bool fits, const char *message) {
    if (!fits) throw nb::value_error(message);
}

// Adds the repulsion of a point (d,) from a block of samples to `forces` (d, LANES), and their q_ij to `total` (LANES).
HNE_VECTORIZED
void repel_block(const double *point, const double *Y, std::int64_t n, std::int64_t d, std::int64_t first,
                 double *total, double *forces) {
    double q[BLOCK];
    for (std::int64_t j = 0; j < BLOCK; ++j) q[j] = 1.0;
    for (std::int64_t c = 0; c < d; ++c) {
        const double *others = Y + c * n + first;
        const double mine = point[c];
        for (std::int64_t j = 0; j < BLOCK; ++j) {
            const double difference = mine - others[j];
            q[j] += difference * difference;
        }
    }
    for (std::int64_t j = 0; j < BLOCK; ++j) q[j] = 1.0 / q[j];
    for (std::int64_t j = 0; j < BLOCK; j += LANES)
        for (std::int64_t lane = 0; lane < LANES; ++lane) total[lane] += q[j + lane];
    for (std::int64_t j = 0; j < BLOCK; ++j) q[j] *= q[j];
    for (std::int64_t c = 0; c < d; ++c) {
        const double *others = Y + c * n + first;
        const double mine = point[c];
        for (std::int64_t j = 0; j < BLOCK; j += LANES)
            for (std::int64_t lane = 0; lane < LANES; ++lane)
                forces[c * LANES + lane] += q[j + lane] * (mine - others[j + lane]);
    }
}

// Repulsion (t, d) and sums of q_ij (t,) over all samples, for points `start` to `stop` of (t, d). Y is (d, padded):
// columns behind the last sample must be so far away that their q_ij is zero, and `padded` a multiple of BLOCK.
void repel_all(std::int64_t start, std::int64_t stop, Floats<2> points, Floats<2> Y, Array<double, 2> forces,
               Array<double, 1> sums) {
    const std::int64_t d = length(Y.shape(0)), padded = length(Y.shape(1)), n = length(points.shape(0));
    require(padded % BLOCK == 0 && length(points.shape(1)) == d && length(forces.shape(0)) == n &&
                length(forces.shape(1)) == d && length(sums.shape(0)) == n && 0 <= start && stop <= n,
            "repel_all: shapes do not match");
    std::vector<double> partial(d * LANES);
    for (std::int64_t i = start; i < stop; ++i) {
        double total[LANES] = {};
        std::fill(partial.begin(), partial.end(), 0.0);
        for (std::int64_t first = 0; first < padded; first += BLOCK)
            repel_block(points.data() + i * d, Y.data(), padded, d, first, total, partial.data());
        double sum = 0.0;
        for (std::int64_t lane = 0; lane < LANES; ++lane) sum += total[lane];
        sums.data()[i] = sum;
        for (std::int64_t c = 0; c < d; ++c) {
            double force = 0.0;
            for (std::int64_t lane = 0; lane < LANES; ++lane) force += partial[c * LANES + lane];
            forces.data()[i * d + c] = force;
        }
    }
}

// Values of the four cubic B-splines at a position 0 <= t < 1 between the second and the third node.
HNE_INLINE void splines(double t, double *values) {
    const double s = 1.0 - t;
    values[0] = s * s * s / 6.0;
    values[1] = (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0;
    values[2] = (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0;
    values[3] = t * t * t / 6.0;
}

// Their derivatives.
HNE_INLINE void spline_slopes(double t, double *values) {
    const double s = 1.0 - t;
    values[0] = -s * s / 2.0;
    values[1] = (3.0 * t * t - 4.0 * t) / 2.0;
    values[2] = (4.0 * s - 3.0 * s * s) / 2.0;
    values[3] = t * t / 2.0;
}

// Sorts samples by the grid row of their position: those of row r are order[starts[r]] to order[starts[r + 1]],
// ascending. Positions (n, d) are in units of the spacing, and a position's whole part is the second node it reaches.
void bin_rows(Floats<2> positions, Array<std::int64_t, 1> starts, Array<std::int64_t, 1> order) {
    const std::int64_t n = length(positions.shape(0)), d = length(positions.shape(1));
    const std::int64_t rows = length(starts.shape(0)) - 1;
    require(rows >= 1 && length(order.shape(0)) == n, "bin_rows: shapes do not match");
    std::int64_t *first = starts.data();
    std::fill(first, first + rows + 1, 0);
    for (std::int64_t i = 0; i < n; ++i) {
        const double position = positions.data()[i * d];
        require(position >= 1.0 && position < static_cast<double>(rows - 2), "bin_rows: position outside the grid");
        ++first[static_cast<std::int64_t>(position) + 1];
    }
    for (std::int64_t row = 0; row < rows; ++row) first[row + 1] += first[row];
    std::vector<std::int64_t> next(first, first + rows);
    for (std::int64_t i = 0; i < n; ++i)
        order.data()[next[static_cast<std::int64_t>(positions.data()[i * d])]++] = i;
}

// Computes the first node and the spline values along each axis of a grid of these sizes; returns false if the position
// is outside.
HNE_INLINE bool locate(const double *position, std::int64_t d, const std::int64_t *shape, std::int64_t *node,
                       double values[][NODES]) {
    for (std::int64_t c = 0; c < d; ++c) {
        const double whole = std::floor(position[c]);
        if (!(whole >= 1.0 && whole + (NODES - 1) <= static_cast<double>(shape[c]))) return false;
        node[c] = static_cast<std::int64_t>(whole) - 1;
        splines(position[c] - whole, values[c]);
    }
    return true;
}

// Adds unit charges at the positions (n, d), d <= 3, to rows `start` to `stop` of the grid (m_1, m_2, m_3), which are
// overwritten. Each row sums its samples in their order, so that the bits do not depend on how rows are divided.
void spread_charges(std::int64_t start, std::int64_t stop, Floats<2> positions, Indices<1> starts, Indices<1> order,
                    Array<float, 3> grid) {
    const std::int64_t d = length(positions.shape(1)), n = length(positions.shape(0));
    const std::int64_t shape[3] = {length(grid.shape(0)), length(grid.shape(1)), length(grid.shape(2))};
    require(1 <= d && d <= 3 && length(starts.shape(0)) == shape[0] + 1 && length(order.shape(0)) == n && 0 <= start &&
                stop <= shape[0] && (d > 1 || shape[1] == 1) && (d > 2 || shape[2] == 1),
            "spread_charges: shapes do not match");
    const std::int64_t plane = shape[1] * shape[2];
    for (std::int64_t row = start; row < stop; ++row) {
        float *target = grid.data() + row * plane;
        std::fill(target, target + plane, 0.0f);
        for (std::int64_t offset = NODES - 1; offset >= 0; --offset) {
            // Samples whose first node is `offset` rows above this one.
            const std::int64_t bin = row - offset + 1;
            if (bin < 0 || bin >= shape[0]) continue;
            for (std::int64_t at = starts.data()[bin]; at < starts.data()[bin + 1]; ++at) {
                std::int64_t node[3];
                double values[3][NODES];
                const std::int64_t i = order.data()[at];
                require(locate(positions.data() + i * d, d, shape, node, values), "spread_charges: outside the grid");
                const double own = values[0][offset];
                if (d == 1) {
                    target[0] += static_cast<float>(own);
                    continue;
                }
                for (std::int64_t a = 0; a < NODES; ++a) {
                    float *line = target + (node[1] + a) * shape[2];
                    const double along = own * values[1][a];
                    if (d == 2) {
                        line[0] += static_cast<float>(along);
                        continue;
                    }
                    for (std::int64_t b = 0; b < NODES; ++b) line[node[2] + b] += static_cast<float>(along * values[2][b]);
                }
            }
        }
    }
}

// Potential (n,) and its gradient (n, d), in units of the spacing, at the positions `start` to `stop`.
void gather_potential(std::int64_t start, std::int64_t stop, Floats<2> positions, Array<const float, 3> grid,
                      Array<double, 1> potential, Array<double, 2> gradient) {
    const std::int64_t d = length(positions.shape(1)), n = length(positions.shape(0));
    const std::int64_t shape[3] = {length(grid.shape(0)), length(grid.shape(1)), length(grid.shape(2))};
    require(1 <= d && d <= 3 && length(potential.shape(0)) == n && length(gradient.shape(0)) == n &&
                length(gradient.shape(1)) == d && 0 <= start && stop <= n && (d > 1 || shape[1] == 1) &&
                (d > 2 || shape[2] == 1),
            "gather_potential: shapes do not match");
    for (std::int64_t i = start; i < stop; ++i) {
        std::int64_t node[3] = {0, 0, 0};
        double values[3][NODES] = {{0.0}, {1.0}, {1.0}}, slopes[3][NODES] = {};
        const double *position = positions.data() + i * d;
        require(locate(position, d, shape, node, values), "gather_potential: outside the grid");
        for (std::int64_t c = 0; c < d; ++c) spline_slopes(position[c] - std::floor(position[c]), slopes[c]);
        const std::int64_t high = d > 1 ? NODES : 1, deep = d > 2 ? NODES : 1;
        double sum = 0.0, by[3] = {};
        for (std::int64_t a = 0; a < NODES; ++a) {
            double plane = 0.0, plane_by_second = 0.0, plane_by_third = 0.0;
            for (std::int64_t b = 0; b < high; ++b) {
                const float *line = grid.data() + ((node[0] + a) * shape[1] + node[1] + b) * shape[2] + node[2];
                double along = 0.0, along_by_third = 0.0;
                for (std::int64_t c = 0; c < deep; ++c) {
                    along += values[2][c] * static_cast<double>(line[c]);
                    along_by_third += slopes[2][c] * static_cast<double>(line[c]);
                }
                plane += values[1][b] * along;
                plane_by_second += slopes[1][b] * along;
                plane_by_third += values[1][b] * along_by_third;
            }
            sum += values[0][a] * plane;
            by[0] += slopes[0][a] * plane;
            by[1] += values[0][a] * plane_by_second;
            by[2] += values[0][a] * plane_by_third;
        }
        potential.data()[i] = sum;
        for (std::int64_t c = 0; c < d; ++c) gradient.data()[i * d + c] = by[c];
    }
}

// Attraction of a sample of a plane by the samples in entries `first` to `last` of its row of affinities, in single
// precision: a quarter of the time of double precision, and forces need no more digits.
HNE_VECTORIZED
void attract_plane(const float *Y, const std::int32_t *columns, const float *affinities, std::int64_t first,
                   std::int64_t last, const float *mine, double *pull) {
    float by_first[LANES] = {}, by_second[LANES] = {};
    for (; first + LANES <= last; first += LANES) {
        float x[LANES], y[LANES], force[LANES];
        for (std::int64_t lane = 0; lane < LANES; ++lane) {
            const float *other = Y + 2 * static_cast<std::int64_t>(columns[first + lane]);
            x[lane] = mine[0] - other[0];
            y[lane] = mine[1] - other[1];
        }
        for (std::int64_t lane = 0; lane < LANES; ++lane)
            force[lane] = affinities[first + lane] / (1.0f + x[lane] * x[lane] + y[lane] * y[lane]);
        for (std::int64_t lane = 0; lane < LANES; ++lane) by_first[lane] += force[lane] * x[lane];
        for (std::int64_t lane = 0; lane < LANES; ++lane) by_second[lane] += force[lane] * y[lane];
    }
    pull[0] = pull[1] = 0.0;
    for (; first < last; ++first) {
        const float *other = Y + 2 * static_cast<std::int64_t>(columns[first]);
        const float x = mine[0] - other[0], y = mine[1] - other[1];
        const float force = affinities[first] / (1.0f + x * x + y * y);
        pull[0] += static_cast<double>(force * x);
        pull[1] += static_cast<double>(force * y);
    }
    for (std::int64_t lane = 0; lane < LANES; ++lane) {
        pull[0] += static_cast<double>(by_first[lane]);
        pull[1] += static_cast<double>(by_second[lane]);
    }
}

// One step of gradient descent with momentum for samples `start` to `stop`: velocities (n, d) are updated, and `moved`
// is Y plus the velocities. `push` (n, d) is what is subtracted from the attraction before it is multiplied by `rate`.
// Columns must be samples, which the caller checks once: to check them at each step would take 10 to 20 % of it.
void descend_layout(std::int64_t start, std::int64_t stop, Indices<1> starts, Array<const std::int32_t, 1> columns,
                    Array<const float, 1> affinities, Floats<2> Y, Array<const float, 2> single, Floats<2> push,
                    double rate, double momentum, Array<double, 2> velocities, Array<double, 2> moved) {
    const std::int64_t n = length(Y.shape(0)), d = length(Y.shape(1));
    const auto fits = [&](const auto &array) { return length(array.shape(0)) == n && length(array.shape(1)) == d; };
    require(length(starts.shape(0)) == n + 1 && columns.shape(0) == affinities.shape(0) && 0 <= start &&
                start <= stop && stop <= n && fits(single) && fits(push) && fits(velocities) && fits(moved),
            "descend_layout: shapes do not match");
    const std::int64_t *row = starts.data();
    require(row[start] >= 0 && std::is_sorted(row + start, row + stop + 1) && row[stop] <= length(columns.shape(0)),
            "descend_layout: starts of rows must ascend within the columns");
    std::vector<double> apart(d), pull(d);
    for (std::int64_t i = start; i < stop; ++i) {
        std::fill(pull.begin(), pull.end(), 0.0);
        const double *mine = Y.data() + i * d;
        if (d == 2) {
            attract_plane(single.data(), columns.data(), affinities.data(), starts.data()[i], starts.data()[i + 1],
                          single.data() + i * d, pull.data());
        } else {
            for (std::int64_t at = starts.data()[i]; at < starts.data()[i + 1]; ++at) {
                const double *other = Y.data() + d * static_cast<std::int64_t>(columns.data()[at]);
                double q = 1.0;
                for (std::int64_t c = 0; c < d; ++c) {
                    apart[c] = mine[c] - other[c];
                    q += apart[c] * apart[c];
                }
                const double force = static_cast<double>(affinities.data()[at]) / q;
                for (std::int64_t c = 0; c < d; ++c) pull[c] += force * apart[c];
            }
        }
        for (std::int64_t c = 0; c < d; ++c) {
            double &velocity = velocities.data()[i * d + c];
            velocity = momentum * velocity - rate * (pull[c] - push.data()[i * d + c]);
            moved.data()[i * d + c] = mine[c] + velocity;
        }
    }
}

// Sums of P_ij log(P_ij (1 + |y_i - y_j|^2)) over the rows `start` to `stop` of the affinities, one for each row.
void fill_divergences(std::int64_t start, std::int64_t stop, Indices<1> starts, Array<const std::int32_t, 1> columns,
                      Array<const float, 1> affinities, Floats<2> Y, Array<double, 1> divergences) {
    const std::int64_t n = length(Y.shape(0)), d = length(Y.shape(1));
    require(length(starts.shape(0)) == n + 1 && columns.shape(0) == affinities.shape(0) && 0 <= start && stop <= n &&
                length(divergences.shape(0)) == n && starts.data()[n] <= length(columns.shape(0)),
            "fill_divergences: shapes do not match");
    for (std::int64_t i = start; i < stop; ++i) {
        const double *mine = Y.data() + i * d;
        double sum = 0.0;
        for (std::int64_t at = starts.data()[i]; at < starts.data()[i + 1]; ++at) {
            const double *other = Y.data() + d * static_cast<std::int64_t>(columns.data()[at]);
            double inverse = 1.0;
            for (std::int64_t c = 0; c < d; ++c) inverse += (mine[c] - other[c]) * (mine[c] - other[c]);
            const double affinity = static_cast<double>(affinities.data()[at]);
            sum += affinity * std::log(affinity * inverse);
        }
        divergences.data()[i] = sum;
    }
}

} // namespace

void add_layout(nb::module_ &module) {
    module.def("repel_all", &repel_all, NoLock());
    module.def("bin_rows", &bin_rows, NoLock());
    module.def("spread_charges", &spread_charges, NoLock());
    module.def("gather_potential", &gather_potential, NoLock());
    module.def("descend_layout", &descend_layout, NoLock());
    module.def("fill_divergences", &fill_divergences, NoLock());
}
