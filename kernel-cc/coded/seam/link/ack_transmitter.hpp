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
    virtual void send(Time now, std::size_t subflow, const Ack& ack) = 0;
};

class AckTransmitter {
public:
    using Ack = dstcc::Ack;
    explicit AckTransmitter(AckPort& port) : port_(&port) {}
    void send(Time now, std::size_t sender, const Ack& ack, std::uint32_t /*bytes*/) const {
        port_->send(now, sender, ack);
    }
    Time busy_ns() const { return 0; }  // no law here lives by reports

private:
    AckPort* port_;
};

}  // namespace dstcc
