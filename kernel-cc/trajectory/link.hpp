// SPDX-License-Identifier: GPL-2.0
// One direction of the scripted link, with the simulator's own arithmetic (dstcc/engine/src/link/direction.hpp):
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

struct Row {
    Time at, delay;  // straight lines in between
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
    std::vector<Row> delays;
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
        arrive = last_ = std::max(last_, busy_ + delay(busy_));
        return true;
    }
    Time delay(Time at) const {
        std::size_t next = 0;
        while (next < delays.size() && delays[next].at <= at) ++next;
        if (next == 0) return delays.front().delay;
        const Row& from = delays[next - 1];
        if (next == delays.size()) return from.delay;
        const double share = static_cast<double>(at - from.at) / static_cast<double>(delays[next].at - from.at);
        return from.delay + static_cast<Time>(share * static_cast<double>(delays[next].delay - from.delay) + 0.5);
    }

    std::deque<Packet> flying;

private:
    Time busy_ = 0, last_ = 0;
};

}  // namespace trajectory
