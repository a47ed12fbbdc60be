// hne._kernels: what Python sees of the kernels. Each file of this folder adds its own.
#include "arrays.h"

void add_judge(nb::module_ &module);
void add_paths(nb::module_ &module);
void add_planes(nb::module_ &module);
void add_triangle(nb::module_ &module);
void add_ranks(nb::module_ &module);
void add_weights(nb::module_ &module);

NB_MODULE(_kernels, module) {
    module.doc() = "Compiled kernels. They check nothing: arrays must fit together.";
    add_judge(module);
    add_paths(module);
    add_planes(module);
    add_triangle(module);
    add_ranks(module);
    add_weights(module);
}
