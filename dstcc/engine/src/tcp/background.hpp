// Background flows: TCP connections of somebody else. Each has a sender with a congestion control of its own, one
// ordering domain (so what arrives once is delivered in the end) and one link, whose queues it shares both ways: its
// segments with the connection's data, its ACKs with the connection's ACKs. Here are their sending ends.
//
// A flow sends all it can (or so many bytes) from start to stop, or what its application writes (TrafficSource). After the
// stop it sends nothing new and repairs what it still owes.
//
// A flow of the trial's own control ("same") is steered where that is: by an agent of its own, from its own values, under the
// same bounds. As the connection's subflows do, it rests while its link is in an outage if the agent's scheduler sends in
// deadline order.
#pragma once

#include <vector>

#include "tcp/senders.hpp"

namespace dstcc {

// What the sender of a background flow knows of its own source.
struct FlowSourceView {
    Time start_ns = 0;
    std::int64_t written_bytes = 0, unsent_bytes = 0;  // kNever: without end
    std::int64_t writes = 0;                           // 1 for what was all there from the start
    Time first_write_ns = -1, last_write_ns = -1;
};

class BackgroundFlows : private Senders {
public:
    struct Flow : SendingEndpoint {
        FlowConfig config;
        std::int64_t unwritten_bytes;  // what its application will still write
        std::int64_t unsent_bytes;     // written and not yet sent
        std::int64_t sent_bytes = 0, retransmitted_bytes = 0;
        std::int64_t written_bytes = 0, writes = 0;
        Time first_write_ns = -1, last_write_ns = -1;
        Time light_ns = 0;     // one way, as of the last slot
        bool resting = false;  // see steer()
    };
    // `rests`: steered flows rest in outages.
    BackgroundFlows(const TransportConfig& transport, std::size_t first, Timers timers, Timers paces, bool rests)
        : Senders(transport, first, timers, paces),
          rests_(rests) {}
    void add(SendingEndpoint endpoint, const FlowConfig& config, bool steered);
    void begin();

    void handle_established(Time now, std::size_t f, Time syn_ns);
    void handle_ack(Time now, std::size_t f, AckBlocks& ack);
    void handle_timer(Time now, std::size_t f);
    void handle_pace(Time now, std::size_t f);
    void handle_write(Time now, std::size_t f);
    void refresh_delays(Time now) {
        for (const std::size_t f : steered_) flows_[f].light_ns = flows_[f].plan->light_ns(now);
    }

    const std::vector<Flow>& flows() const { return flows_; }
    // Those under the trial's own control, where an agent steers that; numbered among themselves.
    std::size_t steered() const { return steered_.size(); }
    void steer(Time now, const std::vector<WindowAction>& windows);
    SubflowView observe(Time now, std::size_t i) const;
    FlowSourceView source(Time now, std::size_t i) const;

private:
    bool has_data(const Flow& flow) const { return flow.unsent_bytes > 0 && now_ < flow.config.stop_ns; }
    void pump(std::size_t f);
    void send_probe(std::size_t f);
    void send_segment(std::size_t f);
    void repeat_segment(std::size_t f, std::int64_t number);
    void put(std::size_t f, std::int64_t number, std::uint16_t bytes);

    bool rests_;
    std::vector<Flow> flows_;
    std::vector<std::size_t> steered_;
};

}  // namespace dstcc
