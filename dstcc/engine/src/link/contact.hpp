// When a sender that knows its link's outages and light times begins a handshake.
//
// A SYN passes at u if its service [u, u + s] lies outside every outage of its direction, and so does its answer's,
// [a(u), a(u) + s'] with a(u) = u + s + delay(u + s), outside those of the way back (by the other end's clock):
//
// where services are those at the plan's rates:
//
//     opening(t) = the least u >= t that passes
//     reopening(u) = the least opening after something has been in the way since u, which passes
//
// Queues are not foreseen: what others send may still carry a SYN into an outage.
#pragma once

#include <algorithm>

#include "link/delay.hpp"
#include "link/rate_steps.hpp"

namespace dstcc {

constexpr Time kForeverNs =
    1'000'000'000 * static_cast<Time>(kNsPerS);  // the longest time of a scenario: such an outage has no end

class ContactPlan {
public:
    ContactPlan(const LinkConfig& link, int header_bytes)
        : syn_(service(link.rate_bps, header_bytes)),
          answer_(service(link.up_rate_bps, header_bytes)),
          down_(link.outages_ns),
          up_(link.up_outages_ns),
          delay_(link.delay_t_ns, link.delay_ns, link.delay_slope),
          rate_(RateSteps::planned(link, false)),
          up_rate_(RateSteps::planned(link, true)) {}

    // kNever if nothing passes any more.
    Time opening(Time at) const {
        while (at < kForeverNs) {
            at = clear(down_, at, rate_, syn_);
            if (at >= kForeverNs) break;
            const Time arrives = arrival(at), answered = clear(up_, arrives, up_rate_, answer_);
            if (answered == arrives) return at;
            if (answered >= kForeverNs) break;
            at = std::max(at + 1, departure(answered));
        }
        return kNever;
    }
    Time reopening(Time at) const {
        const Time sending = end_after(down_, at), answering = end_after(up_, arrival(at));
        return std::min(opening(sending), opening(answering < kForeverNs ? departure(answering) : kNever));
    }
    // Can data be sent at `at`, and how long does that stay so (kNever: for good)?
    struct Contact {
        bool up = true;
        Time change_ns = kNever;
    };
    Contact contact(Time at) const {
        const auto next = after(down_, at);
        if (next == down_.end()) return {};
        const bool up = at < next->first;
        return {up, (up ? next->first : next->second) - at};
    }
    // Propagation delay of what leaves at `at`: light time, as any mission planner knows it.
    Time light_ns(Time at) const { return delay_.at(at); }

private:
    using Outages = std::vector<std::pair<Time, Time>>;

    static Time service(double rate_bps, int bytes) {
        return static_cast<Time>(8.0 * kNsPerS / rate_bps * bytes + 0.5);
    }
    Time arrival(Time at) const {
        const Time departs = rate_.finish(at, syn_);
        return departs + delay_.at(departs);
    }
    // When the service begins that ends in time for it.
    Time departure(Time arrives) const {
        const Time departs = delay_.latest_departure(arrives);
        if (rate_.steady()) return departs - syn_;
        return static_cast<Time>(rate_.reach(std::max(rate_.done(departs) - static_cast<double>(syn_), 0.0)));
    }
    // The first outage that ends after `at`.
    static Outages::const_iterator after(const Outages& outages, Time at) {
        return std::partition_point(outages.begin(), outages.end(),
                                    [at](const auto& outage) { return outage.second <= at; });
    }
    static Time clear(const Outages& outages, Time at, const RateSteps& rate, Time service) {
        for (auto next = after(outages, at); next != outages.end() && rate.finish(at, service) > next->first; ++next)
            at = std::max(at, next->second);
        return at;
    }
    static Time end_after(const Outages& outages, Time at) {
        const auto next = after(outages, at);
        return next == outages.end() ? kNever : next->second;
    }

    Time syn_, answer_;
    Outages down_, up_;
    DelayTable delay_;
    RateSteps rate_, up_rate_;
};

}  // namespace dstcc
