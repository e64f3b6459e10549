// The connection's sending end: layers come in, segments go out over its subflows, acknowledgements come back.
//
// It has its subflows, its own queues, a transmitter and a contact plan a subflow, and what ACKs say. It has no way to the
// receiving end or to what a link does with a packet.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "core/histogram.hpp"
#include "dispatch/layer_queue.hpp"
#include "mptcp/chunks.hpp"
#include "mptcp/observers.hpp"
#include "mptcp/remaining.hpp"
#include "mptcp/senders.hpp"
#include "scheduler/scheduler.hpp"

namespace dstcc {

class SendingEnd : private Senders {
public:
    // What it is given beforehand.
    struct Setup {
        const TransportConfig& transport;
        const ObjectsConfig& objects;
        std::uint64_t seed;
        Time slot_ns;
        std::size_t subflows;
        std::int64_t unsent_limit;  // bytes of a subflow, for schedulers that plan ahead without deadlines
        bool backups;               // some link has an outage without end
    };
    // `headers`: what its segments say of their layers.
    SendingEnd(const Setup& setup, LayerHeaders& headers, Timers timers, Timers paces, Remaining& remaining);
    SendingEnd(const SendingEnd&) = delete;  // its parts point at each other
    SendingEnd& operator=(const SendingEnd&) = delete;
    std::size_t domains() const { return next_order_.size(); }  // ordering domains
    // The established subflows, for coupled laws.
    const std::vector<const TcpState*>& siblings() const { return siblings_; }
    void add(SendingEndpoint endpoint);
    void begin();  // once all subflows are there

    // --- what happens to it
    void handle_established(Time now, std::size_t s, Time syn_ns);
    void handle_ack(Time now, std::size_t s, AckBlocks& ack);
    // An ACK said so much of what the receiver has, whose window is bounded.
    void note_window(std::int64_t delivered) { peer_delivered_ = std::max(peer_delivered_, delivered); }
    void handle_timer(Time now, std::size_t s);
    void handle_pace(Time now, std::size_t s);
    Time handle_release(Time now);  // when the next layer is due
    void handle_slot(Time now);

    // --- steered from outside (mptcp/steering.cpp), slot by slot
    // An action per subflow (those beyond the vector are silent) and one for the layers (nullptr: as before).
    void steer(Time now, const std::vector<WindowAction>& windows, const LayerAction* layers);
    SubflowView observe(Time now, std::size_t s) const;
    std::int64_t layer_backlog(std::size_t layer) const { return layer_backlog_[layer]; }
    std::int64_t send_window_bytes() const;           // room at the receiver, as far as the sender knows
    ChunkManager* chunks() { return chunks_.get(); }  // `agent-policies` only
    bool rests() const { return takes_turns_; }       // do steered subflows rest in outages?

    // --- for observers
    // Layers whose last byte is sent from now on are noted there.
    void watch(std::vector<std::uint32_t>* sent_out) { sent_out_ = sent_out; }
    void log_steps(StepLog* steps) { steps_ = steps; }
    std::size_t subflows() const { return subflows_.size(); }
    const SendingEndpoint& subflow(std::size_t s) const { return subflows_[s]; }
    const std::vector<LayerSending>& layers() const { return layers_; }
    std::size_t released() const { return released_; }
    Time longest_one_way_ns() const;
    const LogHistogram& waits() const { return waits_; }  // in its own queues
    std::int64_t new_payload() const { return new_payload_; }
    std::int64_t repeated_payload() const { return repeated_payload_; }
    std::int64_t data_packets() const { return data_packets_; }
    Time first_send_ns() const { return first_send_ns_; }
    std::int64_t bytes() const;  // of the records kept of segments
    void check_backlog() const;

private:
    struct Reinjection {  // what a subflow with a timeout still owes, for the others
        std::uint32_t object, order;
        std::uint16_t bytes;
        std::int64_t number;
    };
    struct Spare : Reinjection {  // what may go a second time where there is room
        std::uint16_t origin;
    };
    struct Planned {  // a segment with its place in its ordering domain, not sent yet
        std::uint32_t object, order;
        std::uint16_t bytes;
    };
    struct SubflowState : SendingEndpoint {
        LayerQueue assigned;  // layers that are this subflow's to send
        int next_lane = 0;
        std::int64_t copied = 0;  // redundant: place in the log
        std::deque<Reinjection> reinjections{};
        std::deque<Planned> planned{};  // segments that a planning scheduler has given it
    };
    struct Sent {  // redundant: what went out first where
        std::uint32_t object, order;
        std::uint16_t bytes, subflow;
        std::int64_t number;
    };

    void on_timeout(std::size_t s);

