// What a controller sees of a sender and its link.
#pragma once

#include "core/samples.hpp"
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

// What a sample holds of that, but for the queue and what was sent and delivered.
inline Sample sample_of(const TcpState& tcp, bool established) {
    Sample sample;
    sample.cwnd_segments = established ? std::min(tcp.cwnd, kInfiniteWindow) : 0;
    sample.inflight_segments = tcp.in_flight();
    sample.srtt_ns = tcp.srtt_ns;
    sample.min_rtt_ns = tcp.min_rtt_ns == kNever ? 0 : tcp.min_rtt_ns;
    sample.pacing_bps = tcp.pacing_bytes_per_ns * 8.0 * kNsPerS;
    sample.lost_segments = static_cast<std::int64_t>(tcp.lost);
    return sample;
}

}  // namespace dstcc
