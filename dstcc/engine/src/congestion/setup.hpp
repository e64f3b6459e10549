// What a sender begins with, whoever carries its packets: its record, and its congestion control.
#pragma once

#include <algorithm>

#include "congestion/control.hpp"

namespace dstcc {

inline std::size_t count_subflows(const EngineConfig& config) {
    std::size_t subflows = 0;
    for (const LinkConfig& link : config.links) subflows += static_cast<std::size_t>(link.subflows);
    return subflows;
}

inline Time longest_delay(const LinkConfig& link) {
    return *std::max_element(link.delay_ns.begin(), link.delay_ns.end());
}

inline TcpState initial_state(const EngineConfig& config, std::size_t subflow) {
    const TransportConfig& transport = config.transport;
    TcpState tcp;
    tcp.mss_bytes = static_cast<std::uint32_t>(transport.mss_bytes);
    tcp.wire_bytes = static_cast<std::uint32_t>(transport.mss_bytes + transport.header_bytes);
    tcp.initial_cwnd = transport.initial_cwnd;
    tcp.seed = config.seed;
    tcp.subflow = subflow;
    return tcp;
}

// The subflows on a link: of all paths of which it is the first.
inline int sharers_of(const EngineConfig& config, std::size_t link) {
    int sharers = 0;
    for (std::size_t l = 0; l < config.links.size(); ++l)
        if (first_place(config, l) == first_place(config, link)) sharers += config.links[l].subflows;
    return sharers;
}

// The `sharers` of a link divide what an open loop or a fixed window would give one. `slot`: a full packet's time on the line;
// `answer`: a header's on the way back.
inline ControlSetup control_setup(const EngineConfig& config, const TcpState& tcp, std::size_t link, int sharers,
                                  Time slot, Time answer) {
    const LinkConfig& on = config.links[link];
    const Time rtt = 2 * longest_delay(on) + slot + answer, share = slot * sharers;
    ControlSetup setup{tcp, link, on.rate_bps / sharers, std::max<Time>((rtt + share - 1) / share, 2), config.slot_ns};
    setup.plan = &on.rate;
    setup.sharers = sharers;
    return setup;
}

// The trial's own control.
inline std::unique_ptr<CongestionControl> own_control(const TransportConfig& transport, const ControlSetup& setup) {
    return transport.make_control ? transport.make_control(setup)
                                  : make_congestion(transport, transport.congestion, setup);
}

}  // namespace dstcc