    // going out (mptcp/sending.cpp)
    void transmit(std::size_t s, SubflowState& subflow, std::int64_t number, const Planned& segment, bool repeat);
    void pump(std::size_t s);
    void repair(std::size_t s);
    void repeat(std::size_t s, std::int64_t number);
    void send_probe(std::size_t s);
    void offer();
    void offer_reinjections();
    void offer_stream();
    void offer_assigned();
    void offer_copies();
    void drop_expired();
    void drop_lost_causes(const WaitingLevel& waiting);
    bool next_unbound(SubflowSet& ready, std::uint32_t& object);
    bool next_in_time(SubflowSet& ready, std::uint32_t& object);
    bool next_in_turn(SubflowSet& ready, std::uint32_t& object);
    void offer_spares();
    bool spare_fits(const Spare& spare, SubflowSet& set) const;
    using Slack = dstcc_dispatch::Slack;
    using Forecast = dstcc_dispatch::Forecast;
    class View;  // what the rules of timeliness and order ask of a sender
    Forecast forecast(std::size_t s) const;
    void unbind(std::uint32_t object);
    SubflowSet in_time(std::uint32_t object, Slack slack, SubflowSet set) const;
    std::int64_t send_new(std::size_t s, std::uint32_t object);
    void send_run(std::size_t s, std::uint32_t object);
    void send_burst(std::size_t s, SubflowState& subflow, std::uint32_t object, LayerSending& layer,
                    std::int64_t payload);
    std::uint32_t& order_of(SubflowState& subflow, std::uint32_t object, LayerSending& layer);
    void note_first(std::size_t s, LayerSending& layer);
    void sent_out(std::uint32_t object);
    void note_planned_sent(std::uint32_t object);
    void copy_elsewhere(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes,
                        std::int64_t number);
    Planned cut(std::size_t s, std::uint32_t object);
    Planned take(SubflowState& subflow, std::uint32_t object, LayerSending& layer, std::int64_t payload);
    void note_cut(std::size_t s, std::uint32_t object, std::int64_t bytes);
    std::int64_t put(std::size_t s, SubflowState& subflow, const Planned& segment);
    void offer_planned();
    bool room_ahead() const;
    void plan(std::size_t s, std::uint32_t object);
    void send_planned(std::size_t s);
    void move_planned(std::size_t from, std::size_t to);
    void send_copy(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes);
    std::int64_t unsent_bytes(std::uint32_t object) const {
        return objects_.payload_bytes[object] - layers_[object].offset;
    }
    bool builds_on_another(std::uint32_t object) const;
    bool hopeless(std::uint32_t object) const;
    bool outdated(std::uint32_t object, std::size_t s) const;
    bool premature(std::uint32_t object) const;
    bool lost_cause(std::uint32_t object) const;
    bool late(std::uint32_t object, std::size_t s, Slack slack) const;
    void give_up(std::uint32_t object);
    void drop_from_assigned(std::size_t s);
    void bind(std::uint32_t object, std::size_t s);
    void assign_released(std::uint32_t object);
    void reassign(const std::vector<std::int32_t>& table);
    bool room_at_receiver(std::int64_t bytes) const {
        return !bounded_ ||
               new_payload_ + planned_payload_ + bytes - peer_delivered_ <= transport_.receive_buffer_bytes;
    }
    bool more_to_send(std::size_t s, const SubflowState& subflow) const;
    bool data_waits(std::size_t s, const SubflowState& subflow) const {
        return !contains(held_, s) && (!pending_.empty() || more_to_send(s, subflow));
    }
    int pick_unheeding(SubflowSet ready);
    int choose(SubflowSet idle, SubflowSet ready, std::uint32_t object, std::int64_t bytes);
    bool anything_under_way() const;
    void finish_sending(std::size_t s, SubflowState& subflow);

    // bookkeeping
    void refresh(std::size_t s) { refresh(s, subflows_[s].sender); }
    void refresh(std::size_t s, const Subflow& sender);
    using Senders::arm_timer;
    void arm_timer(std::size_t s) { arm_timer(s, subflows_[s]); }
    void log_step(std::size_t s) {
        if (steps_ != nullptr) steps_->note(now_, s, subflows_[s].sender);
    }
    SubflowSet usable() const;
    int quickest(SubflowSet set) const {  // by least smoothed RTT
        return fastest(paths_, set);
    }
    void refresh_delays();

    const ObjectsConfig& objects_;
    LayerHeaders& headers_;
    Remaining& remaining_;
    std::vector<SubflowState> subflows_;
    std::vector<std::uint32_t> next_order_;  // per ordering domain
    std::unique_ptr<Scheduler> scheduler_;
    // What the scheduler says of itself, asked once: it is in every packet's way.
    bool listens_, heeds_, duplicates_, pins_, plans_, ahead_, takes_turns_;
    SubflowSet held_ = 0;  // ready, but the scheduler waits
    std::vector<Path> paths_;
    std::vector<const TcpState*> siblings_;  // the established ones
    bool bounded_;                           // the receiver has a window
    bool backups_;

    std::vector<LayerSending> layers_;
    std::size_t released_ = 0;
    WaitingLayers pending_;  // released, bound to no subflow
    BlockRing<Sent> log_;
    SubflowSet ready_ = 0, established_ = 0, stale_ = 0, has_assigned_ = 0, has_planned_ = 0, reinjecting_ = 0;

