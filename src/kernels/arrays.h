// Arrays as Python hands them over: C order, no copies, no checks of sizes beyond dimension and kind.
//
// A kernel is a free function over arrays: it writes into arrays that the caller made, keeps no state, runs without
// Python's lock and treats rows independently, so that the bits are the same for any block of rows and any thread.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

template <typename Kind, int Dimensions>
using Array = nb::ndarray<Kind, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

template <int Dimensions> using Floats = Array<const double, Dimensions>;
template <int Dimensions> using Indices = Array<const std::int64_t, Dimensions>;

using NoLock = nb::call_guard<nb::gil_scoped_release>;

// Loops over independent sums are compiled twice, and the processor decides which is run. The bits are the same: sums
// keep their order, products are rounded before they are added.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define HNE_VECTORIZED __attribute__((target_clones("avx2", "default")))
// For code that says itself what is done at a time (lanes.h): where it finds that out, GCC 12 reads beyond arrays.
#define HNE_LANEWISE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HNE_VECTORIZED
#define HNE_LANEWISE
#endif
// What such a function calls is compiled into it.
#if defined(__GNUC__)
#define HNE_INLINE inline __attribute__((always_inline))
#else
#define HNE_INLINE inline
#endif
