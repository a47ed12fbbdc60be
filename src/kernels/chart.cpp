// Maps B (m, r) of eigenvectors that keep the lengths of near pairs: two objectives and a descent for both.
//
// With a_e (m,) the difference of the eigenvectors over a pair in units of its length, and z_e = B' a_e,
//
//     spread   mean_e (|z_e|^2 - 1)^2 / 2 - pull |B|^2      convex in B B', and without other minima for some columns
//     stress   mean_e (|z_e| - 1)^2
//
// the first to its minimum by L-BFGS (Nocedal 1980), the second by some steps of SMACOF with momentum. Both begin with
// the inverse of mean_e a_e a_e' for the curvature. Pairs lie in blocks of LANES, (blocks, m, LANES), zeros behind the
// last: sums over pairs run in as many lanes, whose order no machine changes.
#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.h"

namespace {

constexpr std::int64_t LANES = 8;
// Blocks whose images are held at once.
constexpr std::int64_t TILE = 32;
// Steps that are remembered, the least share of the promised gain that a step must have, and trials of its length.
constexpr int MEMORY = 8, TRIALS = 12;
constexpr double ENOUGH = 1e-4, NOTHING = 1e-12;

using Numbers = std::vector<double>;

struct Pairs {
    const double *ratios;
    std::int64_t count, m;
    bool is_spread;
    double pull;
    const double *inverse; // (m, m), of the mean of a_e a_e', about
};

double total(const double *lanes) {
    double sum = 0.0;
    for (std::int64_t lane = 0; lane < LANES; ++lane) sum += lanes[lane];
    return sum;
}

// Images (WIDE, LANES) of a block of pairs under some columns of B.
template <int WIDE>
HNE_INLINE void map_block(const double *block, std::int64_t m, const double *B, std::int64_t r, double *images) {
    double sums[WIDE][LANES] = {};
    for (std::int64_t k = 0; k < m; ++k)
        for (int column = 0; column < WIDE; ++column) {
            const double factor = B[k * r + column];
            for (int lane = 0; lane < LANES; ++lane) sums[column][lane] += block[k * LANES + lane] * factor;
        }
    for (int column = 0; column < WIDE; ++column)
        for (int lane = 0; lane < LANES; ++lane) images[column * LANES + lane] = sums[column][lane];
}

// Adds what some blocks of pairs pull at some columns of B to sums (WIDE, m, LANES).
template <int WIDE>
HNE_INLINE void add_pulls(const double *ratios, std::int64_t m, std::int64_t blocks, const double *pulls,
                          std::int64_t r, double *to) {
    for (std::int64_t k = 0; k < m; ++k) {
        double sums[WIDE][LANES];
        for (int column = 0; column < WIDE; ++column)
            for (int lane = 0; lane < LANES; ++lane) sums[column][lane] = to[(column * m + k) * LANES + lane];
        for (std::int64_t block = 0; block < blocks; ++block) {
            const double *ratio = ratios + (block * m + k) * LANES, *pull = pulls + block * r * LANES;
            for (int column = 0; column < WIDE; ++column)
                for (int lane = 0; lane < LANES; ++lane)
                    sums[column][lane] += ratio[lane] * pull[column * LANES + lane];
        }
        for (int column = 0; column < WIDE; ++column)
            for (int lane = 0; lane < LANES; ++lane) to[(column * m + k) * LANES + lane] = sums[column][lane];
    }
}

// The terms of a block by the squares of its images, and their slopes by half of these.
HNE_INLINE void judge(const Pairs &pairs, const double *squares, double *terms, double *slopes) {
    if (pairs.is_spread) {
        for (int lane = 0; lane < LANES; ++lane) {
            slopes[lane] = 2.0 * (squares[lane] - 1.0);
            terms[lane] = 0.5 * (squares[lane] - 1.0) * (squares[lane] - 1.0);
        }
        return;
    }
    for (int lane = 0; lane < LANES; ++lane) {
        const double length = std::sqrt(squares[lane]);
        slopes[lane] = 2.0 - 2.0 / (length > NOTHING ? length : NOTHING);
        terms[lane] = (length - 1.0) * (length - 1.0);
    }
}

// Sum of the terms of all pairs; sums (r, m, LANES) become those of a_e z_e' times the slope of each. Columns go four,
// two or one at a time, so that what is summed stays in registers: a quarter of the time of a column at a time.
HNE_VECTORIZED
double add_terms(const Pairs &pairs, const double *B, std::int64_t r, double *sums, double *images) {
    const std::int64_t m = pairs.m;
    double terms[LANES] = {};
    std::fill(sums, sums + r * m * LANES, 0.0);
    for (std::int64_t first = 0; first < pairs.count; first += TILE * LANES) {
        const std::int64_t blocks = std::min(TILE, (pairs.count - first + LANES - 1) / LANES);
        const double *ratios = pairs.ratios + first * m;
        for (std::int64_t block = 0; block < blocks; ++block) {
            const double *some = ratios + block * m * LANES;
            double *image = images + block * r * LANES, squares[LANES] = {}, slopes[LANES], found[LANES];
            std::int64_t column = 0;
            for (; column + 4 <= r; column += 4) map_block<4>(some, m, B + column, r, image + column * LANES);
            for (; column + 2 <= r; column += 2) map_block<2>(some, m, B + column, r, image + column * LANES);
            for (; column < r; ++column) map_block<1>(some, m, B + column, r, image + column * LANES);
            for (column = 0; column < r; ++column)
                for (int lane = 0; lane < LANES; ++lane)
                    squares[lane] += image[column * LANES + lane] * image[column * LANES + lane];
            judge(pairs, squares, found, slopes);
            for (std::int64_t lane = pairs.count - first - block * LANES; lane < LANES; ++lane) found[lane] = 0.0;
            for (int lane = 0; lane < LANES; ++lane) terms[lane] += found[lane];
            for (column = 0; column < r; ++column)
                for (int lane = 0; lane < LANES; ++lane) image[column * LANES + lane] *= slopes[lane];
        }
        std::int64_t column = 0;
        for (; column + 4 <= r; column += 4)
            add_pulls<4>(ratios, m, blocks, images + column * LANES, r, sums + column * m * LANES);
        for (; column + 2 <= r; column += 2)
            add_pulls<2>(ratios, m, blocks, images + column * LANES, r, sums + column * m * LANES);
        for (; column < r; ++column)
            add_pulls<1>(ratios, m, blocks, images + column * LANES, r, sums + column * m * LANES);
    }
    return total(terms);
}

double dot(const Numbers &one, const Numbers &other) {
    double sum = 0.0;
    for (std::size_t i = 0; i < one.size(); ++i) sum += one[i] * other[i];
    return sum;
}

void add(Numbers &to, double times, const Numbers &what) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += times * what[i];
}

