// Trials stepped slot by slot, several side by side in threads: the engine's half of an environment.
//
// Episode k is a trial of its own; what it does depends on its configuration and its actions only, not on the others
// nor on the number of threads. Numbers go in and out through flat arrays that belong to the caller.
#pragma once

#include <array>

#include "mptcp/connection.hpp"

namespace dstcc {

// One row per subflow. "slot": over the step just taken.
inline constexpr std::array kSubflowValues = {
    "established",             // 1 once its handshake is done
    "cwnd_segments",           //
    "inflight_segments",       //
    "srtt_s",                  // 0 before the handshake
    "min_rtt_s",               // 0 before the handshake
    "sent_segments",           // slot
    "lost_segments",           // slot: marked lost by the sender
    "retransmitted_segments",  // slot
    "delivered_bytes",         // slot: payload newly acknowledged
    "sent_weight",             // slot: eq. 1's weights of the layers whose last byte it sent first
    "queue_bytes",             // of its link, at the sender
    "assigned_bytes",          // payload bound to it and not yet sent
    "pacing_bps",              // 0 where it does not pace
    "bdp_segments",            // as `agent` measured it; 0 unknown, or another control
    "steered",                 // 1 while the agent's window holds, 0 while NewReno's does
    "one_way_s",               // propagation delay now
    "link_up",                 // 1 in contact
    "change_s",                // until the link's next outage or contact; infinite if none comes
    "clamps",                  // ever: actions that asked for a window out of bounds
    "fallbacks",               // ever: times NewReno took over
    "rtt_deviation_s",         // smoothed mean deviation
};
// One row per layer.
inline constexpr std::array kLayerValues = {
    "backlog_bytes",  // payload of the layers released and not wholly sent
    "slack_s",        // until the deadline of the oldest of these; infinite if none
    "delivered",      // slot: chunks whose layer was delivered whole
    "played",         // slot: chunks of which this layer and all lower ones are now there in time
};
inline constexpr std::array kEpisodeValues = {
    "time_s",         // mission time
    "slot_s",         // length of the step just taken
    "played_weight",  // slot: eq. 1's weights of `played`
    "total_weight",   // of all layers of the trial
    // the chunk manager's (dispatch/chunks.hpp), `agent-policies` only: of the oldest chunk that is not wholly acknowledged
    "chunk_bytes",         // its size; 0 while none waits
    "chunk_acked_bytes",   //
    "chunk_elapsed_s",     // since its first segment was sent
    "chunk_due_s",         // until it is to be played; infinite without deadlines
    "chunks_done",         // slot: chunks acknowledged whole
    "chunks_bytes_per_s",  // slot: the sum of their size / download time
    "send_window_bytes",   // room at the receiver; infinite where it has no bound
    "promised_weight",  // slot: as played_weight, of layers whose last byte left their queue: those that no loss and no
                        // queue keeps from being in time. Only the simulator knows; for rewards without light's delay
};

// One row per background flow of the same controller, beside a row of kSubflowValues: what it sends.
inline constexpr std::array kFlowValues = {
    "started",         // 1 from its start on
    "age_s",           // since then; 0 before
    "slot_s",          // of the step just taken, what lay behind its start
    "written_bytes",   // payload its application has written; infinite without end
    "unsent_bytes",    // of that
    "writes",          // how often; 1 for what was all there from the start
    "written_over_s",  // from the first write to the last
};

// What becomes of one trial.
class Episode {
public:
    explicit Episode(const EngineConfig& config);
    // Act now, then run until the next slot's boundary or the end. `flows`: on background flows of the same controller.
    void step(const std::vector<WindowAction>& windows, const LayerAction* layers,
              const std::vector<WindowAction>& flows = {});
    // Fill one row per subflow, one per layer (those beyond the trial's own get zeros) and the episode's own.
    void observe(double* subflows, std::size_t subflow_rows, double* layers, std::size_t layer_rows, double* own);
    // The same for each background flow of the same controller: as a subflow, and as a source.
    void observe_flows(double* subflows, double* sources, std::size_t rows) const;
    const Trial<Connection>& trial() const { return trial_; }
    std::size_t layers() const { return by_layer_.size(); }
    std::size_t subflows() const { return before_.size(); }

private:
    SubflowView observe_subflow(std::size_t s) const { return trial_.ends().sending().observe(trial_.now(), s); }
    SubflowView observe_flow(std::size_t f) const { return trial_.flows().observe(trial_.now(), f); }
    ChunkManager* chunks() { return trial_.ends().sending().chunks(); }  // `agent-policies` only
    void note_delivery(std::uint32_t object);
    void note_promise(std::uint32_t object);
    bool in_time(std::uint32_t object) const;
    bool follows(std::uint32_t object) const;
    double weight(std::uint32_t object) const;

    Trial<Connection> trial_;
    Watch watch_;
    std::vector<std::vector<std::uint32_t>> by_layer_;  // objects
    std::vector<std::size_t> waiting_;                  // per layer: the first object not known to be sent or given up
    std::vector<std::uint8_t> played_;                  // per object
    std::vector<std::uint8_t> sent_, promised_;         // per object
    std::vector<double> departing_;                     // per slot: promised weight that leaves its queue in it
    std::vector<SubflowView> before_, flows_before_;    // at the start of the step
    Time slot_end_ = 0, began_ = 0;
    double total_weight_ = 0;
    // over the step
    std::vector<double> sent_weight_;
    std::vector<double> delivered_, played_count_;
    double played_weight_ = 0, promised_weight_ = 0, repaired_weight_ = 0;
};

}  // namespace dstcc
