// How lengths D (l, n) of ways from l landmarks pull at n samples: with p_li = share_li / |y_i - y_l|, D_li over what a
// way counts at least, one step of majorization needs
//
//     samples_i = sum_l p_li (y_i - y_l),     landmarks_l = sum_i p_li (y_l - y_i).
//
// Coordinates are (d, n): samples beside each other are looked at together.
#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.h"

namespace {

// Samples that are looked at together, and sums that are kept beside each other.
constexpr std::int64_t BLOCK = 256, LANES = 8;

// Distances of the samples Y (d, BLOCK) of a block from a landmark, none below the least; and their differences.
HNE_VECTORIZED
void part(const double *Y, std::int64_t d, const double *landmark, double least, double *apart, double *away) {
    for (std::int64_t i = 0; i < BLOCK; ++i) away[i] = 0.0;
    for (std::int64_t c = 0; c < d; ++c)
        for (std::int64_t i = 0; i < BLOCK; ++i) {
            const double difference = Y[c * BLOCK + i] - landmark[c];
            apart[c * BLOCK + i] = difference;
            away[i] += difference * difference;
        }
    for (std::int64_t i = 0; i < BLOCK; ++i) {
        const double length = std::sqrt(away[i]);
        away[i] = length > least ? length : least;
    }
}

HNE_VECTORIZED
void pull(const double *apart, const double *away, const double *shares, std::int64_t d, double *samples,
          double *landmark) {
    double pulls[BLOCK];
    for (std::int64_t i = 0; i < BLOCK; ++i) pulls[i] = shares[i] / away[i];
    for (std::int64_t c = 0; c < d; ++c) {
        double sums[LANES] = {};
        for (std::int64_t i = 0; i < BLOCK; i += LANES)
            for (std::int64_t lane = 0; lane < LANES; ++lane) {
                const double force = pulls[i + lane] * apart[c * BLOCK + i + lane];
                samples[c * BLOCK + i + lane] += force;
                sums[lane] += force;
            }
        for (std::int64_t lane = 0; lane < LANES; ++lane) landmark[c] -= sums[lane];
    }
}

// Adds what samples of a block want of a landmark to sums (d + 1, BLOCK): places by their weights, which come last.
HNE_VECTORIZED
void want(const double *apart, const double *away, const double *lengths, const double *landmark, std::int64_t d,
          double shortest, double *sums) {
    double weights[BLOCK], pulls[BLOCK];
    for (std::int64_t i = 0; i < BLOCK; ++i) {
        const double length = lengths[i] > shortest ? lengths[i] : shortest;
        // One division for two.
        const double inverse = 1.0 / (length * away[i]);
        weights[i] = lengths[i] > 0.0 ? away[i] * inverse : 0.0;
        pulls[i] = lengths[i] * inverse;
        sums[d * BLOCK + i] += weights[i];
    }
    for (std::int64_t c = 0; c < d; ++c)
        for (std::int64_t i = 0; i < BLOCK; ++i)
            sums[c * BLOCK + i] += weights[i] * landmark[c] + pulls[i] * apart[c * BLOCK + i];
}

// A block of rows (d, n) or of one row, zeros behind the last sample.
void copy_block(const double *from, std::int64_t n, std::int64_t rows, std::int64_t first, double *to) {
    const std::int64_t used = std::min(BLOCK, n - first);
    for (std::int64_t row = 0; row < rows; ++row) {
        std::copy(from + row * n + first, from + row * n + first + used, to + row * BLOCK);
        std::fill(to + row * BLOCK + used, to + (row + 1) * BLOCK, 0.0);
    }
}

// Samples (d, n) and landmarks (l, d) as above, of Y (d, n) and places (l, d).
void pull_ways(Floats<2> Y, Floats<2> places, Floats<2> shares, double least, Array<double, 2> samples,
               Array<double, 2> landmarks) {
    const std::int64_t d = static_cast<std::int64_t>(Y.shape(0)), n = static_cast<std::int64_t>(Y.shape(1));
    const std::int64_t l = static_cast<std::int64_t>(places.shape(0));
    std::vector<double> mine(d * BLOCK), apart(d * BLOCK), away(BLOCK), share(BLOCK), forces(d * BLOCK);
    std::fill(landmarks.data(), landmarks.data() + l * d, 0.0);
    for (std::int64_t first = 0; first < n; first += BLOCK) {
        const std::int64_t used = std::min(BLOCK, n - first);
        copy_block(Y.data(), n, d, first, mine.data());
        std::fill(forces.begin(), forces.end(), 0.0);
        for (std::int64_t landmark = 0; landmark < l; ++landmark) {
            const double *given = shares.data() + landmark * n + first;
            if (used < BLOCK) {
                copy_block(shares.data() + landmark * n, n, 1, first, share.data());
                given = share.data();
            }
            part(mine.data(), d, places.data() + landmark * d, least, apart.data(), away.data());
            pull(apart.data(), away.data(), given, d, forces.data(), landmarks.data() + landmark * d);
        }
        for (std::int64_t c = 0; c < d; ++c)
            std::copy(&forces[c * BLOCK], &forces[c * BLOCK] + used, samples.data() + c * n + first);
    }
}

// Y (d, n) after a step by which each sample goes a share of the way to where its ways (l, n) want it.
void relax_ways(Floats<2> Y, Floats<2> places, Floats<2> lengths, double shortest, double least, double share,
                Array<double, 2> relaxed) {
    const std::int64_t d = static_cast<std::int64_t>(Y.shape(0)), n = static_cast<std::int64_t>(Y.shape(1));
    const std::int64_t l = static_cast<std::int64_t>(places.shape(0));
    std::vector<double> mine(d * BLOCK), apart(d * BLOCK), away(BLOCK), given(BLOCK), sums((d + 1) * BLOCK);
    for (std::int64_t first = 0; first < n; first += BLOCK) {
        copy_block(Y.data(), n, d, first, mine.data());
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t landmark = 0; landmark < l; ++landmark) {
            copy_block(lengths.data() + landmark * n, n, 1, first, given.data());
            const double *place = places.data() + landmark * d;
            part(mine.data(), d, place, least, apart.data(), away.data());
            want(apart.data(), away.data(), given.data(), place, d, shortest, sums.data());
        }
        for (std::int64_t c = 0; c < d; ++c)
            for (std::int64_t i = 0; i < std::min(BLOCK, n - first); ++i)
                relaxed.data()[c * n + first + i] =
                    (1.0 - share) * mine[c * BLOCK + i] + share * sums[c * BLOCK + i] / sums[d * BLOCK + i];
    }
}

} // namespace

void add_ways(nb::module_ &module) {
    module.def("pull_ways", &pull_ways, NoLock());
    module.def("relax_ways", &relax_ways, NoLock());
}
