// What the bindings share: dataclasses to the engine's structs, and results to dictionaries of arrays.
#pragma once

#include <pybind11/pybind11.h>

#include "mptcp/simulation.hpp"

namespace dstcc {

EngineConfig read_engine_config(const pybind11::handle& config);
TransportConfig read_transport_config(const pybind11::handle& transport);
pybind11::dict engine_result(const Simulation& simulation);
void bind_stepper(pybind11::module_& engine);

}  // namespace dstcc
