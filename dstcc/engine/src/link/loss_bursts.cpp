// gilbert-elliott: a packet is lost with the probability of the state that its slot is in.
#include "link/bursts.hpp"

#include <algorithm>
#include <cmath>

#include "link/loss.hpp"

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

namespace {

class BurstLoss final : public LossProcess {
public:
    std::unique_ptr<LossProcess> clone() const override { return std::make_unique<BurstLoss>(*this); }
    explicit BurstLoss(const LossSetup& setup)
        : draws_(setup.draws()),
          bursts_(setup.config.number("p"), setup.config.number("r"),
                  Stream(setup.seed, kStreamSojourn, setup.link, setup.direction)),
          good_(to_threshold(setup.config.number("good"))),
          bad_(to_threshold(setup.config.number("bad"))) {}
    bool lost(std::int64_t slot, std::uint32_t nth, std::uint32_t) override {
        return draws_.below(slot, nth, bursts_.bad(slot) ? bad_ : good_);
    }
    // By sojourns, of which one without losses needs no draws.
    std::int64_t first_lost(std::int64_t from, std::int64_t to, std::uint32_t) override {
        while (from < to) {
            const std::uint64_t threshold = bursts_.bad(from) ? bad_ : good_;
            const std::int64_t end = std::min(bursts_.end(), to);
            from = threshold == 0 ? end : from + draws_.first_below(from, 1, end - from, threshold);
            if (from < end) break;
        }
        return from;
    }

private:
    SlotDraws draws_;
    Bursts bursts_;
    std::uint64_t good_, bad_;
};

const Registered<LossEntry> kEntry{{"gilbert-elliott", make_loss<BurstLoss>}};

}  // namespace

}  // namespace dstcc
