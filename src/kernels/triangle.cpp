// Rows of the upper triangle of G = gamma A'A + B'B.
//
// Row j of G sums, over every row i of A (and of B) that has an entry in column j, that entry times row i. `marked[c]`
// says that column c of the row at hand has been met, so that nothing needs to be cleared between rows. Sums run over
// i in ascending order, whatever the block and the thread.
#include <algorithm>
#include <vector>

#include "arrays.h"

namespace {

// A sparse matrix by rows, and its pattern by columns.
template <typename Index> struct Matrix {
    const Index *row_starts, *columns, *column_starts, *rows;
    const double *values, *values_by_column;
};

template <typename Index>
std::int64_t count(const Matrix<Index> &matrix, std::int64_t row, std::vector<std::int64_t> &marked) {
    std::int64_t found = 0;
    for (Index place = matrix.column_starts[row]; place < matrix.column_starts[row + 1]; ++place) {
        const Index source = matrix.rows[place];
        for (Index entry = matrix.row_starts[source]; entry < matrix.row_starts[source + 1]; ++entry) {
            const Index column = matrix.columns[entry];
            if (column >= row && marked[column] != row) {
                marked[column] = row;
                ++found;
            }
        }
    }
    return found;
}

// Adds one term to the row's sums; writes columns met for the first time behind `last`, and returns the new end.
template <typename Index>
Index *add(const Matrix<Index> &matrix, std::int64_t row, double weight, std::vector<double> &sums,
           std::vector<std::int64_t> &marked, Index *last) {
    for (Index place = matrix.column_starts[row]; place < matrix.column_starts[row + 1]; ++place) {
        const Index source = matrix.rows[place];
        const double factor = weight * matrix.values_by_column[place];
        for (Index entry = matrix.row_starts[source]; entry < matrix.row_starts[source + 1]; ++entry) {
            const Index column = matrix.columns[entry];
            if (column < row) continue;
            if (marked[column] != row) {
                marked[column] = row;
                sums[column] = 0.0;
                *last++ = column;
            }
            sums[column] += factor * matrix.values[entry];
        }
    }
    return last;
}


template <typename Index>
void count_entries(std::int64_t start, std::int64_t stop, Array<const Index, 1> Ap, Array<const Index, 1> Ai,
                   Array<const Index, 1> ATp, Array<const Index, 1> ATi, Array<const Index, 1> Bp,
                   Array<const Index, 1> Bi, Array<const Index, 1> BTp, Array<const Index, 1> BTi,
                   Array<std::int64_t, 1> counts) {
    const Matrix<Index> A{Ap.data(), Ai.data(), ATp.data(), ATi.data(), nullptr, nullptr};
    const Matrix<Index> B{Bp.data(), Bi.data(), BTp.data(), BTi.data(), nullptr, nullptr};
    std::vector<std::int64_t> marked(Ap.size() - 1, -1);
    for (std::int64_t row = start; row < stop; ++row)
        counts.data()[row] = count(A, row, marked) + count(B, row, marked);
}

template <typename Index>
void fill_entries(std::int64_t start, std::int64_t stop, double gamma, Array<const Index, 1> Ap,
                  Array<const Index, 1> Ai, Array<const Index, 1> ATp, Array<const Index, 1> ATi,
                  Array<const Index, 1> Bp, Array<const Index, 1> Bi, Array<const Index, 1> BTp,
                  Array<const Index, 1> BTi, Floats<1> Ax, Floats<1> ATx, Floats<1> Bx, Floats<1> BTx,
                  Indices<1> indptr, Array<Index, 1> indices, Array<double, 1> data) {
    const Matrix<Index> A{Ap.data(), Ai.data(), ATp.data(), ATi.data(), Ax.data(), ATx.data()};
    const Matrix<Index> B{Bp.data(), Bi.data(), BTp.data(), BTi.data(), Bx.data(), BTx.data()};
    std::vector<double> sums(Ap.size() - 1);
    std::vector<std::int64_t> marked(Ap.size() - 1, -1);
    for (std::int64_t row = start; row < stop; ++row) {
        Index *first = indices.data() + indptr.data()[row];
        Index *last = add(A, row, gamma, sums, marked, first);
        last = add(B, row, 1.0, sums, marked, last);
        std::sort(first, last);
        double *value = data.data() + indptr.data()[row];
        for (const Index *column = first; column < last; ++column) *value++ = sums[*column];
    }
}

} // namespace

void add_triangle(nb::module_ &module) {
    module.def("count_entries", &count_entries<std::int32_t>, NoLock());
    module.def("count_entries", &count_entries<std::int64_t>, NoLock());
    module.def("fill_entries", &fill_entries<std::int32_t>, NoLock());
    module.def("fill_entries", &fill_entries<std::int64_t>, NoLock());
}
