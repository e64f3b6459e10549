// What a sender sees of the queue in front of its own line.
#pragma once

#include <cstdint>

#include "core/base.hpp"

namespace dstcc {

// Around a packet that it put there; bytes.
struct QueueSeen {
    std::int64_t before = 0, after = 0;
    std::uint32_t packet = 0;  // on the wire
    Time leaves_ns = 0;        // when it has left the queue; nobody looks before then
};

}  // namespace dstcc
