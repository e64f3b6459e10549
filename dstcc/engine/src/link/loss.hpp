// Loss by service slot: independent packets, independent bits (at a rate that may change), bursts, or every so many
// packets.
//
// The draw of a slot is a hash of (seed, link, direction, slot), so nothing is stored per slot and any slot can be asked
// for at once. to_threshold turns a probability into the bound below which a 64-bit draw is a loss.
#pragma once

#include <cmath>

#include "link/error_rate.hpp"

namespace dstcc {

// Probability 1 saturates (one draw in 2^64 survives it).
inline std::uint64_t to_threshold(double probability) {
    if (probability >= 1.0) return UINT64_MAX;
    return static_cast<std::uint64_t>(std::ldexp(probability, 64));
}

// Gilbert and Elliott's two states (Bell System Technical Journal 39 and 42): from slot to slot good turns bad with
// probability p and bad turns good with r, so sojourns are geometric with means 1/p and 1/r, and the bad state's share
// is p / (p + r).
//
// The slots are cut into blocks of at least kCycles mean cycles (1/p + 1/r slots each). Every block starts anew from the
// stationary law, with draws keyed by its number: idle time is skipped at the cost of a block at most, whatever its
// length, and the cut shortens mean sojourns by less than 1 in kCycles.
class Bursts {
public:
    Bursts() = default;
    Bursts(double p, double r, const Stream& draws);
    bool bad(std::int64_t slot) {  // slots of one block must rise
        if (slot >= end_ || slot < begin_) advance(slot);
        return bad_;
    }
    std::int64_t drawn() const { return drawn_; }  // since the start, for tests

private:
    static constexpr double kCycles = 2048;
    void advance(std::int64_t slot);
    void enter_block(std::int64_t block);

    double p_ = 0, r_ = 1;
    Stream draws_;
    int block_log2_ = 62;
    std::int64_t block_ = -1, begin_ = 0, end_ = 0, drawn_ = 0;
    std::uint64_t next_draw_ = 0;
    bool bad_ = false;
};

class LossProcess {
public:
    LossProcess() = default;
    LossProcess(const LossConfig& config, Time slot_ns, std::uint64_t seed, std::uint64_t link,
                std::uint64_t direction);
    // Whether the `nth` packet of a slot is lost. Slots must rise.
    bool lost(std::int64_t slot, std::uint32_t nth, std::uint32_t bytes) {
        if (config_.kind == LossKind::kNone) return false;
        if (config_.kind == LossKind::kPeriodic) return ++served_ % period_ == 0;
        return draws_.bits(static_cast<std::uint64_t>(slot) + (std::uint64_t{nth} << 48)) < threshold(slot, bytes);
    }
    const Bursts& bursts() const { return bursts_; }

private:
    std::uint64_t threshold(std::int64_t slot, std::uint32_t bytes) {
        if (config_.kind == LossKind::kPacket) return packet_threshold_;
        if (config_.kind == LossKind::kGilbertElliott) return bursts_.bad(slot) ? bad_threshold_ : good_threshold_;
        if (config_.kind == LossKind::kFrames && !error_rate_.covers(slot)) set_bit_errors(error_rate_.enter(slot));
        return bytes == cached_bytes_ ? packet_threshold_ : size_threshold(bytes);
    }
    void set_bit_errors(double ber) {
        config_.rate = ber;
        cached_bytes_ = 0;
    }
    std::uint64_t size_threshold(std::uint32_t bytes);

    LossConfig config_;
    Stream draws_;
    Bursts bursts_;
    ErrorRate error_rate_;  // kFrames, where a frame is one bit
    std::uint64_t packet_threshold_ = 0, good_threshold_ = 0, bad_threshold_ = 0;
    std::uint32_t cached_bytes_ = 0;
    std::int64_t served_ = 0, period_ = 1;
};

}  // namespace dstcc
