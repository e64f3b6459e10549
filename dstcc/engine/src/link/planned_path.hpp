// A path over nodes that forward packets, by the contact plans of all its hops: a packet waits at a node until its next hop is lit
// for the time that a full one takes. What else waits there is in no plan.
//
//   arrival(t) = t + light of the first hop, then hop by hop    at = finish(fit(at, s), s), at += light(at)
#pragma once

#include <algorithm>
#include <vector>

#include "link/contact.hpp"

namespace dstcc {

constexpr double kLeastLit = 0.01;  // of all time, that counts
constexpr double kWaiting = 2;  // half as much goes over lines with outages, so that what waits for them is soon over

// What waits at a node for the same contact of its line.
struct Stay {
    std::size_t node = 0;  // on the path
    Time until = -1;       // names the contact; -1: nothing waits
    bool operator==(const Stay& other) const { return node == other.node && until == other.until; }
};

class PlannedPath {
public:
    // To Earth, or back.
    PlannedPath(const LinkConfig& path, bool up, std::uint32_t full_bytes) : full_bytes_(full_bytes) {
        const LinkConfig first = first_hop(path);
        if (!up) add(first, false);
        if (up)
            for (auto hop = path.onward.rbegin(); hop != path.onward.rend(); ++hop) add(hop->line, true);
        else
            for (const HopConfig& hop : path.onward) add(hop.line, false);
        if (up) add(first, true);
    }

    // Of the end's own line.
    const PlannedWay& own() const { return legs_.front().plan; }
    // Of what leaves the end's own line then: when it is at the other end, how long it waits on its way for lines to be lit, and at
    // which node for longest.
    struct Journey {
        Time arrives, waits;
        std::size_t node;
    };
    Journey journey(Time leaves) const {
        Time at = leaves + legs_.front().delay.at(leaves), waits = 0, longest = 0;
        std::size_t node = 0;
        for (std::size_t i = 1; i < legs_.size() && at < kForeverNs; ++i) {
            const PlannedWay& plan = legs_[i].plan;
            const Time service = plan.service_ns(full_bytes_), lit = plan.fit(at, service);
            waits += lit - at;
            if (lit - at > longest) {
                longest = lit - at;
                node = i - 1;
            }
            at = plan.rate().finish(lit, service);
            at += legs_[i].delay.at(at);
        }
        return {at, waits, node};
    }
    Time arrival(Time leaves) const { return journey(leaves).arrives; }
    // Of a full packet on all lines, at the rates of these times.
    Time services(Time at) const {
        Time sum = 0;
        for (const Leg& leg : legs_)
            sum += leg.plan.rate().finish(at, std::max<Time>(1, leg.plan.service_ns(full_bytes_))) - at;
        return sum;
    }

private:
    struct Leg {
        PlannedWay plan;
        DelayTable delay;
    };
    void add(const LinkConfig& line, bool up) {
        legs_.push_back({PlannedWay(line, up), DelayTable(line.delay_t_ns, line.delay_ns, line.delay_slope)});
    }

    std::uint32_t full_bytes_;
    std::vector<Leg> legs_;
};

// What a byte of one of the subflows that share it takes on the slowest line back to the sender behind the receiver's own, on average: what
// comes in an outage of the plan waits for its end. 0: there is no such line.
inline double slowest_back(const EngineConfig& config, std::size_t path) {
    const Time ends = config.planned_end();
    const auto takes = [ends](const LinkConfig& line, int subflows) {
        Time away = 0;
        for (const auto& [begin, end] : line.up_outages_ns) away += std::max<Time>(std::min(end, ends) - begin, 0);
        const double lit = ends > 0 && ends < kNever ? 1 - static_cast<double>(away) / static_cast<double>(ends) : 1;
        return subflows * 8.0 * kNsPerS / line.up_rate_bps * (lit < 1 ? kWaiting / std::max(lit, kLeastLit) : 1);
    };
    const std::vector<LinkConfig>& paths = config.links;
    const std::vector<HopConfig>& onward = paths[path].onward;
    if (onward.empty()) return 0;
    int subflows = 0;
    for (std::size_t l = 0; l < paths.size(); ++l)
        if (first_place(config, l) == first_place(config, path)) subflows += paths[l].subflows;
    double slowest = takes(paths[path], subflows);
    for (std::size_t hop = 0; hop + 1 < onward.size(); ++hop) {
        subflows = 0;
        for (const LinkConfig& other : paths)
            for (const HopConfig& one : other.onward) subflows += one.number == onward[hop].number ? other.subflows : 0;
        slowest = std::max(slowest, takes(onward[hop].line, subflows));
    }
    return slowest;
}

}  // namespace dstcc
