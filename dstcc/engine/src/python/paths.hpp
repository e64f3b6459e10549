// What a sender learns of its paths, for dstcc.learn.paths.
#pragma once

#include <pybind11/pybind11.h>

namespace dstcc {

void bind_paths(pybind11::module_& engine);

}  // namespace dstcc
