// All that the simulator's receiving end of `coded` has of its link, where ACKs are real packets; see transmitter.hpp.
#pragma once

#include "core/ranges.hpp"
#include "link/packets.hpp"

namespace dstcc {

// As the simulator's.
struct Ack {
    std::int64_t cumulative;
    Time echo_ns;
    const Range* blocks;
    int sacks;
    AckKind kind;
    Time one_way_ns;
    std::int64_t delivered;
};

class AckPort {
public:
    virtual ~AckPort() = default;
    virtual void send(Time now, std::size_t subflow, const Ack& ack, std::uint32_t bytes) = 0;
    // Until when what was put on a subflow's way back keeps the uplink.
    virtual Time busy_ns(std::size_t subflow) const = 0;
};

class AckTransmitter {
public:
    using Ack = dstcc::Ack;
    AckTransmitter(AckPort& port, std::size_t subflow) : port_(&port), subflow_(subflow) {}
    void send(Time now, std::size_t sender, const Ack& ack, std::uint32_t bytes) const {
        port_->send(now, sender, ack, bytes);
    }
    Time busy_ns() const { return port_->busy_ns(subflow_); }

private:
    AckPort* port_;
    std::size_t subflow_;
};

}  // namespace dstcc
