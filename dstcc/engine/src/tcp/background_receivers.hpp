// The receiving ends of background flows. The data of each arrives in an order of its own, so that what arrives once is delivered
// in the end.
#pragma once

#include <vector>

#include "tcp/answering.hpp"

namespace dstcc {

// What has arrived of a background flow.
struct FlowArrival {
    std::int64_t payload_bytes;  // all of it; 0: without end
    std::int64_t bytes = 0;
    Time complete_ns = -1;
};

class BackgroundReceivers {
public:
    // As Answering().
    BackgroundReceivers(int header_bytes, std::size_t first, Timers delayed_acks)
        : answering_(header_bytes, first, delayed_acks) {}
    void add(const SubflowReceiver& receiver, AckTransmitter out, std::int64_t payload_bytes) {
        flows_.push_back({{receiver, out}, {payload_bytes}});
    }

    void handle_data(Time now, std::size_t f, const DataPacket& packet) {
        Flow& to = flows_[f];
        answering_.handle_data(now, f, to, packet, kNoWindow, [&] {
            to.arrival.bytes += packet.bytes;
            if (to.arrival.bytes == to.arrival.payload_bytes) to.arrival.complete_ns = now;
        });
    }
    void handle_timer(Time now, std::size_t f) { answering_.handle_timer(now, f, flows_[f], kNoWindow); }

    std::int64_t next(std::size_t f) const { return flows_[f].receiver.next(); }
    const FlowArrival& arrival(std::size_t f) const { return flows_[f].arrival; }

private:
    static constexpr std::int64_t kNoWindow = 0;  // a flow's receiver has room for all
    struct Flow : ReceivingEndpoint {
        FlowArrival arrival;
    };
    Answering answering_;
    std::vector<Flow> flows_;
};

}  // namespace dstcc
