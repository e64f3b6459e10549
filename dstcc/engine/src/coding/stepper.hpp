// Trials of `coded` stepped slot by slot: what is decided of one, and what its sender sees.
#pragma once

#include <array>

#include "coding/coded.hpp"

namespace dstcc {

// One row per subflow. "slot": over the step just taken.
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
    "pacing_bps",         // of its law; 0 where it does not pace
    "one_way_s",          // propagation delay now
    "link_up",            // 1 in contact, by the plan
    "change_s",           // until the plan's next outage or contact; infinite if none comes
};
// One row per layer.
inline constexpr std::array kCodedLayerValues = {
    "backlog_bytes",     // payload released, neither sent nor given up
    "slack_s",           // until the deadline of the oldest object that waits; infinite if none
    "released_bytes",    // slot: payload captured
    "released_objects",  // slot
    "sent_bytes",        // slot: payload of source packets
    "repair_packets",    // slot: sent
    "block_source",      // k of the block that closed last; 0 before any
    "block_repair",      // its planned repair packets
    "played",            // slot: chunks of which this layer and all lower ones are now there in time
};
inline constexpr std::array kCodedEpisodeValues = {
    "time_s",         // mission time
    "slot_s",         // length of the step just taken
    "played_weight",  // slot: eq. 1's weights of `played`
    "total_weight",   // of all layers of the trial
    "loss_share",     // what `auto` holds the losses to be (coding/loss_heard.hpp)
    "loss_bursts",    // and how much they come together
};

class CodedEpisode {
public:
    explicit CodedEpisode(const EngineConfig& config);
    // Decide now (nothing: as before), then run until the next slot's boundary or the end.
    void step(const CodedAction* action);
    // Fill one row per subflow, one per layer (those beyond the trial's own get zeros) and the episode's own.
    void observe(double* subflows, std::size_t subflow_rows, double* layers, std::size_t layer_rows, double* own) const;
    const Coded& trial() const { return trial_; }
    bool steered() const { return steered_; }  // something was decided
    std::size_t layers() const { return trial_.map().layers(); }
    std::size_t subflows() const { return trial_.sending().subflows(); }

private:
    struct SubflowCounts {
        std::int64_t sent = 0, heard = 0, lost = 0, runs = 0, delivered_bytes = 0;
    };
    struct LayerCounts {
        std::int64_t released_bytes = 0, released_objects = 0, sent_bytes = 0, repair = 0;
    };
    SubflowCounts counts_of(std::size_t s) const;
    void count_layers();
    void count_played();
    double weight(std::size_t object) const;

    Coded trial_;
    bool steered_ = false;
    Time slot_end_ = 0, began_ = 0;
    double total_weight_ = 0, played_weight_ = 0;
    std::vector<SubflowCounts> before_;
    std::vector<LayerCounts> layers_, layers_before_;
    std::vector<std::int64_t> backlog_;
    std::vector<Time> oldest_;           // by layer: the deadline of the first object that waits; kNever: none
    std::vector<std::uint32_t> closed_;  // by layer: its last closed block; kNoBlock
    std::vector<double> played_;         // by layer, slot
    std::vector<std::int64_t> past_;     // by layer: source bytes of the objects before first_
    std::size_t released_ = 0, first_ = 0;
    std::size_t undecided_ = 0;          // the first object that may still come to be played
    std::vector<std::uint8_t> counted_;  // by object: played, and counted
};

}  // namespace dstcc
