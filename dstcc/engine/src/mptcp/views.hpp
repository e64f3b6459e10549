// What a controller sees: of a sender and its link, and of a background flow's source.
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

struct FlowSourceView {
    Time start_ns = 0;
    std::int64_t written_bytes = 0, unsent_bytes = 0;  // kNever: without end
    std::int64_t writes = 0;                           // 1 for what was all there from the start
    Time first_write_ns = -1, last_write_ns = -1;
};

}  // namespace dstcc
