// What a sender of `coded` begins with, whoever carries its packets, and what may be asked about it before.
#pragma once

#include "coding/flight.hpp"
#include "congestion/setup.hpp"

namespace dstcc {

// Fresh packets make good what repair does not where they have so many round trips.
constexpr int kRounds = 2;
// Whether these are in the time left, over ways of that light time.
inline bool fresh_packets_count(Time left, Time light) { return left - light >= kRounds * 2 * light; }

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
