// Bounds on what could have been in time: over the same channel draws, and in the mean over all draws.
#pragma once

#include <optional>
#include <vector>

#include "core/config.hpp"

namespace dstcc {

// The largest Σ weight of layers that a sender could bring in time whose packets have bytes of one layer each, or with
// `any_packets` any sender: see oracle/oracle.cpp. `weights` has one entry per object.
double clairvoyant_weight(const EngineConfig& config, const std::vector<double>& weights, bool any_packets);

// The least playout delay at which that is the weight of all layers, to one part in 100,000 and never too short; the deadlines of
// `config` are those of the playout delay `delay`. Nothing where the run ends before any is enough.
std::optional<Time> least_playout_delay(const EngineConfig& config, Time delay, bool any_packets);

// The largest mean of it for a sender that knows with what probability packets are lost, but not which; with a
// `handshake` nothing leaves before a link's is over. Throws std::invalid_argument where losses are not independent.
double law_weight(const EngineConfig& config, const std::vector<double>& weights, bool handshake);

}  // namespace dstcc
