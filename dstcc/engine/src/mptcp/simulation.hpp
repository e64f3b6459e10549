// One trial in virtual time: the event loop. It owns the connection's two ends, the background flows, the links and the clock, and
// carries packets between them; none of them knows another.
//
// Each link direction keeps its packets in flight in arrival order, so the next event is the least of a few heads: at the
// sending ends ACKs, a front per link, a pacing deadline and a timer per TCP sender, the source, the sampler, the cross
// traffic; at the receiving ends data, a front per link, and a delayed-ACK deadline per TCP sender. Timers are lazy: a
// head may be early, and is set anew when it fires.
//
// The ends meet in packets only, and no packet is quicker than light. So the receiving ends go ahead by what the sending
// ends cannot touch: what is sent from now on arrives later than the least delay from now. Then the sending ends follow.
// The result is that of one queue of events, for a part of its cost.
//
// TCP senders are numbered: first the connection's subflows, then the background flows, each of which is a connection of its own
// that shares a link's queues and nothing else.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/events.hpp"
#include "core/outcome.hpp"
#include "link/contact.hpp"
#include "link/traffic.hpp"
#include "link/wire.hpp"
#include "mptcp/background.hpp"
#include "mptcp/observers.hpp"
#include "mptcp/receiving_end.hpp"
#include "mptcp/sending_end.hpp"

namespace dstcc {

// Layers in the order in which their last byte was sent, or delivered in order.
struct Watch {
    std::vector<std::uint32_t> sent, delivered;
    std::vector<Time> worst_ns;  // per object: the latest arrival of what was sent of it; kNever once any was lost
};

class Simulation {
public:
    explicit Simulation(const EngineConfig& config);
    Simulation(const Simulation&) = delete;  // its parts point at each other
    Simulation& operator=(const Simulation&) = delete;
    // Process everything up to and including `until`; false when the run is over. `interrupted` is polled now and then.
    bool run_until(Time until, bool (*interrupted)());

    ObjectOutcome object(std::size_t object) const;
    const SampleColumns& samples() const { return sampler_.subflows(); }
    std::vector<FlowOutcome> flows() const;
    const FlowSampleColumns& flow_samples(std::size_t flow) const { return sampler_.flow(flow); }
    const TraceColumns& trace() const { return packet_log_.columns(); }
    const StepColumns& steps() const { return step_log_.columns(); }
    std::map<std::string, double> totals() const;
    Time now() const { return now_; }
    bool over() const { return over_ || finished(); }
    // Every layer delivered or given up.
    bool finished() const { return remaining_.layers_ == 0; }
    const EngineConfig& config() const { return config_; }

    // --- a trial steered from outside; call between two run_until()
    // An action per subflow (those beyond the vector are silent) and one for the layers (nullptr: as before).
    void steer(const std::vector<WindowAction>& windows, const LayerAction* layers);
    std::size_t subflows() const { return sending_.subflows(); }
    SubflowView observe(std::size_t s) const { return sending_.observe(now_, s); }
    // The same for background flows under the trial's own control, where an agent steers that: another agent's each.
    // They are numbered among themselves, in the order of all flows.
    void steer_flows(const std::vector<WindowAction>& windows);
    std::size_t steered_flows() const { return background_.steered(); }
    SubflowView observe_flow(std::size_t i) const { return background_.observe(now_, i); }
    FlowSourceView flow_source(std::size_t i) const { return background_.source(now_, i); }
    const SendingEnd& sending() const { return sending_; }
    const ReceivingEnd& receiving() const { return receiving_; }
    ChunkManager* chunks() { return sending_.chunks(); }  // `agent-policies` only
    // Layers whose last byte was sent, or delivered, from now on are noted there.
    void watch(Watch* watch);

private:
    // Datagrams into a link, or what a background flow's application writes.
    struct Source {
        TrafficSource traffic;
        std::size_t link;
        std::int64_t flow = -1;
    };

    // setting up (mptcp/setup.cpp)
    TcpState initial_state() const;
    ControlSetup control_setup(const TcpState& tcp, std::size_t link, int sharers) const;
    SubflowReceiver receiver(std::size_t link, int option_bytes) const;
    void add_subflow(std::size_t link);
    void add_flow(std::size_t link, std::size_t number);
    std::unique_ptr<CongestionControl> own_control(const ControlSetup& setup) const {
        const TransportConfig& t = config_.transport;
        return t.make_control ? t.make_control(setup) : make_congestion(t, t.congestion, setup);
    }

    // heads of the sending ends: ACKs by link; pacing deadlines by sender; then the idle ones, timers by sender first
    std::size_t idle_release() const { return senders_; }
    std::size_t idle_slot() const { return idle_release() + 1; }
    std::size_t idle_source(std::size_t i) const { return idle_release() + 2 + i; }

    const EventTree& next_sending() const;
    Time receiving_next() const { return std::min(receiving_heads_.busy().time(), receiving_heads_.idle().time()); }
    bool catch_up(Time next, Time end);
    Time ends_apart_until() const;
    bool receive_before(Time next, Time end);
    void receive(Time until);
    void receive_run(std::size_t link, Time until);
    void on_sending_head(const EventTree& of, std::size_t head);
    void on_pace(std::size_t sender);
    void on_idle_head(std::size_t head);
    void on_data(Time at, Wire& wire);
    bool on_unusual_data(Time at, Wire& wire, const DataPacket& packet);
    void on_acks(std::size_t link);
    void on_slot();
    void on_source(std::size_t i);

    bool silent_for_good() const;
    std::int64_t bytes() const;
    void check_conservation() const;
    void check_deliveries() const;

    EngineConfig config_;
    std::uint32_t wire_bytes_;
    std::size_t first_flow_;  // the number of subflows, and of the first background flow
    std::size_t senders_;     // subflows and background flows
    EventHeads sending_heads_, receiving_heads_;
    TimerTree pacing_heads_;  // of the sending ends, too: a deadline moves with every paced packet
    Time now_ = 0;            // of the sending ends
    Time least_down_ns_ = kNever, least_up_ns_ = kNever;  // every packet takes longer
    // So far the receiving ends are; so far, included, the sending ends may go on, as nothing is missing that they hear.
    Time received_until_ = -1;
    Time finish_ns_ = -1;  // the last layer was delivered then
    Remaining remaining_;
    LayerHeaders headers_;
    PacketLog packet_log_;
    StepLog step_log_;
    Sampler sampler_;
    MemoryWatch memory_;
    std::vector<Wire> wires_;
    std::vector<ContactPlan> plans_;
    SendingEnd sending_;
    ReceivingEnd receiving_;
    BackgroundFlows background_;
    std::vector<Source> sources_;
    std::int64_t cross_packets_ = 0, events_ = 0;
    bool plain_ = true;  // neither a trace nor scripted drops
    bool over_ = false;
};

}  // namespace dstcc
