#pragma once

#include <pybind11/pybind11.h>

namespace dstcc {

void bind_rules(pybind11::module_& engine);
void bind_structures(pybind11::module_& engine);
void bind_parts(pybind11::module_& engine);

}  // namespace dstcc
