// Products of a sparse matrix with a block of vectors that lie row by row.
//
// A row of the block, 8 or a multiple of it, is a few lines of the cache: what a row of the product needs is fetched in
// so many strokes. Sums run over the entries of a row in their order, whatever the block of rows.
#include "arrays.h"

namespace {

template <typename Value, typename Index> struct Rows {
    const Index *starts, *columns;
    const Value *values;
};

// Sums of `Width` columns from the first on; `stride` is the number of all columns.
template <int Width, typename Value, typename Index>
HNE_INLINE void row_sums(const Rows<Value, Index> &matrix, std::int64_t row, std::int64_t stride, const Value *first,
                         Value *sums) {
    for (int place = 0; place < Width; ++place) sums[place] = 0;
    for (Index entry = matrix.starts[row]; entry < matrix.starts[row + 1]; ++entry) {
        const Value value = matrix.values[entry];
        const Value *other = first + stride * static_cast<std::int64_t>(matrix.columns[entry]);
        for (int place = 0; place < Width; ++place) sums[place] += value * other[place];
    }
}

template <int Width, typename Value, typename Index>
HNE_INLINE void multiply_rows(std::int64_t start, std::int64_t stop, const Rows<Value, Index> &matrix,
                              std::int64_t stride, const Value *first, Value *out) {
    for (std::int64_t row = start; row < stop; ++row) {
        Value sums[Width];
        row_sums<Width>(matrix, row, stride, first, sums);
        for (int place = 0; place < Width; ++place) out[stride * row + place] = sums[place];
    }
}

template <int Width, typename Value, typename Index>
HNE_INLINE void combine_rows(std::int64_t start, std::int64_t stop, const Rows<Value, Index> &matrix,
                             std::int64_t stride, const Value *image, Value scale, Value shift, Value past,
                             const Value *block, Value *out) {
    for (std::int64_t row = start; row < stop; ++row) {
        Value sums[Width];
        row_sums<Width>(matrix, row, stride, image, sums);
        for (int place = 0; place < Width; ++place) {
            const std::int64_t at = stride * row + place;
            out[at] = (scale * sums[place] + shift * block[at]) + past * out[at];
        }
    }
}

// Functions that are compiled for two kinds of processors cannot be templates. Columns go in groups of 32 and a rest.
#define HNE_WIDTHS(Value, Index)                                                                                       \
    HNE_VECTORIZED void multiply_any(std::int64_t a, std::int64_t b, const Rows<Value, Index> &matrix,                 \
                                     std::int64_t width, const Value *block, Value *out) {                             \
        for (std::int64_t at = 0; at < width; at += 32) {                                                              \
            if (width - at == 8) multiply_rows<8>(a, b, matrix, width, block + at, out + at);                          \
            else if (width - at == 16) multiply_rows<16>(a, b, matrix, width, block + at, out + at);                   \
            else if (width - at == 24) multiply_rows<24>(a, b, matrix, width, block + at, out + at);                   \
            else multiply_rows<32>(a, b, matrix, width, block + at, out + at);                                         \
        }                                                                                                              \
    }                                                                                                                  \
    HNE_VECTORIZED void combine_any(std::int64_t a, std::int64_t b, const Rows<Value, Index> &matrix,                  \
                                    std::int64_t width, const Value *image, Value scale, Value shift, Value past,      \
                                    const Value *block, Value *out) {                                                  \
        for (std::int64_t at = 0; at < width; at += 32) {                                                              \
            const Value *from = image + at, *old = block + at;                                                         \
            if (width - at == 8) combine_rows<8>(a, b, matrix, width, from, scale, shift, past, old, out + at);        \
            else if (width - at == 16) combine_rows<16>(a, b, matrix, width, from, scale, shift, past, old, out + at); \
            else if (width - at == 24) combine_rows<24>(a, b, matrix, width, from, scale, shift, past, old, out + at); \
            else combine_rows<32>(a, b, matrix, width, from, scale, shift, past, old, out + at);                       \
        }                                                                                                              \
    }

HNE_WIDTHS(float, std::int32_t)
HNE_WIDTHS(float, std::int64_t)
HNE_WIDTHS(double, std::int32_t)
HNE_WIDTHS(double, std::int64_t)

// out = matrix @ block.
template <typename Value, typename Index>
void multiply_block(std::int64_t start, std::int64_t stop, Array<const Index, 1> indptr, Array<const Index, 1> indices,
                    Array<const Value, 1> data, Array<const Value, 2> block, Array<Value, 2> out) {
    const Rows<Value, Index> matrix{indptr.data(), indices.data(), data.data()};
    multiply_any(start, stop, matrix, static_cast<std::int64_t>(block.shape(1)), block.data(), out.data());
}

// out = scale * (matrix @ image) + shift * block + past * out, a step of a three-term recurrence.
template <typename Value, typename Index>
void combine_block(std::int64_t start, std::int64_t stop, Array<const Index, 1> indptr, Array<const Index, 1> indices,
                   Array<const Value, 1> data, Array<const Value, 2> image, double scale, double shift, double past,
                   Array<const Value, 2> block, Array<Value, 2> out) {
    const Rows<Value, Index> matrix{indptr.data(), indices.data(), data.data()};
    combine_any(start, stop, matrix, static_cast<std::int64_t>(block.shape(1)), image.data(),
                static_cast<Value>(scale), static_cast<Value>(shift), static_cast<Value>(past), block.data(),
                out.data());
}

template <typename Value, typename Index> void add_kind(nb::module_ &module) {
    module.def("multiply_block", &multiply_block<Value, Index>, NoLock());
    module.def("combine_block", &combine_block<Value, Index>, NoLock());
}

} // namespace

void add_products(nb::module_ &module) {
    add_kind<float, std::int32_t>(module);
    add_kind<float, std::int64_t>(module);
    add_kind<double, std::int32_t>(module);
    add_kind<double, std::int64_t>(module);
}
