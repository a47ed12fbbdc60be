// Principal directions of small neighborhoods: tangent frames, and the angles of edges with tangent planes.
//
// Of samples with few features they are eigenvectors of a covariance, of others of a Gram matrix.
#include <cmath>
#include <vector>

#include "arrays.h"
#include "symmetric.h"

namespace {

double product(const double *one, const double *other, std::int64_t count) {
    // Four sums at a time, which do not wait for each other.
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int lane = 0; lane < 4; ++lane) sums[lane] += one[i + lane] * other[i + lane];
    for (; i < count; ++i) sums[0] += one[i] * other[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// K with K_ab = the products of rows a and b (m, D), of which the lower triangle is computed.
template <typename Entry> void fill_gram(const double *rows, std::int64_t m, std::int64_t D, Entry entry) {
    for (std::int64_t a = 0; a < m; ++a)
        for (std::int64_t b = 0; b <= a; ++b) entry(a, b) = entry(b, a) = product(rows + a * D, rows + b * D, D);
}

// C (D, D) = sum of x_a x_a' over rows (m, D).
void fill_covariance(const double *rows, std::int64_t m, std::int64_t D, Symmetric &C) {
    for (std::int64_t p = 0; p < D; ++p)
        for (std::int64_t q = 0; q <= p; ++q) {
            double sum = 0.0;
            for (std::int64_t a = 0; a < m; ++a) sum += rows[a * D + p] * rows[a * D + q];
            C.V(p, q) = C.V(q, p) = sum;
        }
}

// What a frame is made of: its variances, and of its first directions the share of each member.
struct Frame {
    double *U, *S, *spreads;
    std::int64_t m, d;

    // Directions of an eigenproblem of `size` whose eigenvectors `direction` turns into those of members.
    template <typename Direction> void write(Symmetric &problem, bool has_vectors, Direction direction) {
        double total = 0.0;
        const std::int64_t size = problem.n;
        for (std::int64_t j = 0; j < m; ++j) {
            spreads[j] = j < size ? std::max(problem.values[size - 1 - j], 0.0) : 0.0;
            total += spreads[j];
        }
        const double limit = NEGLIGIBLE * spreads[0];
        for (std::int64_t j = 0; has_vectors && j < d; ++j) {
            const bool spans = j < size && j < m && spreads[j] > limit;
            S[j] = spans ? std::sqrt(spreads[j]) : 0.0;
            for (std::int64_t a = 0; a < m; ++a) U[a * d + j] = spans ? direction(a, size - 1 - j, S[j]) : 0.0;
        }
        for (std::int64_t j = 0; j < m; ++j) spreads[j] /= total > 0 ? total : 1.0;
    }
};

// Frames of neighborhoods (a, m) of samples (n, D); where U is empty, spreads alone.
void fill_frames(std::int64_t start, std::int64_t stop, Floats<2> X, Indices<2> members, Array<double, 3> U,
                 Array<double, 2> S, Array<double, 2> spreads) {
    const std::int64_t D = X.shape(1), m = members.shape(1), d = S.shape(1);
    const bool has_vectors = U.size() > 0, by_features = D < m;
    std::vector<double> local(m * D);
    Symmetric problem;
    problem.resize(by_features ? D : m);
    for (std::int64_t row = start; row < stop; ++row) {
        const std::int64_t *ids = members.data() + row * m;
        const double *first = X.data() + ids[0] * D;
        for (std::int64_t f = 0; f < D; ++f) {
            double mean = 0.0;
            for (std::int64_t a = 0; a < m; ++a) {
                local[a * D + f] = X.data()[ids[a] * D + f] - first[f];
                mean += local[a * D + f];
            }
            mean /= m;
            for (std::int64_t a = 0; a < m; ++a) local[a * D + f] -= mean;
        }
        if (by_features)
            fill_covariance(local.data(), m, D, problem);
        else
            fill_gram(local.data(), m, D, [&](auto a, auto b) -> double & { return problem.V(a, b); });
        problem.solve(has_vectors);
        Frame frame{U.data() + row * m * d * has_vectors, S.data() + row * d, spreads.data() + row * m, m, d};
        frame.write(problem, has_vectors, [&](std::int64_t a, std::int64_t j, double length) {
            if (!by_features) return problem.V(a, j);
            double sum = 0.0;
            for (std::int64_t f = 0; f < D; ++f) sum += local[a * D + f] * problem.V(f, j);
            return sum / length;
        });
    }
}

// The same from Gram matrices (a, m, m) of differences, which are not centered.
void fill_gram_frames(std::int64_t start, std::int64_t stop, Floats<3> K, Array<double, 3> U, Array<double, 2> S,
                      Array<double, 2> spreads) {
    const std::int64_t m = K.shape(1), d = S.shape(1);
    const bool has_vectors = U.size() > 0;
    std::vector<double> means(m);
    Symmetric problem;
    problem.resize(m);
    for (std::int64_t row = start; row < stop; ++row) {
        const double *gram = K.data() + row * m * m;
        double mean = 0.0;
        for (std::int64_t a = 0; a < m; ++a) {
            means[a] = 0.0;
            for (std::int64_t b = 0; b < m; ++b) means[a] += gram[a * m + b] / m;
            mean += means[a] / m;
        }
        for (std::int64_t a = 0; a < m; ++a)
            for (std::int64_t b = 0; b < m; ++b) problem.V(a, b) = gram[a * m + b] - means[a] - means[b] + mean;
        problem.solve(has_vectors);
        Frame frame{U.data() + row * m * d * has_vectors, S.data() + row * d, spreads.data() + row * m, m, d};
        frame.write(problem, has_vectors, [&](std::int64_t a, std::int64_t j, double) { return problem.V(a, j); });
    }
}

// Sums over the members of planes, of which larger ones have more: the sample itself, at zero, is the first.
struct Sums {
    explicit Sums(std::int64_t D) : D(D), first(D), second(D * D) {}

    double total = 1.0; // of weights
    std::int64_t D, added = 1;
    std::vector<double> first, second; // of weighted members (D,), and of their squares (D, D), lower triangle

    void clear() {
        total = 1.0;
        added = 1;
        std::fill(first.begin(), first.end(), 0.0);
        std::fill(second.begin(), second.end(), 0.0);
    }

    // Adds those members (m, D) that are not yet in, up to so many.
    void add_until(std::int64_t members, const double *local, const double *weights) {
        for (; added < members; ++added) {
            const double *member = local + added * D;
            total += weights[added];
            for (std::int64_t p = 0; p < D; ++p) {
                const double weighted = weights[added] * member[p];
                first[p] += weighted;
                for (std::int64_t q = 0; q <= p; ++q) second[p * D + q] += weighted * member[q];
            }
        }
    }
};

// A tangent plane as d functions of a vector: of its coordinates, or of its products with the members (q, columns).
struct Plane {
    Symmetric problem;
    std::vector<double> shares, roots, means, functions; // functions: (d, size)
    std::int64_t size = 0, d = 0;

    // Of the weighted Gram matrix of members (m of `stride`), centered on their weighted mean.
    void of_gram(const double *gram, std::int64_t stride, const double *weights, std::int64_t m, std::int64_t most) {
        share(weights, m);
        roots.resize(m);
        problem.resize(m);
        means.assign(m, 0.0);
        double middle = 0.0;
        for (std::int64_t a = 0; a < m; ++a) {
            roots[a] = std::sqrt(weights[a]);
            for (std::int64_t b = 0; b < m; ++b) means[a] += gram[a * stride + b] * shares[b];
            middle += shares[a] * means[a];
        }
        for (std::int64_t a = 0; a < m; ++a)
            for (std::int64_t b = 0; b <= a; ++b)
                problem.V(a, b) = problem.V(b, a) =
                    (gram[a * stride + b] - means[a] - means[b] + middle) * roots[a] * roots[b];
        problem.solve();
        begin(m, std::min(most, m));
        const double limit = NEGLIGIBLE * std::max(problem.values[m - 1], 0.0);
        for (std::int64_t c = 0; c < d; ++c) {
            const double value = problem.values[m - 1 - c];
            if (!(value > limit)) continue;
            double sum = 0.0;
            for (std::int64_t a = 0; a < m; ++a) {
                functions[c * m + a] = problem.V(a, m - 1 - c) * roots[a] / std::sqrt(value);
                sum += functions[c * m + a];
            }
            for (std::int64_t a = 0; a < m; ++a) functions[c * m + a] -= sum * shares[a];
        }
    }

    void of_sums(const Sums &sums, std::int64_t most) {
        const std::int64_t D = sums.D;
        problem.resize(D);
        for (std::int64_t p = 0; p < D; ++p)
            for (std::int64_t q = 0; q <= p; ++q)
                problem.V(p, q) = problem.V(q, p) = sums.second[p * D + q] - sums.first[p] * sums.first[q] / sums.total;
        problem.solve();
        begin(D, std::min(most, D));
        for (std::int64_t c = 0; c < d; ++c)
            for (std::int64_t f = 0; f < D; ++f) functions[c * D + f] = problem.V(f, D - 1 - c);
    }

    // Sine of the angle of a vector with the plane; 0 of one without length.
    double sine(const double *arguments, double square) const {
        if (!(square > 0)) return square == square ? 0.0 : square;
        double within = 0.0;
        for (std::int64_t c = 0; c < d; ++c) {
            double sum = 0.0;
            for (std::int64_t a = 0; a < size; ++a) sum += functions[c * size + a] * arguments[a];
            within += sum * sum;
        }
        return std::sqrt(std::min(std::max(1 - within / square, 0.0), 1.0));
    }

  private:
    void share(const double *weights, std::int64_t m) {
        double total = 0.0;
        for (std::int64_t a = 0; a < m; ++a) total += weights[a];
        shares.assign(weights, weights + m);
        for (double &one : shares) one /= total;
    }

    void begin(std::int64_t arguments, std::int64_t dimensions) {
        size = arguments;
        d = dimensions;
        functions.assign(size * d, 0.0);
    }
};

// Differences of so many neighbors, -1 behind the last, from a sample, and their weights, behind those of itself; how
// many members that makes.
std::int64_t lay_members(Floats<2> &X, std::int64_t row, const std::int64_t *near, std::int64_t most, double unit,
                         double *local, double *weights) {
    const std::int64_t D = X.shape(1);
    const double *own = X.data() + row * D;
    std::int64_t m = 1;
    weights[0] = 1.0;
    for (; m <= most && near[m - 1] >= 0; ++m) {
        const double *other = X.data() + near[m - 1] * D;
        double *difference = local + m * D;
        for (std::int64_t f = 0; f < D; ++f) difference[f] = other[f] - own[f];
        const double length = std::sqrt(product(difference, difference, D)) / unit;
        weights[m] = 1 / (1 + length * length);
    }
    return m;
}

// Sines (sizes, entries) of the angles between edges and planes. Row i has the entries from starts[i] on, each with its
// other end; its planes are those of the first so many of its neighbors `near` (-1 behind the last), and of itself. A
// neighbor `unit` away counts half.
void fill_sines(std::int64_t start, std::int64_t stop, Floats<2> X, Indices<2> near, Indices<1> starts,
                Indices<1> others, double unit, std::int64_t d, Indices<1> sizes, Array<double, 2> sines) {
    const std::int64_t D = X.shape(1), k = near.shape(1), n_sizes = sizes.size(), n_entries = others.size();
    const std::int64_t most = sizes.data()[n_sizes - 1];
    // With more features than a plane has members, it needs the Gram matrix.
    const bool has_gram = D > sizes.data()[0] + 1, has_sums = D <= most + 1;
    std::vector<double> local((most + 1) * D, 0.0), weights(most + 1), gram, edge(D), products(most + 1);
    Sums sums(has_sums ? D : 0);
    std::vector<Plane> planes(n_sizes);
    for (std::int64_t row = start; row < stop; ++row) {
        if (starts.data()[row] == starts.data()[row + 1]) continue;
        const double *own = X.data() + row * D;
        const std::int64_t m =
            lay_members(X, row, near.data() + row * k, most, unit, local.data(), weights.data());
        gram.resize(has_gram ? m * m : 0);
        if (has_gram) fill_gram(local.data(), m, D, [&](auto a, auto b) -> double & { return gram[a * m + b]; });
        sums.clear();
        for (std::int64_t s = 0; s < n_sizes; ++s) {
            const std::int64_t members = std::min(m, sizes.data()[s] + 1);
            if (D > sizes.data()[s] + 1) {
                planes[s].of_gram(gram.data(), m, weights.data(), members, d);
                continue;
            }
            sums.add_until(members, local.data(), weights.data());
            planes[s].of_sums(sums, d);
        }
        for (std::int64_t entry = starts.data()[row]; entry < starts.data()[row + 1]; ++entry) {
            const double *other = X.data() + others.data()[entry] * D;
            for (std::int64_t f = 0; f < D; ++f) edge[f] = other[f] - own[f];
            for (std::int64_t a = 0; has_gram && a < m; ++a) products[a] = product(local.data() + a * D, edge.data(), D);
            const double square = product(edge.data(), edge.data(), D);
            for (std::int64_t s = 0; s < n_sizes; ++s) {
                const double *arguments = D > sizes.data()[s] + 1 ? products.data() : edge.data();
                sines.data()[s * n_entries + entry] = planes[s].sine(arguments, square);
            }
        }
    }
}

// Sines (b,) of edges, each known by the products K (b, m + 1, m + 1) of the differences of the members of a plane, and
// of its other end, which comes last. `counts` (b, m) says which members there are, lengths are in `units`.
void fill_gram_sines(Floats<3> K, Array<const bool, 2> counts, Floats<1> units, std::int64_t d,
                     Array<double, 1> sines) {
    const std::int64_t m = counts.shape(1);
    std::vector<double> weights(m);
    Plane plane;
    for (std::size_t row = 0; row < K.shape(0); ++row) {
        const double *gram = K.data() + row * (m + 1) * (m + 1), *last = gram + m * (m + 1);
        for (std::int64_t a = 0; a < m; ++a) {
            const double length = std::sqrt(std::max(gram[a * (m + 2)], 0.0)) * units.data()[row];
            weights[a] = counts.data()[row * m + a] ? 1 / (1 + length * length) : 0.0;
        }
        plane.of_gram(gram, m + 1, weights.data(), m, d);
        sines.data()[row] = plane.sine(last, last[m]);
    }
}

} // namespace

void add_planes(nb::module_ &module) {
    module.def("fill_frames", &fill_frames, NoLock());
    module.def("fill_gram_frames", &fill_gram_frames, NoLock());
    module.def("fill_sines", &fill_sines, NoLock());
    module.def("fill_gram_sines", &fill_gram_sines, NoLock());
}
