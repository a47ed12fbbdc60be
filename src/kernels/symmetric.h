// Eigenvalues and eigenvectors of small symmetric matrices: of two and three rows by Jacobi's rotations, of more by
// Householder's tridiagonal form and implicit QL steps, as in EISPACK's tred2 and tql2 (Bowdler, Martin, Reinsch and
// Wilkinson 1968). Of three rows the rotations take half the time of QL, of two a tenth.
//
// For a neighborhood a call of LAPACK costs more than the work itself, and its bits depend on the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

// Variances below this share of a neighborhood's largest are rounding.
constexpr double NEGLIGIBLE = 1e-10;

class Symmetric {
  public:
    // Entry (i, j) is V(i, j) before `solve`, of which both triangles are read, and entry i of eigenvector j after it.
    double &V(std::int64_t i, std::int64_t j) { return vectors[i * n + j]; }
    std::int64_t n = 0;
    std::vector<double> values; // ascending

    void resize(std::int64_t size) {
        n = size;
        vectors.resize(size * size);
        values.resize(size);
        beside.resize(size);
    }

    // Without vectors, eigenvalues alone, in a fraction of the time.
    void solve(bool with_vectors = true) {
        wants_vectors = with_vectors;
        double largest = 0.0;
        for (double entry : vectors) largest = std::max(largest, std::abs(entry));
        // In units of a power of two, in which squares neither overflow nor vanish where it matters.
        const double up = power_below(largest), down = 1 / up;
        for (double &entry : vectors) entry *= down;
        if (n == 2) {
            rotate<2>();
        } else if (n == 3) {
            rotate<3>();
        } else {
            tridiagonalize();
            iterate();
        }
        sort();
        for (double &value : values) value *= up;
    }

  private:
    static constexpr int MAX_STEPS = 60; // of one eigenvalue, which takes two to three, and sweeps, which are four
    static constexpr double ROUNDING = 1e-16;
    std::vector<double> vectors, beside; // the off-diagonal
    bool wants_vectors = true;

