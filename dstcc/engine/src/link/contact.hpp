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
// Over nodes a SYN's answer may wait on its way, and only the first hop is looked at. Queues are not foreseen: what others send may still carry a SYN into an outage.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "link/delay.hpp"
#include "link/rate_steps.hpp"

namespace dstcc {

constexpr Time kForeverNs =
    1'000'000'000 * static_cast<Time>(kNsPerS);  // the longest time of a scenario: such an outage has no end

// One direction of a link as the plan has it. The next start of a transmission of length s at or after t is
//
//     fit(t, s) = the least u >= t with [u, finish(u, s)] outside every outage
class PlannedWay {
public:
    using Outages = std::vector<std::pair<Time, Time>>;

    PlannedWay(const LinkConfig& link, bool up)
        : ns_per_byte_(8.0 * kNsPerS / (up ? link.up_rate_bps : link.rate_bps)),
          outages_(up ? link.up_outages_ns : link.outages_ns),
          rate_(RateSteps::planned(link, up)) {}

    double ns_per_byte() const { return ns_per_byte_; }  // at the most rate
    Time service_ns(std::uint32_t bytes) const { return static_cast<Time>(ns_per_byte_ * bytes + 0.5); }
    const RateSteps& rate() const { return rate_; }
    const Outages& outages() const { return outages_; }
    // The first outage that ends after `at`.
    Outages::const_iterator outage_after(Time at) const {
        return std::partition_point(outages_.begin(), outages_.end(),
                                    [at](const auto& outage) { return outage.second <= at; });
    }
    Time fit(Time at, Time service) const {
        return outages_.empty() || at >= outages_.back().second ? at : fit_between_outages(at, service);
    }
    Time end_after(Time at) const {
        const auto next = outage_after(at);
        return next == outages_.end() ? kNever : next->second;
    }

private:
    [[gnu::noinline]] Time fit_between_outages(Time at, Time service) const {
        for (auto next = outage_after(at); next != outages_.end() && rate_.finish(at, service) > next->first; ++next)
            at = std::max(at, next->second);
        return at;
    }

    double ns_per_byte_;
    Outages outages_;
    RateSteps rate_;
};

class ContactPlan {
public:
    ContactPlan(const LinkConfig& link, int header_bytes)
        : down_(link, false),
          up_(link, true),
          delay_(delay_of(splits(link) ? first_hop(link) : link)),
          syn_(down_.service_ns(static_cast<std::uint32_t>(header_bytes))),
          answer_(up_.service_ns(static_cast<std::uint32_t>(header_bytes))),
          over_nodes_(!link.onward.empty() && !splits(link)) {
        if (splits(link)) whole_ = delay_of(link);
    }

    // kNever if nothing passes any more.
    Time opening(Time at) const {
        while (at < kForeverNs) {
            at = down_.fit(at, syn_);
            if (at >= kForeverNs) break;
            if (over_nodes_) return at;
            const Time arrives = arrival(at), answered = up_.fit(arrives, answer_);
            if (answered == arrives) return at;
            if (answered >= kForeverNs) break;
            at = std::max(at + 1, departure(answered));
        }
        return kNever;
    }
    Time reopening(Time at) const {
        if (over_nodes_) return opening(down_.end_after(at));
        const Time sending = down_.end_after(at), answering = up_.end_after(arrival(at));
        return std::min(opening(sending), opening(answering < kForeverNs ? departure(answering) : kNever));
    }
    // Can data be sent at `at`, and how long does that stay so (kNever: for good)?
    struct Contact {
        bool up = true;
        Time change_ns = kNever;
    };
    Contact contact(Time at) const {
        const auto next = down_.outage_after(at);
        if (next == down_.outages().end()) return {};
        const bool up = at < next->first;
        return {up, (up ? next->first : next->second) - at};
    }
    // Propagation delay of what leaves at `at`: light time, as any mission planner knows it.
    Time light_ns(Time at) const { return (whole_ ? *whole_ : delay_).at(at); }
    // Of the data, and of what answers it.
    const PlannedWay& down() const { return down_; }
    const PlannedWay& up() const { return up_; }

private:
    static DelayTable delay_of(const LinkConfig& link) { return {link.delay_t_ns, link.delay_ns, link.delay_slope}; }
    Time arrival(Time at) const {
        const Time departs = down_.rate().finish(at, syn_);
        return departs + delay_.at(departs);
    }
    // When the service begins that ends in time for it.
    Time departure(Time arrives) const {
        const RateSteps& rate = down_.rate();
        const Time departs = delay_.latest_departure(arrives);
        if (rate.steady()) return departs - syn_;
        return static_cast<Time>(rate.reach(std::max(rate.done(departs) - static_cast<double>(syn_), 0.0)));
    }

    PlannedWay down_, up_;
    DelayTable delay_;
    std::optional<DelayTable> whole_;  // of a path whose first node answers
    Time syn_, answer_;
    bool over_nodes_;
};

}  // namespace dstcc
