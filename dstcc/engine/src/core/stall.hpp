// When a run without a duration has come to nothing.
#pragma once

#include <algorithm>

#include "link/contact.hpp"

namespace dstcc {

// Nothing was delivered since `quiet_since` for 20 of the longest timeout, or of four one-way delays if that is more.
inline bool stalled(Time now, Time quiet_since, Time rto_max, Time longest_one_way) {
    constexpr int kTimeouts = 20;
    const Time patience = std::max(rto_max, 4 * longest_one_way);
    return patience < kNever / kTimeouts && now - quiet_since > kTimeouts * patience;
}

// Outages are known, and waiting for their end is no stall unless they have none: the end of the last one that has begun.
inline Time dark_until(const EngineConfig& config, Time now) {
    Time until = 0;
    for (const LinkConfig& link : config.links)
        for (const auto* outages : {&link.outages_ns, &link.up_outages_ns}) {
            const auto next = std::upper_bound(outages->begin(), outages->end(), std::pair(now, kNever));
            if (next == outages->begin()) continue;
            const Time end = std::prev(next)->second;
            if (end < kForeverNs) until = std::max(until, end);
        }
    return until;
}

}  // namespace dstcc
