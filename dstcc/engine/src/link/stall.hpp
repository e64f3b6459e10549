// When a run without a duration has come to nothing.
#pragma once

#include <algorithm>

#include "link/contact.hpp"

namespace dstcc {

// For how long nothing may be delivered: 20 of the longest timeout, or of two round trips if that is more. The kernel
// backend asks for it too.
inline Time stall_patience(Time rto_max, Time longest_one_way) {
    constexpr int kTimeouts = 20;
    const Time patience = std::max(rto_max, 4 * longest_one_way);
    return patience < kNever / kTimeouts ? kTimeouts * patience : kNever;
}

inline bool stalled(Time now, Time quiet_since, Time rto_max, Time longest_one_way) {
    return now - quiet_since > stall_patience(rto_max, longest_one_way);
}

// Outages are known, and waiting for their end is no stall unless they have none: the end of the last one that has begun.
inline Time dark_until(const EngineConfig& config, Time now) {
    Time until = 0;
    const auto look = [&](const LinkConfig& link) {
        for (const auto* outages : {&link.outages_ns, &link.up_outages_ns, &link.unannounced_ns}) {
            const auto next = std::upper_bound(outages->begin(), outages->end(), std::pair(now, kNever));
            if (next == outages->begin()) continue;
            const Time end = std::prev(next)->second;
            if (end < kForeverNs) until = std::max(until, end);
        }
    };
    for (const LinkConfig& link : config.links) {
        look(link);
        for (const HopConfig& hop : link.onward) look(hop.line);
    }
    return until;
}

}  // namespace dstcc
