// What one ACK changed, as it passes from what was delivered (tcp/sender_acks.cpp) to what was lost (tcp/sender_recovery.cpp).
#pragma once

#include "tcp/sender.hpp"

namespace dstcc {

// Neither delivered nor waiting to be repeated.
inline bool awaited(std::uint8_t flags) { return (flags & kSacked) == 0 && (flags & (kLost | kRetransOut)) != kLost; }

struct Subflow::AckWork {
    AckWork(const TcpState& tcp, Time at, Time echo)
        : prior_una(tcp.snd_una),
          prior_in_flight(tcp.in_flight()),
          prior_lost(tcp.lost),
          now(at),
          echo_ns(echo) {}
    std::int64_t newly_delivered = 0, payload_bytes = 0, prior_una, prior_in_flight;
    std::uint64_t prior_lost;
    bool sacked_more = false;
    bool repeat_acked = false;    // what the cumulative ACK covers was repeated in part (FLAG_RETRANS_DATA_ACKED)
    bool original_acked = false;  // a segment from before the timeout that was never repeated
    Sampled latest;               // of the segments delivered, by when they were sent: for the rate sample
    Clean sacked, covered;        // of the segments that blocks, and the cumulative ACK, say something of
    bool duplicate = false;
    Time now, echo_ns;
    Time rtt_ns = -1;
    // A short segment alone, in order, never repeated: to Linux all of MPTCP's are short, by its options.
    bool lone(const TcpState& tcp) const {
        return newly_delivered == 1 && !sacked_more && !repeat_acked && !duplicate && payload_bytes < tcp.mss_cache();
    }
};

// ------------------------------------------------------------------------ small, and of use to both

inline bool Subflow::judged(std::int64_t number, Time sent_ns) const {
    return sent_ns < rack_sent_ns_ || (sent_ns == rack_sent_ns_ && number < rack_number_);
}

// The repeat is the segment's latest, neither delivered nor lost in its turn.
inline bool Subflow::current(const Repeat& repeat) const {
    if (repeat.number < tcp_.snd_una) return false;
    const Segment& s = segments_[repeat.number];
    return s.sent_ns == repeat.sent_ns && awaited(s.flags);
}

}  // namespace dstcc
