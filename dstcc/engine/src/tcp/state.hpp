// What a congestion control sees and sets of its subflow. Windows count segments, as in Linux.
#pragma once

#include <algorithm>
#include <vector>

#include "core/config.hpp"

namespace dstcc {

enum class CaState : std::uint8_t { kOpen, kRecovery, kLoss };  // RFC 6675 / Linux icsk_ca_state, Disorder left out

constexpr std::int64_t kInfiniteWindow = std::int64_t{1} << 40;

// What `agent` keeps where the one that steers it can see it.
struct AgentState {
    bool steered = false;           // the window is the agent's now
    std::int64_t bdp_segments = 0;  // as measured, 0 while unknown
    std::int64_t clamps = 0;        // actions that asked for a window out of bounds
    std::int64_t fallbacks = 0;     // times that NewReno took over
};

struct TcpState {
    std::int64_t cwnd = 10, cwnd_cnt = 0, ssthresh = kInfiniteWindow;
    std::int64_t prior_cwnd = 0;  // at the start of the current reduction
    CaState ca_state = CaState::kOpen;

    std::int64_t snd_una = 0, snd_nxt = 0;                       // segment numbers
    std::int64_t sacked_out = 0, lost_out = 0, retrans_out = 0;  // RFC 6675's pipe, as Linux counts it
    std::uint64_t delivered = 0, lost = 0;                       // segments, ever
    Time delivered_ns = 0, first_sent_ns = 0;                    // draft-cheng-iccrg-delivery-rate-estimation
    std::uint64_t app_limited = 0;                               // `delivered` at which the bubble leaves; 0: none

    Time last_sent_ns = 0;
    Time light_ns = 0;       // `coded`: of propagation one way, by the plan
    double part = 0;         // likewise: of its line's rate, where other subflows there rest; 0: an equal one of all
    Time spare_ns = kNever;  // likewise: from a release to its deadline, less light
    Time gap_ns = 0, until_gap_ns = kNever;  // likewise: the plan's next outage, and the time until it begins
    Time ahead_ns = 0;  // likewise: the wait of what is sent now in a downstream queue, where the control measures one
    Time far_wait_ns = -1;                     // likewise: of the newest that arrived, in such queues; -1: not measured
    bool far_found = false, far_full = false;  // likewise: whether it does, and whether that queue takes no more
    Time srtt_ns = 0, min_rtt_ns = kNever, last_rtt_ns = -1;
    Time one_way_ns = -1;        // of the newest segment that this ACK answers; -1 unless the control asked for it
    bool ack_has_sacks = false;  // the ACK at hand
    bool was_open = true;        // before it: Linux's Open state, of which Disorder is no part
    bool is_cwnd_limited = false;
    std::int64_t max_packets_out = 0, cwnd_usage_seq = 0;

    double pacing_bytes_per_ns = 0;  // 0: not paced
    Time pacing_until_ns = 0;        // before then the next segment does not leave
    bool linux_pacing = false;       // with Linux's exceptions, see Subflow::pace
    bool payload_paced = false;      // the pace of a full packet is shared by its payload, without headers
    bool syn_repeated = false;
    std::int64_t syn_ssthresh =
        kInfiniteWindow;            // what a control sets then (tcp_enter_loss()), where it bounds the pace
    bool marks_app_limited = true;  // samples of what the application limits are told from others
    std::uint32_t mss_bytes = 1460, wire_bytes = 1500;
    std::uint32_t option_bytes = 0;  // MPTCP's in each segment: Linux's mss_cache is that much more than the payload
    int initial_cwnd = 10;
    std::uint64_t seed = 0, subflow = 0;
    const ConstantsNs* constants = nullptr;
    AgentState agent;

    // Coupled controls: the established subflows of the connection, this one included, and what a control shares with the others.
    const std::vector<const TcpState*>* siblings = nullptr;
    double told = 0;  // OLIA: segments between losses; wVegas: rate

    std::int64_t packets_out() const { return snd_nxt - snd_una; }
    std::int64_t in_flight() const { return packets_out() - sacked_out - lost_out + retrans_out; }
    std::uint32_t mss_cache() const { return mss_bytes + option_bytes; }
    bool in_slow_start() const { return cwnd < ssthresh; }
    // tcp_is_cwnd_limited(): growth is earned only by a window that was in use.
    bool cwnd_limited() const { return is_cwnd_limited || (in_slow_start() && cwnd < 2 * max_packets_out); }
};

struct RateSample {
    std::int64_t delivered = 0;         // segments over `interval_ns`
    Time interval_ns = -1;              // -1: no valid sample
    std::uint64_t prior_delivered = 0;  // `delivered` when the sampled segment left
    Time rtt_ns = -1;
    Time sent_ns = -1;  // `coded`: when the newest packet that an ACK has named left; -1: it names no newer one
    std::int64_t acked_bytes = 0;  // `coded`, for controls that observe their queue: on the wire
    std::int64_t acked_sacked = 0, losses = 0, prior_in_flight = 0;
    bool is_app_limited = false;
    bool behind = false;          // `coded`: packets that left later, or then, were taken before it
    bool is_ack_delayed = false;  // of a lone short segment: its receiver may have waited for another
};

}  // namespace dstcc
