// When a run without a duration has come to nothing.
#pragma once

#include <algorithm>

#include "base.hpp"

namespace dstcc {

// Nothing was delivered since `quiet_since` for 20 of the longest timeout, or of four one-way delays if that is more.
inline bool stalled(Time now, Time quiet_since, Time rto_max, Time longest_one_way) {
    constexpr int kTimeouts = 20;
    const Time patience = std::max(rto_max, 4 * longest_one_way);
    return patience < kNever / kTimeouts && now - quiet_since > kTimeouts * patience;
}

}  // namespace dstcc
