// hne._kernels: what Python sees of the kernels. Each file of this folder adds its own.
#include "arrays.h"

void add_triangle(nb::module_ &module);
void add_ranks(nb::module_ &module);
void add_weights(nb::module_ &module);

NB_MODULE(_kernels, module) {
    module.doc() = "Compiled kernels. They check nothing: arrays must fit together.";
    add_triangle(module);
    add_ranks(module);
    add_weights(module);
}
