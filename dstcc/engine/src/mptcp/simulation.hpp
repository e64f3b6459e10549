// The connection and its links in virtual time: one trial.
//
// Each link direction keeps its packets in flight in arrival order, so the next event is the least of a few heads: a
// front per direction, a timer, a pacing and a delayed-ACK deadline per TCP sender, the source, the sampler, the cross
// traffic. Timers are lazy: a head may be early, and is set anew when it fires.
//
// TCP senders are numbered: first the connection's subflows, then the background flows (mptcp/background.cpp), each of which is
// a connection of its own that shares a link's queues and nothing else.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "link/direction.hpp"
#include "mptcp/chunks.hpp"
#include "link/contact.hpp"
#include "core/events.hpp"
#include "core/histogram.hpp"
#include "dispatch/layer_queue.hpp"
#include "core/outcome.hpp"
#include "tcp/receiver.hpp"
#include "scheduler/scheduler.hpp"
#include "core/stall.hpp"
#include "mptcp/trace.hpp"
#include "link/traffic.hpp"

namespace dstcc {

// What an agent sees of a subflow.
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

// What the sender of a background flow knows of its own source.
struct FlowSourceView {
    Time start_ns = 0;
    std::int64_t written_bytes = 0, unsent_bytes = 0;  // kNever: without end
    std::int64_t writes = 0;                           // 1 for what was all there from the start
    Time first_write_ns = -1, last_write_ns = -1;
};

// Layers in the order in which their last byte was sent, or delivered in order.
struct Watch {
    std::vector<std::uint32_t> sent, delivered;
    std::vector<Time> worst_ns;  // per object: the latest arrival of what was sent of it; kNever once any was lost
};

// The full number whose low 32 bits are `low`, nearest to `reference`.
inline std::int64_t widen(std::int64_t reference, std::uint32_t low) {
    return reference + static_cast<std::int32_t>(low - static_cast<std::uint32_t>(reference));
}

class Simulation {
public:
    static constexpr std::int64_t kPrefetch = 8;  // packets ahead in a ring; about one memory latency
    explicit Simulation(const EngineConfig& config);
    Simulation(const Simulation&) = delete;  // its parts point at each other
    Simulation& operator=(const Simulation&) = delete;
    // Process everything up to and including `until`; false when the run is over. `interrupted` is polled now and then.
    bool run_until(Time until, bool (*interrupted)());

    const std::vector<ObjectOutcome>& objects() const { return outcomes_; }
    const SampleColumns& samples() const { return samples_; }
    std::vector<FlowOutcome> flows() const;
    const FlowSampleColumns& flow_samples(std::size_t flow) const { return flows_[flow].samples; }
    const TraceColumns& trace() const { return trace_; }
    const StepColumns& steps() const { return steps_; }
    Time now() const { return now_; }

