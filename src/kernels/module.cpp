// hne._kernels: what Python sees of the kernels. Each file of this folder adds its own.
#include "arrays.h"

void add_nearest(nb::module_ &module);
void add_products(nb::module_ &module);
void add_triangle(nb::module_ &module);

NB_MODULE(_kernels, module) {
    module.doc() = "Compiled kernels. They check nothing: arrays must fit together.";
    add_nearest(module);
    add_products(module);
    add_triangle(module);
}
