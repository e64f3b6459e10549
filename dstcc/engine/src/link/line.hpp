// A transmitter that knows when its link is dark, and its rate over time: what a contact plan tells a station.
//
// It starts nothing that an outage would cut: the next start of a transmission of length s at or after t is
//
//     fit(t, s) = the least u >= t with [u, u + s] outside every outage,
//
// and work of length w begun at t is done at finish(t, w), the outages in between passed over. Lengths are those at the
// plan's rates (link/rate_steps.hpp).
#pragma once

#include <algorithm>

#include "link/direction.hpp"

namespace dstcc {

class Line {
public:
    Line() = default;
    // `told_bps` above 0 spaces transmissions at that wire rate, always, instead of the plan's.
    Line(const LinkConfig& link, bool up, std::uint64_t seed, std::uint64_t index, std::uint32_t full_bytes,
         double told_bps)
        : direction_(link, up, seed, index, full_bytes),
          outages_(up ? link.up_outages_ns : link.outages_ns),
          ns_per_byte_(8.0 * kNsPerS /
                       (told_bps > 0 ? told_bps
                        : up         ? link.up_rate_bps
                                     : link.rate_bps)),
          full_bytes_(full_bytes),
          full_gap_(gap_of(full_bytes)),
          plan_(RateSteps::planned(link, up)),
          pace_(told_bps > 0 ? RateSteps() : plan_) {}

    // `departs_ns`: the end of service, which is when the timers of RFC 5326 start; where the queue was full, now.
    struct Sent {
        Time arrives_ns, departs_ns, waited_ns;
    };
    Sent transmit(Time now, std::uint32_t bytes) {
        const auto passage = direction_.transmit(now, bytes);
        free_ns_ = pace_.finish(now, bytes == full_bytes_ ? full_gap_ : gap_of(bytes));
        while (outage_ < outages_.size() && outages_[outage_].second <= now) ++outage_;
        return {passage.arrive_ns, passage.wait_ns < 0 ? now : direction_.busy_ns(), passage.wait_ns};
    }

    Time free_ns() const { return free_ns_; }
    double ns_per_byte() const { return ns_per_byte_; }  // at the most rate
    // The share of the most rate that transmissions keep to at a time.
    double share_at(Time at) const { return pace_.share_at(at); }
    double rate_bps(Time at) const { return 8.0 * kNsPerS / ns_per_byte_ * share_at(at); }
    // How long a full packet takes that leaves at `at`, by the plan.
    Time full_service_ns(Time at) const { return plan_.finish(at, direction_.slot_ns()) - at; }
    Direction& direction() { return direction_; }
    const Direction& direction() const { return direction_; }

    Time fit(Time at, Time service) const {
        if (outage_ == outages_.size()) return at;
        for (std::size_t i = first_after(at); i < outages_.size() && plan_.finish(at, service) > outages_[i].first; ++i)
            at = outages_[i].second;
        return at;
    }
    Time fit_bytes(Time at, std::uint32_t bytes) const {
        if (outage_ == outages_.size()) return at;
        return fit(at, direction_.service_ns(bytes));
    }
    Time finish(Time at, Time work) const {
        for (std::size_t i = first_after(at); i < outages_.size(); ++i) {
            const Time dark = std::max(outages_[i].first, at);
            const Time lit = pace_.steady() ? dark - at : static_cast<Time>(pace_.work(at, dark));
            if (work <= lit) break;
            work -= lit;
            at = outages_[i].second;
        }
        return pace_.finish(at, work);
    }

private:
    Time gap_of(std::uint32_t bytes) const { return std::max<Time>(static_cast<Time>(ns_per_byte_ * bytes + 0.5), 1); }
    // The first outage that ends after `at`, which is no earlier than the last transmission.
    std::size_t first_after(Time at) const {
        const auto from = outages_.begin() + static_cast<std::ptrdiff_t>(outage_);
        const auto found =
            std::partition_point(from, outages_.end(), [at](const auto& outage) { return outage.second <= at; });
        return static_cast<std::size_t>(found - outages_.begin());
    }
    Direction direction_;
    std::vector<std::pair<Time, Time>> outages_;
    std::size_t outage_ = 0;
    double ns_per_byte_ = 0;
    std::uint32_t full_bytes_ = 0;
    Time full_gap_ = 0, free_ns_ = 0;
    RateSteps plan_, pace_;
};

}  // namespace dstcc
