#include "link/loss.hpp"

#include <algorithm>

namespace dstcc {

Bursts::Bursts(double p, double r, const Stream& draws) : p_(p), r_(r), draws_(draws) {
    // A state that is never left has one block for ever.
    if (p > 0 && r > 0) block_log2_ = std::min(62, static_cast<int>(std::ceil(std::log2(kCycles * (1 / p + 1 / r)))));
}

void Bursts::enter_block(std::int64_t block) {
    block_ = block;
    // A block of 2^b slots has at most as many sojourns, and one draw for its first state.
    next_draw_ = static_cast<std::uint64_t>(block) << (block_log2_ + 1);
    ++drawn_;
    const bool bad = draws_.uniform(next_draw_++) <= p_ / (p_ + r_);
    bad_ = !bad;  // turned once when the first sojourn opens
    begin_ = end_ = block << block_log2_;
}

void Bursts::advance(std::int64_t slot) {
    const std::int64_t block = slot >> block_log2_;
    if (block != block_ || slot < begin_) enter_block(block);
    const std::int64_t last = ((block << block_log2_) - 1) + (std::int64_t{1} << block_log2_);  // of this block
    while (slot >= end_) {
        bad_ = !bad_;
        const double leave = bad_ ? r_ : p_;
        ++drawn_;
        const double u = draws_.uniform(next_draw_++);
        const double slots = leave >= 1.0   ? 1.0
                             : leave <= 0.0 ? 9e18
                                            : 1.0 + std::floor(std::log(u) / std::log1p(-leave));
        begin_ = end_;
        end_ = slots > static_cast<double>(last - end_) ? last + 1 : end_ + static_cast<std::int64_t>(slots);
    }
}

LossProcess::LossProcess(const LossConfig& config, Time slot_ns, std::uint64_t seed, std::uint64_t link,
                         std::uint64_t direction)
    : config_(config),
      draws_(seed, kStreamLoss, link, direction),
      packet_threshold_(to_threshold(config.rate)),
      good_threshold_(to_threshold(config.good)),
      bad_threshold_(to_threshold(config.bad)) {
    if (config.kind == LossKind::kPeriodic) period_ = std::max<std::int64_t>(1, std::llround(1.0 / config.rate));
    if (config.kind == LossKind::kFrames)
        error_rate_ =
            ErrorRate(config.frames, static_cast<double>(slot_ns), Stream(seed, kStreamGain, link, direction));
    if (config.kind == LossKind::kGilbertElliott)
        bursts_ = Bursts(config.p, config.r, Stream(seed, kStreamSojourn, link, direction));
}

std::uint64_t LossProcess::size_threshold(std::uint32_t bytes) {
    // 1 - (1 - ber)^(8 bytes), without cancellation for small ber
    const double p = config_.rate >= 1.0 ? 1.0 : -std::expm1(8.0 * bytes * std::log1p(-config_.rate));
    cached_bytes_ = bytes;
    packet_threshold_ = to_threshold(p);
    return packet_threshold_;
}

}  // namespace dstcc
