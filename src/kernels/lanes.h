// Eight numbers at a time, each on its own: what a lane holds does not depend on the lanes beside it.
#pragma once

#include <cmath>

#include "arrays.h"

constexpr int LANES = 8;

// Over plain arrays of numbers, wherever these begin.
struct Lanes {
#if defined(__GNUC__)
    typedef double Vector __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
    Vector of;
#define HNE_EACH(sign)                                                                                             \
    friend HNE_INLINE Lanes operator sign(const Lanes &one, const Lanes &other) { return {one.of sign other.of}; }
#else
    double of[LANES];
#define HNE_EACH(sign)                                                                                             \
    friend Lanes operator sign(Lanes one, const Lanes &other) {                                                        \
        for (int lane = 0; lane < LANES; ++lane) one.of[lane] = one.of[lane] sign other.of[lane];                      \
        return one;                                                                                                    \
    }
#endif
    HNE_EACH(+)
    HNE_EACH(-)
    HNE_EACH(*)
    HNE_EACH(/)
#undef HNE_EACH
    HNE_INLINE Lanes &operator-=(const Lanes &other) { return *this = *this - other; }
    HNE_INLINE Lanes &operator+=(const Lanes &other) { return *this = *this + other; }
};

HNE_INLINE double root(double number) { return std::sqrt(number); }
HNE_INLINE double at_least(double number, double least) { return number > least ? number : least; }
HNE_INLINE Lanes root(Lanes numbers) {
    for (int lane = 0; lane < LANES; ++lane) numbers.of[lane] = std::sqrt(numbers.of[lane]);
    return numbers;
}
HNE_INLINE Lanes at_least(Lanes numbers, const Lanes &least) {
    for (int lane = 0; lane < LANES; ++lane) numbers.of[lane] = at_least(numbers.of[lane], least.of[lane]);
    return numbers;
}

// Solves (C + ridge I) v = 1 by Cholesky's factorization, in numbers or in lanes of them, then makes sum(v) = 1. C
// (size, size) has the lower triangle and is overwritten. No pivot of a positive semidefinite matrix plus a ridge is
// below the ridge: one that is comes of rounding. An absent row is one of zeros, with `ones` zero: its v is zero.
template <typename Number>
HNE_INLINE void solve_ones(Number *C, int size, const Number &ridge, const Number *ones, Number *v) {
    const Number one = ridge / ridge;
    for (int a = 0; a < size; ++a) {
        Number *row = C + a * size;
        for (int b = 0; b < a; ++b) {
            const Number *other = C + b * size;
            Number total = row[b];
            for (int c = 0; c < b; ++c) total -= row[c] * other[c];
            row[b] = total * other[b];
        }
        Number total = row[a] + ridge;
        for (int c = 0; c < a; ++c) total -= row[c] * row[c];
        // The diagonal is kept as its inverse: products are cheaper than quotients.
        row[a] = one / root(at_least(total, ridge));
        Number known = ones[a];
        for (int c = 0; c < a; ++c) known -= row[c] * v[c];
        v[a] = known * row[a];
    }
    Number sum = ridge - ridge;
    for (int a = size - 1; a >= 0; --a) {
        const Number *row = C + a * size;
        v[a] = v[a] * row[a];
        sum += v[a];
        for (int c = 0; c < a; ++c) v[c] -= row[c] * v[a];
    }
    const Number share = one / sum;
    for (int a = 0; a < size; ++a) v[a] = v[a] * share;
}
