// When a source of others' traffic has a packet to send: at a constant rate while on, on and off by turns.
//
//   packet k of an on period leaves at its start + k gap,   gap = 8 bytes / rate
//   periods:  constant d;   exponential, mean d;   Pareto, mean d and shape a > 1:  x_min u^(-1/a), x_min = d (a - 1) / a
//
// (Pareto periods of infinite variance, a <= 2, make aggregates long-range dependent: Willinger, Taqqu, Sherman, Wilson,
// "Self-similarity through high-variability", IEEE/ACM ToN 1997.) The first period is an on period and begins at start_ns.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/config.hpp"

namespace dstcc {

class TrafficSource {
public:
    TrafficSource(const CrossTrafficConfig& config, std::uint64_t seed, std::uint64_t link, std::uint64_t number)
        : config_(config),
          draws_(seed, kStreamTraffic, link, number),
          gap_(std::max<Time>(
              static_cast<Time>(static_cast<double>(config.packet_bytes) * 8.0 * kNsPerS / config.rate_bps), 1)),
          on_until_(after(config.start_ns, config.on_ns)) {}

    Time start() const { return config_.start_ns; }
    std::uint32_t packet_bytes() const { return static_cast<std::uint32_t>(config_.packet_bytes); }

    // Does a packet leave now? `next` is when to ask again.
    bool poll(Time now, Time& next) {
        if (now >= config_.stop_ns) {
            next = kNever;
            return false;
        }
        if (now >= on_until_) {
            next = std::max(after(on_until_, config_.off_ns), now);
            on_until_ = after(next, config_.on_ns);
            return false;
        }
        next = std::min(now + gap_, on_until_);
        return true;
    }

private:
    Time after(Time from, Time mean) {
        if (mean == kNever) return kNever;
        const double length = period(static_cast<double>(mean));
        return length >= static_cast<double>(kNever - from) ? kNever : from + static_cast<Time>(length);
    }
    double period(double mean) {
        if (config_.periods == Periods::kConstant || mean <= 0) return mean;
        const double u = draws_.uniform(drawn_++);
        const double a = config_.pareto_shape;
        const double drawn =
            config_.periods == Periods::kExponential ? -mean * std::log(u) : mean * (a - 1) / a * std::pow(u, -1 / a);
        return std::max(drawn, 1.0);  // a whole nanosecond, so that time moves on
    }

    CrossTrafficConfig config_;
    Stream draws_;
    std::uint64_t drawn_ = 0;
    Time gap_, on_until_;
};

}  // namespace dstcc
