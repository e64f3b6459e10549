// What a controller sees of a sender and its link.
#pragma once

#include "tcp/state.hpp"

namespace dstcc {

struct SubflowView {
    const TcpState* tcp = nullptr;
    bool established = false;
    std::int64_t sent = 0, lost = 0, retransmitted = 0,
                 delivered_bytes = 0;  // ever; segments, and acknowledged payload
    std::int64_t queue_bytes = 0, assigned_bytes = 0;
    Time one_way_ns = 0, rtt_deviation_ns = 0;
    bool up = true;           // the link is in contact
    Time change_ns = kNever;  // until that changes
};

}  // namespace dstcc
