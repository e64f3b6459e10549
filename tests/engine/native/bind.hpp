// What the extension dstcc.engine._testing is made of; no part of an installed dstcc.
#pragma once

#include <pybind11/pybind11.h>

namespace dstcc {

void bind_rules(pybind11::module_& m);       // the schedulers' decisions
void bind_structures(pybind11::module_& m);  // the engine's containers
void bind_parts(pybind11::module_& m);       // the ends of a subflow
void bind_law_bench(pybind11::module_& m);   // congestion controls
void bind_window_law(pybind11::module_& m);  // the law that a kernel module compiles too
void bind_links(pybind11::module_& m);       // losses and delays
void bind_dispatch(pybind11::module_& m);    // which layer goes next
void bind_coding(pybind11::module_& m);      // layers coded over packets

}  // namespace dstcc