    // --- mptcp/steering.cpp: a trial steered from outside; call between two run_until()
    // An action per subflow (those beyond the vector are silent) and one for the layers (nullptr: as before).
    void steer(const std::vector<WindowAction>& windows, const LayerAction* layers);
    bool over() const { return over_; }
    bool settled() const { return unsettled_ == 0; }  // every layer delivered or given up
    std::size_t subflows() const { return subflows_.size(); }
    SubflowView observe(std::size_t s) const;
    // The same for background flows under the trial's own control, where an agent steers that: another agent's each.
    // They are numbered among themselves, in the order of all flows.
    void steer_flows(const std::vector<WindowAction>& windows);
    std::size_t steered_flows() const { return steered_flows_.size(); }
    SubflowView observe_flow(std::size_t i) const;
    FlowSourceView flow_source(std::size_t i) const;
    const EngineConfig& config() const { return config_; }
    std::size_t released() const { return released_; }
    std::int64_t layer_backlog(std::size_t layer) const { return layer_backlog_[layer]; }
    // Layers whose last byte was sent, or delivered, from now on are noted there.
    void watch(Watch* watch) {
        watch_ = watch;
        watched_ = watch != nullptr || listens_ || config_.trace;
    }
    std::map<std::string, double> totals() const;
    ChunkManager* chunks() { return chunks_.get(); }  // `agent-policies` only
    std::int64_t send_window_bytes() const;           // room at the receiver, as far as the sender knows

private:
    struct DataPacket {
        Time arrive_ns, sent_ns;
        std::uint32_t number;         // low bits of the segment number
        std::uint32_t object, order;  // of the segment, so that its arrival need not look the sender up
        std::uint16_t bytes;          // payload; 0 for a SYN
        std::uint16_t subflow;
    };
    static_assert(sizeof(DataPacket) == 32, "the memory budget counts on it");
    struct AckPacket {
        Time arrive_ns, echo_ns;
        std::uint32_t cumulative;  // low bits
        std::uint16_t subflow;
        std::uint8_t sacks, kind;
    };
    enum AckKind : std::uint8_t { kPlain, kSyn, kDuplicate };
    static_assert(sizeof(AckPacket) == 24, "the memory budget counts on it");
    struct SackBlocks {
        std::uint32_t begin[kSackBlocks], end[kSackBlocks];  // from the cumulative ACK
    };
    struct LinkState {
        Direction down, up;
        BlockRing<DataPacket> data;
        BlockRing<AckPacket> acks;
        BlockRing<SackBlocks> blocks;  // of each ACK that has any
        BlockRing<Time> stamps;        // beside each ACK, while a control wants one-way delays
        BlockRing<std::int64_t>
            delivered;  // beside each ACK, while its window is bounded: in-order payload at the receiver
        ContactPlan contacts;
        std::map<std::int64_t, int> drops;  // LinkConfig::drops still to come
    };
    struct Reinjection {  // what a subflow with a timeout still owes, for the others
        std::uint32_t object, order;
        std::uint16_t bytes;
        std::int64_t number;
    };
    struct Spare : Reinjection {  // what may go a second time where there is room
        std::uint16_t origin;
    };
    struct Endpoint {
        Subflow sender;
        SubflowReceiver receiver;
        std::size_t link;
        Time syn_at = kNever;
        unsigned syns = 0, backoffs = 0;  // ever, and since the link came up
        Time one_way_ns = -1;             // of the segment that came in last
        // since the last sample
        std::int64_t slot_sent = 0, slot_retransmitted = 0, slot_delivered = 0;
        // before that
        std::int64_t past_sent = 0, past_retransmitted = 0, past_delivered = 0;
        std::uint64_t slot_lost_base = 0;
    };
    struct Planned {  // a segment with its place in its ordering domain, not sent yet
        std::uint32_t object, order;
        std::uint16_t bytes;
    };
    struct SubflowState : Endpoint {
        LayerQueue assigned;  // layers that are this subflow's to send
        int next_lane = 0;
        std::int64_t copied = 0;  // redundant: place in the log
        std::deque<Reinjection> reinjections{};
        std::deque<Planned> planned{};  // segments that a planning scheduler has given it
    };
    struct FlowState : Endpoint {
        FlowConfig config;
        std::int64_t unwritten_bytes;  // what its application will still write
        std::int64_t unsent_bytes;     // written and not yet sent
        std::int64_t sent_bytes = 0, retransmitted_bytes = 0, arrived_bytes = 0, data_packets = 0;
        Time complete_ns = -1;
        std::int64_t written_bytes = 0, writes = 0;
        Time first_write_ns = -1, last_write_ns = -1;
        Time light_ns = 0;  // one way, as of the last slot
        bool dark = false;  // at rest, see steer_flows()
        FlowSampleColumns samples{};
    };
    struct Sent {  // redundant: what went out first where
        std::uint32_t object, order;
        std::uint16_t bytes, subflow;
        std::int64_t number;
    };
    // Datagrams into a link, or what a background flow's application writes.
    struct Source {
        TrafficSource traffic;
        std::size_t link;
        std::int64_t flow = -1;
    };

    // heads
    // A link's own number is its data head.
    std::size_t head_acks(std::size_t link) const { return link_count_ + link; }
    std::size_t head_timer(std::size_t sender) const { return 2 * link_count_ + sender; }
    std::size_t head_pace(std::size_t sender) const { return 2 * link_count_ + senders_ + sender; }
    std::size_t head_delayed_ack(std::size_t sender) const { return 2 * link_count_ + 2 * senders_ + sender; }
    std::size_t head_release() const { return 2 * link_count_ + 3 * senders_; }
    std::size_t head_slot() const { return head_release() + 1; }
    std::size_t head_source(std::size_t i) const { return head_release() + 2 + i; }
    bool packet_first() const;
    void on_idle_head(std::size_t head);

