// Background flows, both ends: TCP connections of somebody else beside any transport, which share its links' queues and nothing else.
#pragma once

#include "core/outcome.hpp"
#include "link/contact.hpp"
#include "sim/places.hpp"
#include "sim/tcp.hpp"
#include "tcp/background.hpp"
#include "tcp/background_receivers.hpp"
#include "tcp/observers.hpp"

namespace dstcc {

class Flows {
public:
    static HeadCounts heads(const EngineConfig& config);
    // `rests`: as BackgroundFlows().
    Flows(const EngineConfig& config, std::vector<Link>& links, const std::vector<ContactPlan>& plans,
          const Places& places, bool rests);
    Flows(const Flows&) = delete;  // its parts point at each other
    Flows& operator=(const Flows&) = delete;
    void begin(PacketLog* log);

    // --- what happens to them
    void handle_quick(Time now, std::size_t link);
    void handle_timer(Time now, std::size_t f) { sending_.handle_timer(now, f); }
    void handle_pace(Time now, std::size_t f) { sending_.handle_pace(now, f); }
    void handle_write(Time now, std::size_t f) { sending_.handle_write(now, f); }
    void handle_slot(Time now);
    Time receive(Time at, std::size_t link);  // returns when the next packet arrives there
    void handle_answer_timer(Time at, std::size_t f) { receiving_.handle_timer(at, f); }

    // --- those under the trial's own control, where an agent steers that; numbered among themselves
    std::size_t steered() const { return sending_.steered(); }
    void steer(Time now, const std::vector<WindowAction>& windows) { sending_.steer(now, windows); }
    SubflowView observe(Time now, std::size_t i) const { return sending_.observe(now, i); }
    FlowSourceView source(Time now, std::size_t i) const { return sending_.source(now, i); }

    // --- for observers
    std::vector<FlowOutcome> outcomes() const;
    const SampleColumns& samples(std::size_t f) const { return samplers_[f].rows(); }
    std::int64_t bytes() const;
    std::int64_t packets() const;  // put on links, ever
    std::int64_t data_under_way(std::size_t link) const { return wires_.empty() ? 0 : wires_[link].data_under_way(); }
    std::int64_t acks_under_way(std::size_t link) const { return wires_.empty() ? 0 : wires_[link].acks_under_way(); }
    void check() const;

private:
    void add(const EngineConfig& config, std::size_t link, std::size_t number, const Link& on, const ContactPlan& plan);

    std::size_t first_;
    std::vector<Wire> wires_;
    BackgroundFlows sending_;
    BackgroundReceivers receiving_;
    std::vector<Sampler> samplers_;  // by flow
    PacketLog* log_ = nullptr;
};

// Draws of flows are apart from those of subflows and datagrams.
constexpr std::uint64_t kFlowNumbers = 1 << 16;

}  // namespace dstcc
