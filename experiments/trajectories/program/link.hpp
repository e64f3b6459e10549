// SPDX-License-Identifier: GPL-2.0
// One direction of the scripted link, with the simulator's own arithmetic (dstcc/engine/src/link/direction.hpp):
//
//   start = max(now, busy);  depart = start + bytes / rate;  arrive = depart + delay(depart), never before the packet ahead
//
// A packet that would leave the queue longer than its limit is dropped; one whose service an outage touches is lost. What
// computing takes there and here must decide neither: a packet that comes too near to the last place, to an outage's edge,
// or to a packet of another lane of which one is dropped, ends the program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <stdexcept>
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
    std::size_t lane;
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
    bool transmit(Time now, std::int64_t bytes, std::size_t lane, Time& arrive) {
        const Time start = std::max(now, busy_);
        const auto service = static_cast<Time>(8e9 / rate_bps * static_cast<double>(bytes) + 0.5);
        const auto limit = static_cast<Time>(8e9 / rate_bps * static_cast<double>(queue_bytes) + 0.5);
        const Time excess = start - now + service - limit;
        if (near(excess)) refuse(now, lane, "the queue's last place");
        const bool taken = excess <= 0;
        if (lane != last_lane_ && taken != last_taken_ && near(now - last_now_))
            refuse(now, lane, "another lane's, and one of the two is dropped");
        last_now_ = now;
        last_lane_ = lane;
        last_taken_ = taken;
        if (!taken) return false;
        busy_ = start + service;
        arrive = kNever;
        for (const Outage& dark : outages) {
            if (near(busy_ - dark.from) || near(start - dark.to)) refuse(now, lane, "an outage's edge");
            if (busy_ > dark.from && start < dark.to) return true;
        }
        arrive = last_ = std::max(last_, busy_ + delay(busy_));
        return true;
    }
    // When a packet arrives that takes no time of the line; none overtakes another.
    Time pass(Time now) const { return std::max(last_, now + delay(now)); }
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
    static constexpr Time kNear =
        5'000;  // what some looks at the clock take (RELAY_NS of trajectory.py), and half of that
    static bool near(Time between) { return -kNear < between && between < kNear; }
    [[noreturn]] static void refuse(Time now, std::size_t lane, const std::string& what) {
        throw std::runtime_error("cannot be scripted: at " + std::to_string(now) + " ns a packet of lane " +
                                 std::to_string(lane) + " is within " + std::to_string(kNear) + " ns of " + what);
    }

    Time busy_ = 0, last_ = 0, last_now_ = 0;
    std::size_t last_lane_ = 0;
    bool last_taken_ = true;
};

}  // namespace trajectory