    // Rotates entries beside the diagonal away, one after the other, until the rest is rounding.
    template <int N> void rotate() {
        double A[N][N];
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) {
                A[i][j] = V(i, j);
                vectors[i * N + j] = i == j;
            }
        bool is_done = false;
        for (int sweep = 0; !is_done && sweep < MAX_STEPS; ++sweep) {
            is_done = true;
            for (int p = 0; p < N - 1; ++p)
                for (int q = p + 1; q < N; ++q) {
                    const double beside = A[p][q], limit = ROUNDING * (std::abs(A[p][p]) + std::abs(A[q][q]));
                    if (!(std::abs(beside) > limit)) continue;
                    is_done = false;
                    const double apart = A[q][q] - A[p][p], length = root(apart, 2 * beside);
                    const double tangent = 2 * beside / (apart + (apart < 0 ? -length : length));
                    const double c = 1 / std::sqrt(1 + tangent * tangent), s = tangent * c;
                    A[p][p] -= tangent * beside;
                    A[q][q] += tangent * beside;
                    A[p][q] = A[q][p] = 0.0;
                    for (int k = 0; k < N; ++k) {
                        if (k != p && k != q) {
                            const double left = A[k][p], right = A[k][q];
                            A[k][p] = A[p][k] = c * left - s * right;
                            A[k][q] = A[q][k] = s * left + c * right;
                        }
                        const double left = vectors[k * N + p], right = vectors[k * N + q];
                        vectors[k * N + p] = c * left - s * right;
                        vectors[k * N + q] = s * left + c * right;
                    }
                }
        }
        for (int i = 0; i < N; ++i) values[i] = A[i][i];
    }

    void tridiagonalize() {
        for (std::int64_t j = 0; j < n; ++j) values[j] = V(n - 1, j);
        for (std::int64_t i = n - 1; i > 0; --i) {
            double scale = 0.0, h = 0.0;
            for (std::int64_t k = 0; k < i; ++k) scale += std::abs(values[k]);
            if (scale == 0.0) {
                beside[i] = values[i - 1];
                for (std::int64_t j = 0; j < i; ++j) {
                    values[j] = V(i - 1, j);
                    V(i, j) = V(j, i) = 0.0;
                }
            } else {
                h = reflect(i, scale);
            }
            values[i] = h;
        }
        accumulate();
    }

    // One of Householder's reflections; returns half the square of its vector.
    double reflect(std::int64_t i, double scale) {
        double h = 0.0;
        for (std::int64_t k = 0; k < i; ++k) {
            values[k] /= scale;
            h += values[k] * values[k];
        }
        double f = values[i - 1], g = f > 0 ? -std::sqrt(h) : std::sqrt(h);
        beside[i] = scale * g;
        h -= f * g;
        values[i - 1] = f - g;
        for (std::int64_t j = 0; j < i; ++j) beside[j] = 0.0;
        for (std::int64_t j = 0; j < i; ++j) {
            f = values[j];
            V(j, i) = f;
            g = beside[j] + V(j, j) * f;
            for (std::int64_t k = j + 1; k < i; ++k) {
                g += V(k, j) * values[k];
                beside[k] += V(k, j) * f;
            }
            beside[j] = g;
        }
        f = 0.0;
        for (std::int64_t j = 0; j < i; ++j) {
            beside[j] /= h;
            f += beside[j] * values[j];
        }
        const double half = f / (h + h);
        for (std::int64_t j = 0; j < i; ++j) beside[j] -= half * values[j];
        for (std::int64_t j = 0; j < i; ++j) {
            f = values[j];
            g = beside[j];
            for (std::int64_t k = j; k < i; ++k) V(k, j) -= f * beside[k] + g * values[k];
            values[j] = V(i - 1, j);
            V(i, j) = 0.0;
        }
        return h;
    }

    void accumulate() {
        beside[0] = 0.0;
        if (!wants_vectors) {
            for (std::int64_t j = 0; j < n; ++j) values[j] = V(j, j);
            return;
        }
        for (std::int64_t i = 0; i < n - 1; ++i) {
            V(n - 1, i) = V(i, i);
            V(i, i) = 1.0;
            const double h = values[i + 1];
            if (h != 0.0) {
                for (std::int64_t k = 0; k <= i; ++k) values[k] = V(k, i + 1) / h;
                for (std::int64_t j = 0; j <= i; ++j) {
                    double g = 0.0;
                    for (std::int64_t k = 0; k <= i; ++k) g += V(k, i + 1) * V(k, j);
                    for (std::int64_t k = 0; k <= i; ++k) V(k, j) -= g * values[k];
                }
            }
            for (std::int64_t k = 0; k <= i; ++k) V(k, i + 1) = 0.0;
        }
        for (std::int64_t j = 0; j < n; ++j) {
            values[j] = V(n - 1, j);
            V(n - 1, j) = 0.0;
        }
        V(n - 1, n - 1) = 1.0;
    }

    void iterate() {
        for (std::int64_t i = 1; i < n; ++i) beside[i - 1] = beside[i];
        beside[n - 1] = 0.0;
        const double eps = std::numeric_limits<double>::epsilon();
        double shift = 0.0, largest = 0.0;
        for (std::int64_t l = 0; l < n; ++l) {
            largest = std::max(largest, std::abs(values[l]) + std::abs(beside[l]));
            std::int64_t m = l;
            while (m < n - 1 && std::abs(beside[m]) > eps * largest) ++m;
            for (int step = 0; m > l && step < MAX_STEPS && std::abs(beside[l]) > eps * largest; ++step)
                shift += ql_step(l, m);
            values[l] += shift;
            beside[l] = 0.0;
        }
    }

    double ql_step(std::int64_t l, std::int64_t m) {
        double g = values[l], p = (values[l + 1] - g) / (2.0 * beside[l]);
        double r = p < 0 ? -root(p, 1.0) : root(p, 1.0);
        values[l] = beside[l] / (p + r);
        values[l + 1] = beside[l] * (p + r);
        const double next = values[l + 1], h = g - values[l], below = beside[l + 1];
        for (std::int64_t i = l + 2; i < n; ++i) values[i] -= h;
        p = values[m];
        double c = 1.0, c2 = 1.0, c3 = 1.0, s = 0.0, s2 = 0.0;
        for (std::int64_t i = m - 1; i >= l; --i) {
            c3 = c2;
            c2 = c;
            s2 = s;
            g = c * beside[i];
            const double cp = c * p;
            r = root(p, beside[i]);
            beside[i + 1] = s * r;
            s = r > 0 ? beside[i] / r : 0.0;
            c = r > 0 ? p / r : 1.0;
            p = c * values[i] - s * g;
            values[i + 1] = cp + s * (c * g + s * values[i]);
            for (std::int64_t k = 0; wants_vectors && k < n; ++k) {
                const double right = V(k, i + 1), left = V(k, i);
                V(k, i + 1) = s * left + c * right;
                V(k, i) = c * left - s * right;
            }
        }
        p = -s * s2 * c3 * below * beside[l] / next;
        beside[l] = s * p;
        values[l] = c * p;
        return h;
    }

    // The power of two next below a number: its bits without those of the fraction. 1 of what is none.
    static double power_below(double number) {
        std::uint64_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        bits &= std::uint64_t{0x7ff} << 52;
        std::memcpy(&number, &bits, sizeof bits);
        return number > 0 && std::isfinite(number) ? number : 1.0;
    }

    // Not `hypot`: entries are near 1, and it takes as long as all else.
    static double root(double a, double b) { return std::sqrt(a * a + b * b); }

    void sort() {
        for (std::int64_t i = 0; i < n - 1; ++i) {
            const std::int64_t k = std::min_element(values.begin() + i, values.end()) - values.begin();
            if (k == i) continue;
            std::swap(values[i], values[k]);
            for (std::int64_t j = 0; wants_vectors && j < n; ++j) std::swap(V(j, i), V(j, k));
        }
    }
};
