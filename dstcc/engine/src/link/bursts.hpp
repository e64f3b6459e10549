// Gilbert and Elliott's chain of two states, by service slot.
#pragma once

#include "core/base.hpp"

namespace dstcc {

// Gilbert and Elliott's two states (Bell System Technical Journal 39 and 42): from slot to slot good turns bad with
// probability p and bad turns good with r, so sojourns are geometric with means 1/p and 1/r, and the bad state's share
// is p / (p + r).
//
// The slots are cut into blocks of at least kCycles mean cycles (1/p + 1/r slots each). Every block starts anew from the
// stationary distribution, with draws keyed by its number: idle time is skipped at the cost of a block at most, whatever its
// length, and the cut shortens mean sojourns by less than 1 in kCycles.
class Bursts {
public:
    Bursts() = default;
    Bursts(double p, double r, const Stream& draws);
    bool bad(std::int64_t slot) {  // slots of one block must rise
        if (slot >= end_ || slot < begin_) advance(slot);
        return bad_;
    }
    std::int64_t end() const { return end_; }      // of the sojourn of the last slot that was asked about
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

}  // namespace dstcc
