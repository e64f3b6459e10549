// What a sender has done for a layer.
#pragma once

#include "core/base.hpp"

namespace dstcc {

// What a layer costs whether it is sent or not: small, as a month of video has millions. Its ordering domain is with what
// its segments say (link/packets.hpp).
struct LayerSending {
    Time first_sent_ns = -1;
    std::int64_t sent_bytes = 0;
    std::int64_t offset = 0;  // what of it was cut into segments
    std::uint32_t retransmissions = 0;
    std::int16_t subflow = -1;  // that of its first segment
    bool given_up = false;
};
static_assert(sizeof(LayerSending) == 32, "the memory budget counts on it");

}  // namespace dstcc
