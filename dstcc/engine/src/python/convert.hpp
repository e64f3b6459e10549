// What the bindings share: dataclasses to the engine's structs, and results to dictionaries of arrays.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <vector>

#include "core/config.hpp"

namespace dstcc {

template <class Ends>
class HopByHop;
template <class Ends>
class Trial;

inline void require(bool holds, const char* rule) {
    if (!holds) throw pybind11::value_error(rule);
}

template <class T>
pybind11::array_t<T> to_array(const std::vector<T>& values) {
    return pybind11::array_t<T>(static_cast<pybind11::ssize_t>(values.size()), values.data());
}

// config.cpp: the dataclasses of dstcc/engine/config.py. A configuration is validated, and
// losses; other parts by themselves are not.
EngineConfig read_engine_config(const pybind11::handle& config);
TransportConfig read_transport_config(const pybind11::handle& transport);
NodeConfig read_node(const pybind11::handle& node);
LinkConfig read_link(const pybind11::handle& link);
LossConfig read_loss(const pybind11::handle& loss);

// validate.cpp: ValueError where the engine's arithmetic would make no sense.
void validate(const EngineConfig& config);
void validate(const LossConfig& loss);

// results.cpp: what dstcc.engine.simulate.to_result() takes.
template <class Ends>
pybind11::dict engine_result(const Trial<Ends>& trial);
// Of each stage, and of the nodes.
template <class Ends>
pybind11::dict hop_by_hop_result(const HopByHop<Ends>& trial);

// stepper.cpp
void bind_steppers(pybind11::module_& engine);

}  // namespace dstcc