    LogHistogram waits_;
    StepLog* steps_ = nullptr;
    std::int64_t planned_payload_ = 0;  // waits at subflows
    std::int64_t unsent_limit_;
    std::map<std::uint32_t, std::int64_t> planned_segments_;  // the same by layer
    std::int64_t backlog_ = 0;                                // released, neither sent nor given up
    std::array<std::int64_t, 256> layer_backlog_{};           // the same by layer, a layer begun counted whole
    std::uint64_t copied_layers_ = 0;                         // LayerAction::copied
    std::vector<std::deque<Spare>> spares_;                   // by layer
    std::vector<std::int32_t> layer_table_;                   // LayerAction::subflow
    Time layer_gap_ns_ = kNever;                              // LayerAction::gap_ns
    double repair_share_ = 0.5;                               // LayerAction::repair_share
    SubflowSet outage_ = 0;                                   // at rest, see steer()
    std::vector<std::uint32_t>* sent_out_ = nullptr;
    std::unique_ptr<ChunkManager> chunks_;
    std::vector<Acked> acked_;         // of the ACK at hand, for the chunk manager
    std::int64_t new_payload_ = 0;     // sent for the first time
    std::int64_t peer_delivered_ = 0;  // what the receiver has said of its window
    std::int64_t repeated_payload_ = 0, data_packets_ = 0;
    Time first_send_ns_ = -1;
    bool deadlines_ = false;  // some layer has one, and late ones are dropped
};

// ------------------------------------------------------------------------ small and in every packet's way

// Is the subflow free to send now? If only pacing holds it, wake it when pacing lets go.
inline void SendingEnd::refresh(std::size_t s, const Subflow& sender) {
    if (!sender.window_open()) {
        erase(ready_, s);
    } else if (sender.pacing_until() > now_) {
        erase(ready_, s);
        if (paces_.at(s) != sender.pacing_until()) paces_.set(s, sender.pacing_until());
    } else {
        insert(ready_, s);
    }
}

// A subflow with room that the scheduler passes over is as starved as one without data.
inline void SendingEnd::finish_sending(std::size_t s, SubflowState& subflow) {
    Subflow& sender = subflow.sender;
    const bool more = data_waits(s, subflow);
    sender.finish_sending(now_, !more, more && !sender.window_open());
    arm_timer(s, subflow);
}

// Ready subflows that may take new data: on lanes those with nothing assigned; the stale only when all are.
inline SubflowSet SendingEnd::usable() const {
    const SubflowSet set = ready_ & ~has_assigned_;
    return (established_ & ~stale_) != 0 ? set & ~stale_ : set;
}

// For schedulers that go by their paths alone.
inline int SendingEnd::pick_unheeding(SubflowSet ready) {
    static const Next unheeded{};
    return scheduler_->pick(paths_, ready, unheeded);
}

// The next layer, bound to no subflow, that one of `ready` can bring in time; `ready` is narrowed to those that can.
inline bool SendingEnd::next_unbound(SubflowSet& ready, std::uint32_t& object) {
    if (takes_turns_) return next_in_turn(ready, object);
    if (deadlines_) return next_in_time(ready, object);
    if (pending_.empty()) return false;
    object = pending_.front();
    return true;
}

static_assert(kAutomatic == dstcc_dispatch::kAutomatic && kRepairable == dstcc_dispatch::kRepairable &&
                  kAvoid == dstcc_dispatch::kAvoid,
              "an agent's table means the same to the rules");

// For kernel-cc/dispatch/dstcc_dispatch.hpp. Deadlines that nobody heeds are none.
class SendingEnd::View {
public:
    using Set = SubflowSet;
    explicit View(const SendingEnd& of) : of_(of) {}
    dstcc_dispatch::Layer layer(std::uint32_t object) const {
        const ObjectsConfig& objects = of_.objects_;
        return {objects.release_ns[object], of_.deadlines_ ? objects.deadline_ns[object] : kNever,
                objects.payload_bytes[object], objects.layer[object], of_.layers_[object].offset > 0};
    }
    bool blocked(std::uint32_t object) const { return of_.premature(object); }
    Time light(std::size_t s) const { return of_.now_ + of_.paths_[s].one_way_ns; }
    Forecast forecast(std::size_t s) const { return of_.forecast(s); }
    double repair_share() const { return of_.repair_share_; }
    const std::vector<WaitingLevel>& levels() const { return of_.pending_.levels(); }
    Time gap_ns() const { return of_.layer_gap_ns_; }
    std::int32_t entry(std::int64_t layer) const {
        const auto m = static_cast<std::size_t>(layer);
        return m < of_.layer_table_.size() ? of_.layer_table_[m] : kAutomatic;
    }
    SubflowSet usable() const { return of_.established_ & ~of_.stale_ & ~of_.outage_; }
    std::size_t paths() const { return of_.paths_.size(); }
    bool strict() const { return false; }

private:
    const SendingEnd& of_;
};

// Would the layer come too late over a subflow?
inline bool SendingEnd::late(std::uint32_t object, std::size_t s, Slack slack) const {
    if (!deadlines_) return false;
    const View view(*this);
    return dstcc_dispatch::late_on(view, view.layer(object), s, slack);
}

}  // namespace dstcc
