// What a packet costs before any protocol: the yardsticks of `make bench`.
#pragma once

#include "core/base.hpp"

namespace dstcc {

// Send `packets` through a ring of 24-byte records: one cursor writes a record per packet, another reads it `window`
// packets later; what it reads sets the clock by which the next packet goes. A draw per packet says whether it is lost;
// nobody reacts. Returns how many were. Throws std::invalid_argument unless packets >= 0, 1 <= window <= 2^31 and
// 0 <= loss < 1.
std::int64_t ring_walk(std::int64_t packets, std::int64_t window, double loss, std::uint64_t seed);

// The same for `subflows` (1 to 64) paths of slightly different rates, `window` packets each, in the order of events: a
// packet arrives, its answer arrives, the next packet goes. A draw for each packet and one for each answer.
std::int64_t event_walk(std::int64_t packets, std::int64_t window, int subflows, double loss, std::uint64_t seed);

}  // namespace dstcc
