// What a sender of `coded` sees of itself once a slot: what somebody is shown who steers it, in the simulator's steps
// (coding/stepper.hpp) as on real sockets (kernel-cc/coded). Nothing of Earth is in it but what ACKs brought.
#pragma once

#include <array>
#include <limits>

#include "coding/sending_end.hpp"

namespace dstcc {

// One row per subflow. "slot": over the one that just ended.
inline constexpr std::array kCodedSubflowValues = {
    "established",        // 1 once it may send
    "cwnd_segments",      //
    "inflight_segments",  //
    "srtt_s",             // 0 before it is established
    "min_rtt_s",          //
    "sent_packets",       // slot
    "heard_packets",      // slot: packets whose fate became known
    "lost_packets",       // slot: of these, the lost ones
    "loss_runs",          // slot: rows of lost packets, one behind the other; lost_packets over it is a burst's length
    "heard_from_s",       // mission time at which the first of the packets heard of was sent; 0 where none was
    "heard_to_s",         // and the last
    "delivered_bytes",    // slot: payload newly acknowledged
    "queue_bytes",        // of its link, at the sender
    "pacing_bps",         // of its control; 0 where it does not pace
    "one_way_s",          // propagation delay now
    "link_up",            // 1 in contact, by the plan
    "change_s",           // until the plan's next outage or contact; infinite if none comes
    "queue_further_on",   // 1 once its control has seen a queue that is not the sender's own
    "silent",             // 1 while nothing was acknowledged since a probe was due
};
// One row per layer.
inline constexpr std::array kSenderLayerValues = {
    "backlog_bytes",     // payload released, neither sent nor given up
    "slack_s",           // until the deadline of the oldest object that waits; infinite if none
    "released_bytes",    // slot: payload captured
    "released_objects",  // slot
    "sent_bytes",        // slot: payload of source packets
    "repair_packets",    // slot: sent
    "block_source",      // k of the block that closed last; 0 before any
    "block_repair",      // its planned repair packets
};

inline double seconds_or_never(Time ns) {
    return ns == kNever ? std::numeric_limits<double>::infinity() : static_cast<double>(ns) / kNsPerS;
}

// begin_slot(), then the slot, then end_slot(); rows are of the slot that ended last.
class SenderView {
public:
    SenderView(const ObjectsConfig& objects, const BlockMap& map, const CodedSendingEnd& sending);
    void begin_slot();
    void end_slot(Time now);
    // Fill a row of one subflow, or one layer.
    void subflow(std::size_t s, double* row) const;
    void layer(std::size_t m, double* row) const;

private:
    struct SubflowCounts {
        std::int64_t sent = 0, heard = 0, lost = 0, runs = 0, delivered_bytes = 0;
    };
    struct LayerCounts {
        std::int64_t released_bytes = 0, released_objects = 0, sent_bytes = 0, repair = 0;
    };
    SubflowCounts counts_of(std::size_t s) const;

    const ObjectsConfig& objects_;
    const BlockMap& map_;
    const CodedSendingEnd& sending_;
    Time now_ = 0;
    std::vector<SubflowCounts> before_;
    std::vector<LayerCounts> layers_, layers_before_;
    std::vector<std::int64_t> backlog_;
    std::vector<Time> oldest_;           // by layer: the deadline of the first object that waits; kNever: none
    std::vector<std::uint32_t> closed_;  // by layer: its last closed block; kNoBlock
    std::vector<std::int64_t> past_;     // by layer: source bytes of the objects before first_
    std::size_t released_ = 0, first_ = 0;
};

}  // namespace dstcc
