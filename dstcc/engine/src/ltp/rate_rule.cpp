#include "ltp/rate_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "coding/blocks.hpp"

namespace dstcc {

namespace {

// ECLSA's constants: FEEDBACK_DEFAULT_WEIGHT, FEEDBACK_DEFAULT_RELIABILITY_THRESHOLD, FEEDBACK_DEFAULT_MARGIN, FEC_MAX_RC and
// FEC_MIN_RC.
constexpr double kWeight = 0.5, kReliable = 65, kMargin = 1.15, kMostRate = 8.0 / 9, kLeastRate = 2.0 / 3;
constexpr double kRounding = 1e-9;  // of a product that is whole but for its last bits
constexpr std::size_t kShort = 8, kLong = 32;
constexpr std::array kLevelEnds = {0.0, 0.01, 0.02, 0.04, 0.08, 0.16};

std::int64_t up(double segments) { return static_cast<std::int64_t>(std::ceil(segments - kRounding)); }

}  // namespace

void RateRule::heard(std::int64_t sent, std::int64_t received, bool whole) {
    if (sent <= 0) return;
    const double segments = static_cast<double>(sent), arrived = static_cast<double>(received) / segments;
    const double weight = !whole ? 1 : kWeight * std::min(1.0, segments / kReliable);
    success_ = weight * arrived + (1 - weight) * success_;
    for (std::int64_t i = 0; i < sent; ++i) losses_.packet(i >= received);
    losses_.block(segments, segments - static_cast<double>(received));
    last_.push_front(1 - arrived);
    if (last_.size() > kLong) last_.pop_back();
}

std::int64_t RateRule::repair(std::size_t layer, const PlannedLayer& matrix, double bytes) {
    const auto source = static_cast<double>(matrix.source);
    std::int64_t wanted = 0;
    switch (coding_->law) {
        case RateLaw::kShares:
            wanted = up(share(layer) * source);
            break;
        case RateLaw::kAuto:
            wanted = rule_.plan({matrix}, bytes, losses_)[0];
            break;
        case RateLaw::kFeedback:
            wanted = up(source / std::clamp(1 - kMargin * (1 - success_), kLeastRate, kMostRate)) - matrix.source +
                     wanted_extra(coding_->code);
            break;
        case RateLaw::kTable:
            wanted = up(coding_->table[static_cast<std::size_t>(state())] * source);
            break;
    }
    return std::min(wanted, matrix.most_repair);
}

std::int64_t RateRule::level(double lost) {
    const auto* const end = std::lower_bound(kLevelEnds.begin(), kLevelEnds.end(), lost - kRounding);
    return 1 + (end - kLevelEnds.begin());
}

std::int64_t RateRule::state() const {
    if (last_.empty()) return 0;
    const auto newest = last_.begin();
    const auto recent = static_cast<std::ptrdiff_t>(std::min(last_.size(), kShort));
    const double mean = std::accumulate(newest, newest + recent, 0.0) / static_cast<double>(recent);
    const double most = *std::max_element(newest, last_.end());
    return (level(*newest) * kLevels + level(mean)) * kLevels + level(most);
}

}  // namespace dstcc
