// SPDX-License-Identifier: GPL-2.0
// One direction of the scripted link, with the simulator's own arithmetic (dstcc/engine/src/channel.hpp):
//
//   start = max(now, busy);  depart = start + bytes / rate;  arrive = depart + delay(depart), never before the packet ahead
//
// A packet that would leave the queue longer than its limit is dropped; one whose service an outage touches is lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace trajectory {

using Time = std::int64_t;  // nanoseconds since the start
constexpr Time kNever = INT64_MAX;

struct Step {
    Time from, delay;  // holds until the next
};

struct Outage {
    Time from, to;
};

struct Packet {
    Time arrive;
    std::string frame;
};

class Way {
public:
    double rate_bps = 0;
    std::int64_t queue_bytes = 0;
    int free_bytes = 0;  // of a packet's IP length, not charged: options that the simulator does not count
    std::vector<Step> delays;
    std::vector<Outage> outages;

    // Whether the packet goes on the line at all, and when it arrives (kNever: lost there).
    bool transmit(Time now, std::int64_t bytes, Time& arrive) {
        const Time start = std::max(now, busy_);
        const auto service = static_cast<Time>(8e9 / rate_bps * static_cast<double>(bytes) + 0.5);
        const auto limit = static_cast<Time>(8e9 / rate_bps * static_cast<double>(queue_bytes) + 0.5);
        if (start - now + service > limit) return false;
        busy_ = start + service;
        arrive = kNever;
        for (const Outage& dark : outages)
            if (busy_ > dark.from && start < dark.to) return true;
        Time delay = delays.front().delay;
        for (const Step& step : delays)
            if (step.from <= busy_) delay = step.delay;
        arrive = last_ = std::max(last_, busy_ + delay);
        return true;
    }

    std::deque<Packet> flying;

private:
    Time busy_ = 0, last_ = 0;
};

}  // namespace trajectory
