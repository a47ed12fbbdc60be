// Of a tile of products x.t, the samples x whose |x|^2 / 2 - x.t is smallest: those nearest to the target t.
//
// Each target has a list of what was found in the tiles before, ascending. Equal scores keep the order in which they
// came, so that a list depends on the order of the tiles alone.
#include "arrays.h"

namespace {

constexpr std::int64_t GROUP = 16;

HNE_VECTORIZED void scan_tile(std::int64_t rows, std::int64_t columns, const float *products, const float *halves,
                              std::int64_t first, std::int64_t count, float *scores, std::int64_t *found) {
    for (std::int64_t row = 0; row < rows; ++row) {
        const float *product = products + row * columns;
        float *list = scores + row * count;
        std::int64_t *names = found + row * count;
        const auto insert = [&](std::int64_t column, float score) {
            std::int64_t place = count - 1;
            for (; place > 0 && score < list[place - 1]; --place) {
                list[place] = list[place - 1];
                names[place] = names[place - 1];
            }
            list[place] = score;
            names[place] = first + column;
        };
        std::int64_t column = 0;
        for (; column + GROUP <= columns; column += GROUP) {
            const float worst = list[count - 1];
            float group[GROUP];
            int nearer = 0;
            for (std::int64_t place = 0; place < GROUP; ++place)
                group[place] = halves[column + place] - product[column + place];
            for (std::int64_t place = 0; place < GROUP; ++place) nearer += group[place] < worst;
            if (nearer == 0) continue;
            for (std::int64_t place = 0; place < GROUP; ++place)
                if (group[place] < list[count - 1]) insert(column + place, group[place]);
        }
        for (; column < columns; ++column) {
            const float score = halves[column] - product[column];
            if (score < list[count - 1]) insert(column, score);
        }
    }
}

void keep_nearest(Array<const float, 2> products, Array<const float, 1> halves, std::int64_t first,
                  Array<float, 2> scores, Array<std::int64_t, 2> found) {
    scan_tile(static_cast<std::int64_t>(products.shape(0)), static_cast<std::int64_t>(products.shape(1)),
              products.data(), halves.data(), first, static_cast<std::int64_t>(scores.shape(1)), scores.data(),
              found.data());
}

} // namespace

void add_nearest(nb::module_ &module) { module.def("keep_nearest", &keep_nearest, NoLock()); }