Numbers difference(const Numbers &one, const Numbers &other) {
    Numbers result(one);
    add(result, -1.0, other);
    return result;
}

// An objective with its slope, over B (m, r).
class Objective {
  public:
    Objective(const Pairs &pairs, std::int64_t r)
        : pairs(pairs), r(r), sums(r * pairs.m * LANES), images(TILE * r * LANES) {}

    double at(const Numbers &B, Numbers &slope) {
        const double count = static_cast<double>(pairs.count);
        const double value = add_terms(pairs, B.data(), r, sums.data(), images.data()) / count;
        for (std::int64_t k = 0; k < pairs.m; ++k)
            for (std::int64_t column = 0; column < r; ++column)
                slope[k * r + column] = total(&sums[(column * pairs.m + k) * LANES]) / count;
        if (!pairs.is_spread) return value;
        add(slope, -2.0 * pairs.pull, B);
        return value - pairs.pull * dot(B, B);
    }

    Numbers conditioned(const Numbers &slope) const {
        Numbers result(slope.size(), 0.0);
        for (std::int64_t k = 0; k < pairs.m; ++k)
            for (std::int64_t other = 0; other < pairs.m; ++other)
                for (std::int64_t column = 0; column < r; ++column)
                    result[k * r + column] += pairs.inverse[k * pairs.m + other] * slope[other * r + column];
        return result;
    }

  private:
    const Pairs pairs;
    const std::int64_t r;
    Numbers sums, images;
};

// L-BFGS.
class Descent {
  public:
    explicit Descent(Objective &objective) : objective(objective) {}

    // Improves B until a step gains less than a share of the value; returns that.
    double run(Numbers &B, std::int64_t steps, double share) {
        const std::size_t size = B.size();
        Numbers slope(size), next(size), next_slope(size);
        double value = objective.at(B, slope);
        for (std::int64_t step = 0; step < steps; ++step) {
            Numbers way = direction(slope);
            double promised = dot(way, slope);
            if (!(promised < 0.0)) {
                moves.clear(), turns.clear();
                way = direction(slope);
                promised = dot(way, slope);
            }
            double length = 1.0, found = value;
            int trial = 0;
            for (; trial < TRIALS; ++trial) {
                next = B;
                add(next, length, way);
                found = objective.at(next, next_slope);
                if (found <= value + ENOUGH * length * promised) break;
                // The least of the parabola through what is known, not too near to either end.
                const double least = -0.5 * promised * length * length / (found - value - promised * length);
                length = std::max(0.1 * length, std::min(0.5 * length, least));
            }
            if (trial == TRIALS) break;
            std::swap(B, next);
            std::swap(slope, next_slope);
            remember(difference(B, next), difference(slope, next_slope));
            const double gain = value - found;
            value = found;
            if (gain <= share * std::abs(value)) break;
        }
        return value;
    }

