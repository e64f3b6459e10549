// The decisions of the schedulers as plain functions of numbers, so that tests can hold them against published arithmetic.
// Each is defined in its scheduler's file.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base.hpp"

namespace dstcc::rules {

// BLEST: bytes the fast subflow would send while a segment sent now lingers on the slow one.
double blest_fast_bytes(double cwnd, double ssthresh, Time rtt_ns, Time linger_ns, double mss_bytes, double lambda);
// BLEST: how long a segment sent now lingers on a subflow.
Time blest_linger_ns(Time srtt_ns, Time min_rtt_ns, Time max_rtt_ns, double in_flight, double cwnd);
// BLEST: lambda after one round of the slow subflow.
double blest_lambda(double lambda, bool blocked);

enum class Ecf { kSend, kSendForNow, kWait };  // kSendForNow leaves `waiting` as it is
Ecf ecf(double unsent, double cwnd_fast, double rtt_fast, double cwnd_slow, double rtt_slow, double delta,
        bool waiting);

// QAware: expected time in the system of one more packet.
double qaware_cost(double queued_packets, double srtt, double queue_wait);

// DAPS: one period of the schedule as (path, segments) runs, from smoothed RTTs and windows in segments.
std::vector<std::pair<int, std::int64_t>> daps_schedule(const std::vector<Time>& srtt_ns,
                                                        const std::vector<std::int64_t>& windows);

// Linux: bytes per ns at which a subflow without a pace of its own is thought to send.
double linux_rate(std::int64_t cwnd, std::int64_t ssthresh, std::int64_t packets_out, double mss_bytes, Time srtt_ns);
// Linux: the mean pace of a subflow that takes a burst on top of what it has queued.
double linux_pace(double pace, double queued_bytes, double rate, double burst_bytes);

// Peekaboo: what it sees of the fast path f and of another, s, each feature a share of the rate of both. Windows and what is in flight
// are segments; the receiver takes `room_bytes` more, kNoLimit: any.
std::array<double, 6> peekaboo_features(double cwnd_f, double in_flight_f, Time srtt_f, double cwnd_s,
                                        double in_flight_s, Time srtt_s, std::int64_t room_bytes, double mss_bytes);

// PO-MPTCP: does path a come before path b?
bool po_mptcp_before(Time rtt_a, std::int64_t cwnd_a, Time rtt_b, std::int64_t cwnd_b);

}  // namespace dstcc::rules
