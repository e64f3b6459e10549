// A clairvoyant bound on what could have been in time over the same channel draws.
#pragma once

#include <vector>

#include "core/config.hpp"

namespace dstcc {

// The largest Σ weight of layers any sender could bring in time: see oracle/oracle.cpp. `weights` has one entry per object.
double clairvoyant_weight(const EngineConfig& config, const std::vector<double>& weights);

}  // namespace dstcc
