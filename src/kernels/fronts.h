// Dense fronts of a factor: some columns eliminated at a time, and solves with a block of right sides.
#pragma once

#include <algorithm>
#include <cmath>

#include "dissection.h"

namespace {

constexpr int PANEL = 48; // columns that are eliminated at once
constexpr int TALL = 8, WIDE = 4; // rows and columns of a tile that stays in registers
constexpr int LANES = 8; // right sides that are solved together

// Columns of a front: its own are the factor's, those behind are what it leaves to its parent.
struct Front {
    double *own, *left;
    Int width, height; // own columns, rows
    double *column(Int c) const {
        // Rows are counted from the front's first, also where a column begins at the first row behind the own ones.
        return c < width ? own + static_cast<std::size_t>(c) * height
                         : left + static_cast<std::size_t>(c - width) * (height - width) - width;
    }
};

// c[8 x 4] -= a[8 x depth] b[4 x depth]', a and b packed by columns of 8.
HNE_VECTORIZED void subtract_product(const double *a, const double *b, Int depth, double *tile) {
    double sums[WIDE][TALL] = {};
    for (Int k = 0; k < depth; ++k, a += TALL, b += TALL)
        for (int c = 0; c < WIDE; ++c)
            for (int r = 0; r < TALL; ++r) sums[c][r] += a[r] * b[c];
    for (int c = 0; c < WIDE; ++c)
        for (int r = 0; r < TALL; ++r) tile[c * TALL + r] = sums[c][r];
}

// Columns j .. j + COUNT of eight rows of a panel below its triangle.
template <int COUNT> HNE_INLINE void divide_columns(double *x, const double *triangle, Int j) {
    double sums[COUNT][TALL] = {}, found[COUNT][TALL];
    const double *rows = triangle + j * PANEL;
    for (Int k = 0; k < j; ++k)
        for (int c = 0; c < COUNT; ++c)
            for (int r = 0; r < TALL; ++r) sums[c][r] += x[k * TALL + r] * rows[c * PANEL + k];
    for (int c = 0; c < COUNT; ++c) {
        for (int k = 0; k < c; ++k)
            for (int r = 0; r < TALL; ++r) sums[c][r] += found[k][r] * rows[c * PANEL + j + k];
        for (int r = 0; r < TALL; ++r) found[c][r] = (x[(j + c) * TALL + r] - sums[c][r]) * rows[c * PANEL + j + c];
    }
    for (int c = 0; c < COUNT; ++c)
        for (int r = 0; r < TALL; ++r) x[(j + c) * TALL + r] = found[c][r];
}

// x = x L'^-1 in place, for eight rows packed by columns of 8.
HNE_VECTORIZED void divide_rows(double *x, const double *triangle, Int width) {
    Int j = 0;
    for (; j + WIDE <= width; j += WIDE) divide_columns<WIDE>(x, triangle, j);
    for (; j < width; ++j) divide_columns<1>(x, triangle, j);
}

// The same for the columns of a triangle: column c loses what column j has, times its own entry there.
HNE_VECTORIZED void clear_columns(double *columns, Int j, Int width) {
    const double *pivot = columns + j * PANEL;
    for (Int c = j + 1; c < width; ++c) {
        double *column = columns + c * PANEL;
        const double factor = pivot[c];
        for (Int r = c; r < width; ++r) column[r] -= factor * pivot[r];
    }
}

// Lower triangle of a panel's first rows, by rows, one over the root of the pivot on its diagonal.
bool factor_triangle(const Front &front, Int first, Int width, double *triangle) {
    double columns[PANEL * PANEL];
    for (Int j = 0; j < width; ++j)
        for (Int i = j; i < width; ++i) columns[j * PANEL + i] = front.column(first + j)[first + i];
    for (Int j = 0; j < width; ++j) {
        double *column = columns + j * PANEL;
        if (!(column[j] > 0.0) || !std::isfinite(column[j])) return false;
        column[j] = 1.0 / std::sqrt(column[j]);
        for (Int i = j + 1; i < width; ++i) column[i] *= column[j];
        clear_columns(columns, j, width);
    }
    // The factor keeps one over its diagonal: solves multiply.
    for (Int j = 0; j < width; ++j)
        for (Int i = j; i < width; ++i) front.column(first + j)[first + i] = triangle[i * PANEL + j] = columns[j * PANEL + i];
    return true;
}

// Columns first .. first + PANEL of the factor; their rows below the triangle are packed as well, 8 rows a tile.
bool clear_panel(const Front &front, Int first, double *packed) {
    double triangle[PANEL * PANEL];
    const Int width = std::min<Int>(PANEL, front.width - first);
    if (!factor_triangle(front, first, width, triangle)) return false;
    for (Int begin = first + width; begin < front.height; begin += TALL, packed += width * TALL) {
        const Int count = std::min<Int>(TALL, front.height - begin);
        for (Int k = 0; k < width; ++k) {
            const double *column = front.column(first + k) + begin;
            for (Int r = 0; r < TALL; ++r) packed[k * TALL + r] = r < count ? column[r] : 0.0;
        }
        divide_rows(packed, triangle, width);
        for (Int k = 0; k < width; ++k) std::copy_n(packed + k * TALL, count, front.column(first + k) + begin);
    }
    return true;
}

// Takes a panel's product out of columns from .. to behind it (multiples of 8, or the last).
void subtract_panel(const Front &front, Int first, const double *packed, Int from, Int to) {
    double tile[TALL * WIDE];
    const Int width = std::min<Int>(PANEL, front.width - first), below = first + width;
    const std::size_t stride = static_cast<std::size_t>(width) * TALL;
    for (Int j = from; j < to; j += WIDE) {
        const double *b = packed + (j / TALL) * stride + j % TALL;
        const Int n_columns = std::min<Int>(WIDE, to - j);
        for (Int t = j / TALL; below + t * TALL < front.height; ++t) {
            subtract_product(packed + t * stride, b, width, tile);
            const Int begin = below + t * TALL, count = std::min<Int>(TALL, front.height - begin);
            for (Int c = 0; c < n_columns; ++c) {
                double *column = front.column(below + j + c) + begin;
                // Entries above the diagonal are nobody's, but have to be within the column.
                const Int skipped = below + j + c >= front.width ? std::max<Int>(0, front.width - begin) : 0;
                for (Int r = skipped; r < count; ++r) column[r] -= tile[c * TALL + r];
            }
        }
    }
}

// Solves with LANES right sides, by rows: `x` are those of the front's own samples, `all` those of all.

HNE_VECTORIZED void forward(const double *own, Int width, Int height, double *x, double *all, const Int *border) {
    for (Int j = 0; j < width; j += WIDE) {
        const Int count = std::min<Int>(WIDE, width - j);
        double y[WIDE][LANES] = {};
        const double *l[WIDE];
        for (Int c = 0; c < WIDE; ++c) l[c] = own + static_cast<std::size_t>(j + std::min(c, count - 1)) * height;
        for (Int c = 0; c < count; ++c) {
            for (int v = 0; v < LANES; ++v) y[c][v] = x[(j + c) * LANES + v];
            for (Int k = 0; k < c; ++k)
                for (int v = 0; v < LANES; ++v) y[c][v] -= l[k][j + c] * y[k][v];
            for (int v = 0; v < LANES; ++v) x[(j + c) * LANES + v] = y[c][v] *= l[c][j + c];
        }
        for (Int i = j + count; i < height; ++i) {
            double *target = i < width ? x + static_cast<std::size_t>(i) * LANES
                                       : all + static_cast<std::size_t>(border[i - width]) * LANES;
            double sums[LANES];
            for (int v = 0; v < LANES; ++v) sums[v] = target[v];
            for (int c = 0; c < WIDE; ++c)
                for (int v = 0; v < LANES; ++v) sums[v] -= l[c][i] * y[c][v];
            for (int v = 0; v < LANES; ++v) target[v] = sums[v];
        }
    }
}

HNE_VECTORIZED void backward(const double *own, Int width, Int height, double *x, const double *all,
                             const Int *border) {
    for (Int j = (width - 1) / WIDE * WIDE; j >= 0; j -= WIDE) {
        const Int count = std::min<Int>(WIDE, width - j);
        double y[WIDE][LANES] = {};
        const double *l[WIDE];
        for (Int c = 0; c < WIDE; ++c) l[c] = own + static_cast<std::size_t>(j + std::min(c, count - 1)) * height;
        for (Int i = j + count; i < height; ++i) {
            const double *source = i < width ? x + static_cast<std::size_t>(i) * LANES
                                             : all + static_cast<std::size_t>(border[i - width]) * LANES;
            for (int c = 0; c < WIDE; ++c)
                for (int v = 0; v < LANES; ++v) y[c][v] += l[c][i] * source[v];
        }
        for (Int c = count - 1; c >= 0; --c) {
            for (Int k = c + 1; k < count; ++k)
                for (int v = 0; v < LANES; ++v) y[c][v] += l[c][j + k] * x[(j + k) * LANES + v];
            for (int v = 0; v < LANES; ++v) x[(j + c) * LANES + v] = (x[(j + c) * LANES + v] - y[c][v]) * l[c][j + c];
        }
    }
}

} // namespace
