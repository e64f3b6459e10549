// All that the simulator's sending end of `coded` has of its link, where its packets are real: this file stands in the place of
// dstcc/engine/src/link/transmitter.hpp, since its folder comes first in the search for headers (dstcc_kernel/native.py).
#pragma once

#include "link/packets.hpp"

namespace dstcc {

// Who carries packets for a sending end; as the simulator's Transmitter.
class DataPort {
public:
    virtual ~DataPort() = default;
    // Returns how long the packet waits in the queue; -1: the queue has no room. `bytes`: payload, 0 for a SYN.
    virtual Time send(Time now, std::size_t subflow, std::int64_t number, std::uint32_t object, std::uint32_t order,
                      std::uint16_t bytes, std::uint32_t header_bytes) = 0;
    virtual Time room_at(std::size_t link, Time now, std::uint32_t bytes) const = 0;
    virtual Time queue_ns(std::size_t link, Time now) const = 0;
    virtual std::int64_t queue_bytes(std::size_t link, Time now) const = 0;
    virtual Time full_service_ns(std::size_t link, Time now) const = 0;
};

class Transmitter {
public:
    Transmitter(DataPort& port, std::size_t link) : port_(&port), link_(link) {}
    Time send(Time now, std::size_t sender, std::int64_t number, std::uint32_t object, std::uint32_t order,
              std::uint16_t bytes, std::uint32_t header_bytes, bool /*first*/) const {
        return port_->send(now, sender, number, object, order, bytes, header_bytes);
    }
    Time room_at(Time now, std::uint32_t bytes) const { return port_->room_at(link_, now, bytes); }
    Time queue_ns(Time now) const { return port_->queue_ns(link_, now); }
    std::int64_t queue_bytes(Time now) const { return port_->queue_bytes(link_, now); }
    Time full_service_ns(Time now) const { return port_->full_service_ns(link_, now); }

private:
    DataPort* port_;
    std::size_t link_;
};

}  // namespace dstcc
