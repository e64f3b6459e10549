// What a subflow of `coded` begins with, whoever carries its packets; laws are made with the same as in mptcp/setup.cpp.
#pragma once

#include <algorithm>

#include "coding/flight.hpp"

namespace dstcc {

// `slot`: a full packet's time on the line; `answer`: a header's on the way back.
inline Flight make_flight(const EngineConfig& config, std::size_t link, std::size_t subflow,
                          const std::vector<const TcpState*>& siblings, Time slot, Time answer) {
    const TransportConfig& transport = config.transport;
    const LinkConfig& on = config.links[link];
    TcpState tcp;
    tcp.mss_bytes = static_cast<std::uint32_t>(transport.mss_bytes);
    tcp.wire_bytes = static_cast<std::uint32_t>(transport.mss_bytes + transport.header_bytes);
    tcp.initial_cwnd = transport.initial_cwnd;
    tcp.seed = config.seed;
    tcp.subflow = subflow;
    tcp.siblings = &siblings;
    const Time delay = *std::max_element(on.delay_ns.begin(), on.delay_ns.end());
    const Time rtt = 2 * delay + slot + answer, share = slot * on.subflows;
    ControlSetup setup{tcp, link, on.rate_bps / on.subflows, std::max<Time>((rtt + share - 1) / share, 2),
                       config.slot_ns};
    setup.plan = &on.rate;
    auto control = transport.make_control ? transport.make_control(setup)
                                          : make_congestion(transport, transport.congestion, setup);
    return {transport, std::move(control), tcp};
}

}  // namespace dstcc