    // coming in
    void on_data(std::size_t link);
    void on_acks(std::size_t link);
    void on_timer(std::size_t s);
    void on_delayed_ack(std::size_t s);
    void on_release();
    void on_slot();
    void on_source(std::size_t i);
    void on_segment(const DataPacket& packet);
    void complete(std::uint32_t object);
    void on_established(std::size_t s, Time syn_ns);
    void on_timeout(std::size_t s);

    // setting up
    TcpState initial_state() const;
    ControlSetup control_setup(const TcpState& tcp, std::size_t link, int sharers) const;
    void bound_agent(TcpState& tcp) const;
    SubflowReceiver receiver(std::size_t link, int option_bytes) const;
    void add_subflow(std::size_t link);
    std::unique_ptr<CongestionControl> own_control(const ControlSetup& setup) const {
        const TransportConfig& t = config_.transport;
        return t.make_control ? t.make_control(setup) : make_congestion(t, t.congestion, setup);
    }

    // background flows
    void add_flow(std::size_t link, std::size_t number);
    void on_flow_data(std::size_t f, DataPacket packet);
    void on_flow_established(std::size_t f, Time syn_ns);
    void on_flow_ack(std::size_t f, AckBlocks ack);
    void on_flow_timer(std::size_t f);
    void on_flow_write(std::size_t f);
    void send_flow_probe(std::size_t f);
    void pump_flow(std::size_t f);
    bool flow_has_data(const FlowState& flow) const { return flow.unsent_bytes > 0 && now_ < flow.config.stop_ns; }
    void send_flow_segment(std::size_t f);
    void repeat_flow_segment(std::size_t f, std::int64_t number);
    void put_flow_segment(std::size_t f, std::int64_t number, std::uint16_t bytes);
    void sample_flows();
    void check_flows() const;

