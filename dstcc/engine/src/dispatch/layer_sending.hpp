// What a sender has done for a layer.
#pragma once

#include "core/base.hpp"

namespace dstcc {

struct LayerSending {
    Time first_sent_ns = -1;
    std::int64_t sent_bytes = 0, retransmissions = 0;
    std::int64_t offset = 0;    // what of it was cut into segments
    std::int32_t subflow = -1;  // that of its first segment
    std::int32_t domain = -1;   // ordering domain, once known
    bool given_up = false;
};

}  // namespace dstcc
