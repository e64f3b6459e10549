// All that a sending end has of its link: it can put segments on it, and knows the queue in front of it, which is its own.
// What becomes of a segment it learns from acknowledgements.
#pragma once

#include "link/wire.hpp"

namespace dstcc {

class Transmitter {
public:
    explicit Transmitter(Wire& wire) : wire_(&wire) {}

    // Returns how long the segment waits in the queue; -1: the queue has no room. A SYN has 0 bytes of payload.
    // `first`: a layer's segment goes out for the first time; for those who observe the link.
    [[gnu::always_inline]] Time send(Time now, std::size_t sender, std::int64_t number, std::uint32_t object,
                                     std::uint32_t order, std::uint16_t bytes, std::uint32_t header_bytes,
                                     bool first) const {
        const Direction::Passage passage = wire_->down_.transmit(now, bytes + header_bytes);
        const DataPacket packet{passage.arrive_ns,
                                now,
                                static_cast<std::uint32_t>(number),
                                object,
                                order,
                                bytes,
                                static_cast<std::uint16_t>(sender)};
        if (wire_->observed_) wire_->tell_observers(packet, number, first, passage);
        if (passage.arrive_ns != kNever) wire_->put_data(packet);
        return passage.wait_ns;
    }
    // How long a packet that comes now waits for its service, and what is before it.
    Time queue_ns(Time now) const { return wire_->down_.queue_ns(now); }
    std::int64_t queue_bytes(Time now) const { return wire_->down_.queue_bytes(now); }
    Time slot_ns() const { return wire_->down_.slot_ns(); }  // a full packet's, on the line

private:
    Wire* wire_;
};

}  // namespace dstcc