  private:
    Numbers direction(const Numbers &slope) const {
        Numbers way(slope.size(), 0.0);
        add(way, -1.0, slope);
        Numbers shares(moves.size());
        for (std::size_t i = moves.size(); i-- > 0;) {
            shares[i] = dot(moves[i], way) / dot(moves[i], turns[i]);
            add(way, -shares[i], turns[i]);
        }
        way = objective.conditioned(way);
        for (double &one : way) one *= scale;
        for (std::size_t i = 0; i < moves.size(); ++i)
            add(way, shares[i] - dot(turns[i], way) / dot(moves[i], turns[i]), moves[i]);
        return way;
    }

    void remember(const Numbers &move, const Numbers &turn) {
        const double along = dot(move, turn), across = dot(turn, objective.conditioned(turn));
        if (!(along > 1e-10 * across)) return;
        if (moves.size() == MEMORY) {
            moves.erase(moves.begin());
            turns.erase(turns.begin());
        }
        moves.push_back(move);
        turns.push_back(turn);
        scale = along / across;
    }

    Objective &objective;
    std::vector<Numbers> moves, turns;
    double scale = 0.5;
};

double descend_spread(Floats<3> ratios, std::int64_t count, double pull, Floats<2> inverse, Array<double, 2> B,
                      std::int64_t steps, double share) {
    const std::int64_t m = static_cast<std::int64_t>(ratios.shape(1)), r = static_cast<std::int64_t>(B.shape(1));
    Objective objective({ratios.data(), count, m, true, pull, inverse.data()}, r);
    Numbers values(B.data(), B.data() + B.size());
    const double value = Descent(objective).run(values, steps, share);
    std::copy(values.begin(), values.end(), B.data());
    return value;
}

// Some steps of SMACOF with the momentum of Nesterov (1983), which ends where it leads uphill; returns the stress. B
// stays as it is where they do not lower that.
double descend_stress(Floats<3> ratios, std::int64_t count, Floats<2> inverse, Array<double, 2> B, std::int64_t steps) {
    const std::int64_t m = static_cast<std::int64_t>(ratios.shape(1)), r = static_cast<std::int64_t>(B.shape(1));
    Objective objective({ratios.data(), count, m, false, 0.0, inverse.data()}, r);
    Numbers here(B.data(), B.data() + B.size()), ahead = here, slope(here.size());
    double momentum = 1.0, before = 0.0;
    for (std::int64_t step = 0; step < steps; ++step) {
        const double value = objective.at(ahead, slope);
        if (step == 0) before = value;
        Numbers next = ahead;
        add(next, -0.5, objective.conditioned(slope));
        const Numbers move = difference(next, here);
        const double grown = dot(slope, move) > 0.0 ? 1.0 : 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * momentum * momentum));
        ahead = next;
        if (grown > 1.0) add(ahead, (momentum - 1.0) / grown, move);
        momentum = grown;
        std::swap(here, next);
    }
    const double stress = objective.at(here, slope);
    if (steps > 0 && !(stress < before)) return before;
    std::copy(here.begin(), here.end(), B.data());
    return stress;
}

// Differences of vectors over some pairs, in units of the length of each, as blocks.
void pack_ratios(Floats<2> vectors, Indices<1> first, Indices<1> second, Floats<1> lengths, Array<double, 3> ratios) {
    const std::int64_t m = static_cast<std::int64_t>(vectors.shape(1));
    const std::int64_t count = static_cast<std::int64_t>(first.size());
    for (std::int64_t pair = 0; pair < count; ++pair) {
        const double *one = vectors.data() + first.data()[pair] * m, *other = vectors.data() + second.data()[pair] * m;
        const double length = lengths.data()[pair];
        double *to = ratios.data() + pair / LANES * LANES * m + pair % LANES;
        for (std::int64_t k = 0; k < m; ++k) to[k * LANES] = (one[k] - other[k]) / length;
    }
}

} // namespace

void add_chart(nb::module_ &module) {
    module.def("pack_ratios", &pack_ratios, NoLock());
    module.def("descend_spread", &descend_spread, NoLock());
    module.def("descend_stress", &descend_stress, NoLock());
}
