#include "channel.hpp"

#include <cmath>

namespace dstcc {

namespace {

// The 64-bit draw is lost when below this; probability 1 saturates (one draw in 2^64 survives it).
std::uint64_t to_threshold(double probability) {
    if (probability >= 1.0) return UINT64_MAX;
    return static_cast<std::uint64_t>(std::ldexp(probability, 64));
}

Time interpolate(Time t0, Time t1, Time d0, Time d1, Time at) {
    const double share = static_cast<double>(at - t0) / static_cast<double>(t1 - t0);
    return d0 + static_cast<Time>(std::llround(share * static_cast<double>(d1 - d0)));
}

}  // namespace

LossProcess::LossProcess(const LossConfig& config, std::uint64_t seed, std::uint64_t link, std::uint64_t direction)
    : config_(config),
      draws_(seed, kStreamLoss, link, direction),
      sojourns_(seed, kStreamSojourn, link, direction),
      packet_threshold_(to_threshold(config.rate)),
      good_threshold_(to_threshold(config.good)),
      bad_threshold_(to_threshold(config.bad)) {
    if (config.kind == LossKind::kPeriodic) period_ = std::max<std::int64_t>(1, std::llround(1.0 / config.rate));
    if (config.kind == LossKind::kBer) packet_threshold_ = 0;
    if (config.kind == LossKind::kGilbertElliott) {
        // Start in the stationary law, so that the first hour is like any other.
        bad_state_ = sojourns_.uniform(sojourn_++) <= config.p / (config.p + config.r);
        bad_state_ = !bad_state_;  // burst_threshold toggles once when it opens the first sojourn
    }
}

std::uint64_t LossProcess::size_threshold(std::uint32_t bytes) {
    // 1 - (1 - ber)^(8 bytes), without cancellation for small ber
    const double p = config_.rate >= 1.0 ? 1.0 : -std::expm1(8.0 * bytes * std::log1p(-config_.rate));
    cached_bytes_ = bytes;
    packet_threshold_ = to_threshold(p);
    return packet_threshold_;
}

std::uint64_t LossProcess::burst_threshold(std::int64_t slot) {
    while (slot >= sojourn_end_) {
        bad_state_ = !bad_state_;
        const double leave = bad_state_ ? config_.r : config_.p;
        const double u = sojourns_.uniform(sojourn_++);
        // Geometric sojourn of mean 1/leave slots; a state that is never left lasts for ever.
        const double slots = leave >= 1.0 ? 1.0 : leave <= 0.0 ? 9e18 : 1.0 + std::floor(std::log(u) / std::log1p(-leave));
        sojourn_end_ = slots > 4e18 ? INT64_MAX : sojourn_end_ + static_cast<std::int64_t>(slots);
    }
    return bad_state_ ? bad_threshold_ : good_threshold_;
}

Direction::Direction(const LinkConfig& link, bool up, std::uint64_t seed, std::uint64_t index, std::uint32_t full_bytes)
    : ns_per_byte_(8.0 * kNsPerS / (up ? link.up_rate_bps : link.rate_bps)),
      full_bytes_(full_bytes),
      loss_(up ? link.up_loss : link.loss, seed, index, up ? 1 : 0),
      outages_(link.outages_ns),
      delay_t_ns_(link.delay_t_ns),
      delay_ns_(link.delay_ns) {
    first_delay_ns_ = delay_ns_.front();
    lossless_ = (up ? link.up_loss : link.loss).kind == LossKind::kNone;
    if (!outages_.empty()) dark_from_ns_ = outages_.front().first;
    slot_ns_ = std::max<Time>(1, service_ns(full_bytes));
    const double limit = static_cast<double>(up ? link.up_queue_bytes : link.queue_bytes) * ns_per_byte_ + 0.5;
    limit_ns_ = limit > 4e18 ? kNever : static_cast<Time>(limit);
    // Even the smallest queue holds the packet in service.
    limit_ns_ = std::max(limit_ns_, slot_ns_);
}

Time Direction::table_delay(Time at) {
    while (delay_cursor_ + 1 < delay_t_ns_.size() && at >= delay_t_ns_[delay_cursor_ + 1]) ++delay_cursor_;
    const std::size_t i = delay_cursor_;
    if (at <= delay_t_ns_[i]) return delay_ns_[i];
    if (i + 1 == delay_t_ns_.size()) return delay_ns_[i];
    return interpolate(delay_t_ns_[i], delay_t_ns_[i + 1], delay_ns_[i], delay_ns_[i + 1], at);
}

Time Direction::delay_lookup(Time at) const {
    const auto next = std::upper_bound(delay_t_ns_.begin(), delay_t_ns_.end(), at);
    if (next == delay_t_ns_.begin()) return delay_ns_.front();
    if (next == delay_t_ns_.end()) return delay_ns_.back();
    const auto i = static_cast<std::size_t>(next - delay_t_ns_.begin()) - 1;
    return interpolate(delay_t_ns_[i], delay_t_ns_[i + 1], delay_ns_[i], delay_ns_[i + 1], at);
}

}  // namespace dstcc