    // going out
    Endpoint& endpoint(std::size_t sender) {
        return sender < first_flow_ ? static_cast<Endpoint&>(subflows_[sender]) : flows_[sender - first_flow_];
    }
    void trace_arrival(DataPacket packet);
    void trace_step(std::size_t s);
    bool doomed(std::size_t link, const DataPacket& packet);
    void trace_sent(DataPacket packet, Direction::Passage passage);
    void trace_ack(TraceEvent event, Direction::Passage passage, std::size_t sender, const AckBlocks& ack, bool syn);
    void put_data(std::size_t link, const DataPacket& packet);
    void open(std::size_t sender, Endpoint& from, Time at);
    void send_syn(std::size_t sender, Endpoint& from);
    void send_ack(std::size_t sender, Endpoint& from);
    void answer_syn(std::size_t sender, Endpoint& from, Time sent_ns);
    AckPacket& put_ack(const Endpoint& from, Time arrive_ns);
    static AckBlocks blocks_of(const SubflowReceiver& receiver, const SubflowReceiver::Ack& ack);
    void answer(std::size_t sender, Endpoint& to, SubflowReceiver::Answer what, Time sent_ns);
    void transmit(std::size_t s, SubflowState& subflow, std::int64_t number, const Planned& segment, bool repeat);
    void note_sent(std::size_t s, std::int64_t number, Planned segment, bool repeat, Direction::Passage passage);
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
    void send_burst(std::size_t s, SubflowState& subflow, std::uint32_t object, ObjectOutcome& outcome,
                    std::int64_t payload);
    OrderingDomain& domain_of(SubflowState& subflow, ObjectOutcome& outcome);
    void note_first(std::size_t s, ObjectOutcome& outcome);
    void sent_out(std::uint32_t object);
    void note_planned_sent(std::uint32_t object);
    void copy_elsewhere(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes,
                        std::int64_t number);
    Planned cut(std::size_t s, std::uint32_t object);
    Planned take(SubflowState& subflow, std::uint32_t object, ObjectOutcome& outcome, std::int64_t payload);
    void note_cut(std::size_t s, std::uint32_t object, std::int64_t bytes);
    std::int64_t put(std::size_t s, SubflowState& subflow, const Planned& segment);
    void offer_planned();
    bool room_ahead() const;
    void plan(std::size_t s, std::uint32_t object);
    void send_planned(std::size_t s);
    void move_planned(std::size_t from, std::size_t to);
    void send_copy(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes);
    std::int64_t unsent_bytes(std::uint32_t object) const {
        return config_.objects.payload_bytes[object] - outcomes_[object].offset;
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
               new_payload_ + planned_payload_ + bytes - peer_delivered_ <= config_.transport.receive_buffer_bytes;
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
    void arm_timer(std::size_t s) { arm_timer(s, subflows_[s]); }
    void arm_timer(std::size_t sender, const Endpoint& endpoint);
    SubflowSet usable() const;
    int quickest(SubflowSet set) const {  // by least smoothed RTT
        return fastest(paths_, set);
    }
    SubflowView view_of(const Endpoint& state) const;
    void refresh_delays();
    void settle();
    bool silent_for_good() const;
    std::int64_t bytes() const;
    void watch_memory();
    void check_conservation() const;
    void check_deliveries() const;

    EngineConfig config_;
    std::uint32_t wire_bytes_;
    std::vector<LinkState> links_;
    std::vector<SubflowState> subflows_;
    std::vector<OrderingDomain> domains_;
    std::unique_ptr<Scheduler> scheduler_;
    // What the scheduler says of itself, asked once: it is in every packet's way.
    bool listens_, heeds_, duplicates_, pins_, plans_, ahead_, takes_turns_;
    SubflowSet held_ = 0;  // ready, but the scheduler waits
    std::vector<Path> paths_;
    std::vector<const TcpState*> siblings_;  // the established ones
    bool stamps_ = false;                    // receivers tell the one-way delay
    bool bounded_;                           // receivers have a window
    bool backups_ = false;                   // some link has an outage without end
    std::size_t link_count_;
    std::size_t first_flow_;  // the number of subflows, and of the first background flow
    std::size_t senders_;     // subflows and background flows
    std::vector<FlowState> flows_;
    std::vector<std::size_t> steered_flows_;
    std::vector<Source> sources_;
    std::int64_t cross_packets_ = 0;
    EventHeads tree_;
    Time now_ = 0;

    std::vector<ObjectOutcome> outcomes_;
    std::size_t released_ = 0, unsettled_ = 0;
    WaitingLayers pending_;  // released, bound to no subflow
    BlockRing<Sent> log_;
    SubflowSet ready_ = 0, established_ = 0, stale_ = 0, has_assigned_ = 0, has_planned_ = 0, reinjecting_ = 0;

    SampleColumns samples_;
    LogHistogram waits_;
    TraceColumns trace_;
    StepColumns steps_;
    std::int64_t planned_payload_ = 0;  // waits at subflows
    std::int64_t unsent_limit_ = 0;     // of a subflow, for schedulers that plan ahead without deadlines
    std::map<std::uint32_t, std::int64_t> planned_segments_;  // the same by layer
    std::int64_t backlog_ = 0;                                // released, neither sent nor given up
    std::array<std::int64_t, 256> layer_backlog_{};           // the same by layer, a layer begun counted whole
    std::uint64_t copied_layers_ = 0;                         // LayerAction::copied
    std::vector<std::deque<Spare>> spares_;                   // by layer
    std::vector<std::int32_t> layer_table_;                   // LayerAction::subflow
    Time layer_gap_ns_ = kNever;                              // LayerAction::gap_ns
    double repair_share_ = 0.5;                               // LayerAction::repair_share
    SubflowSet dark_ = 0;                                     // at rest, see steer()
    Watch* watch_ = nullptr;
    bool watched_ = false;  // somebody wants to know of every transmission
    std::unique_ptr<ChunkManager> chunks_;
    std::vector<Acked> acked_;         // of the ACK at hand, for the chunk manager
    std::int64_t new_payload_ = 0;     // sent for the first time
    std::int64_t peer_delivered_ = 0;  // what the receiver has said of its window
    std::int64_t delivered_payload_ = 0, arrived_payload_ = 0, duplicate_payload_ = 0, hol_payload_ = 0;
    std::int64_t repeated_payload_ = 0, data_packets_ = 0, events_ = 0;
    std::int64_t peak_bytes_ = 0;  // of the records, the most seen
    std::int64_t held_bytes_ = 0;  // the same since the last trim
    double hol_wait_byte_ns_ = 0;
    Time first_send_ns_ = -1, last_delivery_ns_ = -1;
    bool deadlines_ = false;  // some layer has one, and late ones are dropped
    bool over_ = false;
};

// ------------------------------------------------------------------------ small and in every packet's way

// Is the subflow free to send now? If only pacing holds it, wake it when pacing lets go.
inline void Simulation::refresh(std::size_t s, const Subflow& sender) {
    if (!sender.window_open()) {
        erase(ready_, s);
    } else if (sender.pacing_until() > now_) {
        erase(ready_, s);
        if (tree_.at(head_pace(s)) != sender.pacing_until()) tree_.set(head_pace(s), sender.pacing_until());
    } else {
        insert(ready_, s);
    }
}

// The timer's head may be early; it is never late.
inline void Simulation::arm_timer(std::size_t sender, const Endpoint& endpoint) {
    const Time at = endpoint.sender.established() ? endpoint.sender.next_timer() : endpoint.syn_at;
    if (at < tree_.at(head_timer(sender))) tree_.set(head_timer(sender), std::max(at, now_));
}

[[gnu::always_inline]] inline void Simulation::put_data(std::size_t link, const DataPacket& packet) {
    BlockRing<DataPacket>& ring = links_[link].data;
    const bool first = ring.empty();
    DataPacket& there = ring.emplace_back();
    there.arrive_ns = packet.arrive_ns;
    there.sent_ns = packet.sent_ns;
    there.number = packet.number;
    there.object = packet.object;
    there.order = packet.order;
    there.bytes = packet.bytes;
    there.subflow = packet.subflow;
    if (first) tree_.set_busy(link, packet.arrive_ns);
}

// A subflow with room that the scheduler passes over is as starved as one without data.
inline void Simulation::finish_sending(std::size_t s, SubflowState& subflow) {
    Subflow& sender = subflow.sender;
    const bool more = data_waits(s, subflow);
    sender.finish_sending(now_, !more, more && !sender.window_open());
    arm_timer(s, subflow);
}

// Ready subflows that may take new data: on lanes those with nothing assigned; the stale only when all are.
inline SubflowSet Simulation::usable() const {
    const SubflowSet set = ready_ & ~has_assigned_;
    return (established_ & ~stale_) != 0 ? set & ~stale_ : set;
}

// For schedulers that go by their paths alone.
inline int Simulation::pick_unheeding(SubflowSet ready) {
    static const Next unheeded{};
    return scheduler_->pick(paths_, ready, unheeded);
}

// The next layer, bound to no subflow, that one of `ready` can bring in time; `ready` is narrowed to those that can.
inline bool Simulation::next_unbound(SubflowSet& ready, std::uint32_t& object) {
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
class Simulation::View {
public:
    using Set = SubflowSet;
    explicit View(const Simulation& of) : of_(of) {}
    dstcc_dispatch::Layer layer(std::uint32_t object) const {
        const ObjectsConfig& objects = of_.config_.objects;
        return {objects.release_ns[object], of_.deadlines_ ? objects.deadline_ns[object] : kNever,
                objects.payload_bytes[object], objects.layer[object], of_.outcomes_[object].offset > 0};
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
    SubflowSet usable() const { return of_.established_ & ~of_.stale_ & ~of_.dark_; }
    std::size_t paths() const { return of_.paths_.size(); }
    bool strict() const { return false; }

private:
    const Simulation& of_;
};

// Would the layer come too late over a subflow?
inline bool Simulation::late(std::uint32_t object, std::size_t s, Slack slack) const {
    if (!deadlines_) return false;
    const View view(*this);
    return dstcc_dispatch::late_on(view, view.layer(object), s, slack);
}

}  // namespace dstcc
