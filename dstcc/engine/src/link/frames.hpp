// Loss by code frames: a coded link loses whole frames, and every packet that has a bit in one of them.
//
// The direction is a stream of bits, cut into frames of k information bits: frame f covers [f Tf, (f + 1) Tf), Tf = k / rate,
// in time at the line's most rate (link/rate_steps.hpp), which is time where that is constant. A packet of b bytes lies
// where its service does, most often from the middle of a frame on, and is lost when any frame with one of its bits is
// erased. So packets that share a frame share its fate (losses cluster), and a packet alone is in 1 + (8 b - 1) / k frames
// on average (dstcc_channels/spans.py has the probabilities). Bits are taken at their middle, which half a bit of rounding
// does not move into another frame.
//
// Frame f is erased when its own number U_f, uniform in [0, 1), is below FER. The numbers are hashes of (seed, link,
// direction, f), arranged so that most frames need not be looked at: of the 64 in a group the least one is drawn first,
//
//     M = 1 - (1 - u)^(1/64),   P(M >= x) = (1 - x)^64,
//
// and unless it is below FER no frame of the group is erased. Where it stands is a uniform draw, and the others are uniform
// above it, U_f = M + (1 - M) v_f. So all are independent and uniform, and more signal never erases another frame.
#pragma once

#include "link/error_rate.hpp"
#include "link/loss.hpp"

namespace dstcc {

class FrameLoss {
public:
    FrameLoss() = default;
    FrameLoss(const std::shared_ptr<const FrameSchedule>& schedule, double rate_bps, const RateSteps& steps,
              std::uint32_t full_bytes, std::uint64_t seed, std::uint64_t link, std::uint64_t direction)
        : frames_(seed, kStreamFrame, link, direction),
          groups_(seed, kStreamFrameGroup, link, direction),
          rate_(schedule, static_cast<double>(schedule->frame_bits) * kNsPerS / rate_bps,
                Stream(seed, kStreamGain, link, direction), steps, ErrorRate::Clock::kWork),
          frames_per_bit_(1.0 / static_cast<double>(schedule->frame_bits)),
          full_bytes_(full_bytes) {}

    bool lost(Time start, std::uint32_t bytes) {
        if (start >= clear_from_ns_ && start < clear_to_ns_ && bytes <= full_bytes_) return false;
        return first_erased(start, bytes) >= 0;
    }
    // No packet that starts from `start` on and before then is lost, as far as that is known.
    Time clear_until(Time start) const { return start >= clear_from_ns_ ? clear_to_ns_ : start; }
    bool erased(std::int64_t frame) { return first_of(frame, frame + 1) >= 0; }
    // The first erased frame of a packet whose service starts then; -1 if none.
    std::int64_t first_erased(Time start, std::uint32_t bytes) {
        const double begin = rate_.place(start);
        return first_of(static_cast<std::int64_t>(begin + 0.5 * frames_per_bit_),
                        static_cast<std::int64_t>(begin + (8.0 * bytes - 0.5) * frames_per_bit_) + 1);
    }
    Time begin_of(std::int64_t frame) const { return rate_.begin_of(frame); }
    double frame_ns() const { return rate_.unit_ns(); }
    double bit_ns() const { return rate_.unit_ns() * frames_per_bit_; }

private:
    static constexpr int kGroupLog2 = 6;
    static constexpr std::int64_t kMostGroups = 8;  // of a clear span: looking further would be in vain on idle links
    void enter(std::int64_t frame);
    // The first erased frame of [frame, end); -1 if none.
    std::int64_t first_of(std::int64_t frame, std::int64_t end) {
        while (frame < end) {
            if (frame < span_begin_ || frame >= span_end_) enter(frame);
            if (clear_) {
                frame = span_end_;
                continue;
            }
            if (frame == least_ || frames_.bits(static_cast<std::uint64_t>(frame)) < threshold_) return frame;
            ++frame;
        }
        return -1;
    }

    Stream frames_, groups_;
    ErrorRate rate_;
    double frames_per_bit_ = 1;
    double error_rate_ = 0, group_rate_ = 0;      // of a frame, and of any in a group
    std::int64_t span_begin_ = 0, span_end_ = 0;  // frames of one error rate, in one group or in clear ones
    bool clear_ = false;                          // none of them is erased
    std::int64_t least_ = -1;                     // if not clear: this one is,
    std::uint64_t threshold_ = 0;                 // and those whose draw is below
    std::uint32_t full_bytes_ = 0;
    Time clear_from_ns_ = 0, clear_to_ns_ = 0;  // starts of packets, full or shorter, that lie within a clear span
};

}  // namespace dstcc
