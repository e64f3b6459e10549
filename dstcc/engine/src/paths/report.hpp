// What a sender knows of one path after a slot.
#pragma once

namespace dstcc {

// As kSubflowValues of mptcp/stepper.hpp says.
struct PathReport {
    bool established = false, up = false;
    double cwnd_segments = 0, srtt_s = 0, sent_segments = 0, lost_segments = 0, delivered_bytes = 0, queue_bytes = 0;
    double pacing_bps = 0, one_way_s = 0;
};

// Divisors are this at least: nothing is divided by 0.
constexpr double kLeast = 1e-9;

}  // namespace dstcc
