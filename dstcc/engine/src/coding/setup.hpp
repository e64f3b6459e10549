// What a subflow of `coded` begins with, whoever carries its packets.
#pragma once

#include "coding/flight.hpp"
#include "congestion/setup.hpp"

namespace dstcc {

// As control_setup().
inline Flight make_flight(const EngineConfig& config, std::size_t link, std::size_t subflow,
                          const std::vector<const TcpState*>& siblings, Time slot, Time answer) {
    TcpState tcp = initial_state(config, subflow);
    tcp.siblings = &siblings;
    auto control =
        own_control(config.transport, control_setup(config, tcp, link, sharers_of(config, link), slot, answer));
    return {config.transport, std::move(control), tcp};
}

}  // namespace dstcc
