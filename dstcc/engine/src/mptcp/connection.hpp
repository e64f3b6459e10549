// A connection of TCP or MPTCP: its two ends, and what is under way between them. Only here does one place know both.
#pragma once

#include "mptcp/receiving_end.hpp"
#include "mptcp/sending_end.hpp"
#include "mptcp/split.hpp"
#include "sim/trial.hpp"

namespace dstcc {

// Layers in the order in which their last byte was sent, or delivered in order.
struct Watch {
    std::vector<std::uint32_t> sent, delivered;
    std::vector<Time> worst_ns;  // per object: the latest arrival of what was sent of it; kNever once any was lost
};

// As sim/trial.hpp would have it.
class Connection {
public:
    static HeadCounts heads(const EngineConfig& config);
    Connection(const EngineConfig& config, std::vector<Link>& links, const std::vector<ContactPlan>& plans,
               const Places& places);
    Connection(const Connection&) = delete;  // its parts point at each other
    Connection& operator=(const Connection&) = delete;
    void begin(PacketLog* log);

    void handle_quick(Time now, std::size_t link);
    void handle_timer(Time now, std::size_t s) { sending_.handle_timer(now, s); }
    void handle_pace(Time now, std::size_t s) { sending_.handle_pace(now, s); }
    Time handle_release(Time now) { return sending_.handle_release(now); }
    void handle_slot(Time now);
    void handle_last(Time now) { sending_.handle_own_timer(now); }
    Time receive(Time at, std::size_t link);
    void handle_answer_timer(Time at, std::size_t s) {
        if (__builtin_expect(split_ != nullptr, 0) && s >= sending_.subflows())
            return split_->handle_timer(at, s - sending_.subflows());
        receiving_.handle_timer(at, s);
    }

    static constexpr bool kAhead = true;
    // The receiving end may go ahead as long as the last layer will not be given up meanwhile, for that ends the trial.
    Time apart_until() const {
        return !sending_.drops_late() || sending_.all_sent() ? kNever : config_.objects.release_ns.back() - 1;
    }
    static constexpr bool kRuns = false;
    void put_until(Time to) { sending_.put_until(to); }
    bool goes_on() const { return sending_.goes_on(); }
    bool goes() const { return runs_; }
    void know_until(Time to) { known_until_ = to; }
    void hear_until(Time to) { heard_until_ = to; }
    bool finished() const { return remaining_.layers_ == 0; }
    Time open_until() const {
        if (sending_.all_sent()) return -1;
        return sending_.drops_late() ? config_.objects.release_ns.back() - 1 : kNever;
    }
    void judge(Time) {}
    bool rests() const { return sending_.rests(); }

    std::size_t released() const { return sending_.released(); }
    Time quiet_since() const { return receiving_.last_delivery_ns(); }
    Time longest_one_way_ns() const { return sending_.longest_one_way_ns(); }
    const SampleColumns& samples() const { return sampler_.rows(); }
    const StepColumns& steps() const { return step_log_.columns(); }
    ObjectOutcome object(std::size_t object) const;
    void add_to(TransportStats& stats) const;
    std::int64_t bytes() const;
    std::int64_t packets() const;
    std::int64_t data_under_way(std::size_t link) const { return wires_[link].data_under_way(); }
    std::int64_t acks_under_way(std::size_t link) const { return wires_[link].acks_under_way(); }
    void check() const;
    void check_layers() const;

    SendingEnd& sending() { return sending_; }  // for who steers it
    const SendingEnd& sending() const { return sending_; }
    const ReceivingEnd& receiving() const { return receiving_; }
    // Layers whose last byte was sent, or delivered, from now on are noted there.
    void watch(Watch* watch);

private:
    void add(std::size_t link, const Link& on, const ContactPlan& plan);
    bool on_unusual_data(Time at, Wire& wire, const DataPacket& packet);
    Time receive_over_nodes(Time at, std::size_t head);
    Time receive_run(Time at, Wire& wire);
    bool hear_runs(Wire& wire);

    const EngineConfig& config_;
    Remaining remaining_;
    LayerHeaders headers_;
    std::vector<Wire> wires_;  // of first hops, where nodes split
    SendingEnd sending_;
    ReceivingEnd receiving_;
    std::unique_ptr<Split> split_;  // none but over nodes that do
    StepLog step_log_;
    Sampler sampler_;
    PacketLog* log_ = nullptr;
    bool plain_ = true;  // neither a trace nor scripted drops
    bool runs_ = false;  // segments and ACKs may go in them
    Time known_until_ = -1, heard_until_ = -1;
};

extern template class Trial<Connection>;

}  // namespace dstcc
