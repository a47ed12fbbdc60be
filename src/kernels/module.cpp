// hne._kernels: what Python sees of the kernels. Each file of this folder adds its own.
#include "arrays.h"

void add_chart(nb::module_ &module);
void add_cholesky(nb::module_ &module);
void add_graph(nb::module_ &module);
void add_judge(nb::module_ &module);
void add_layout(nb::module_ &module);
void add_nearest(nb::module_ &module);
void add_paths(nb::module_ &module);
void add_planes(nb::module_ &module);
void add_products(nb::module_ &module);
void add_ranks(nb::module_ &module);
void add_triangle(nb::module_ &module);
void add_ways(nb::module_ &module);
void add_weights(nb::module_ &module);

NB_MODULE(_kernels, module) {
    module.doc() = "Compiled kernels. They check nothing: arrays must fit together.";
    add_chart(module);
    add_cholesky(module);
    add_graph(module);
    add_judge(module);
    add_layout(module);
    add_nearest(module);
    add_paths(module);
    add_planes(module);
    add_products(module);
    add_ranks(module);
    add_triangle(module);
    add_ways(module);
    add_weights(module);
}
