#include "link/frames.hpp"

#include <algorithm>
#include <cmath>

namespace dstcc {

void FrameLoss::enter(std::int64_t frame) {
    if (!rate_.covers(frame)) {
        error_rate_ = rate_.enter(frame);
        // 1 - (1 - p)^(2 n) from 1 - (1 - p)^n, without cancellation
        group_rate_ = error_rate_;
        for (int i = 0; i < kGroupLog2; ++i) group_rate_ *= 2 - group_rate_;
    }
    const std::int64_t group = frame >> kGroupLog2;
    span_begin_ = std::max(group << kGroupLog2, rate_.cell_begin());
    span_end_ = std::min((group + 1) << kGroupLog2, rate_.cell_end());
    const auto draw = static_cast<std::uint64_t>(group) * 2;
    const double u = groups_.uniform(draw);
    clear_ = u > group_rate_;
    if (clear_) {
        // A span of several groups is entered less often.
        for (std::int64_t next = group + 1; next < group + kMostGroups; ++next) {
            const std::int64_t end = (next + 1) << kGroupLog2;
            if (end > rate_.cell_end() || groups_.uniform(static_cast<std::uint64_t>(next) * 2) <= group_rate_) break;
            span_end_ = end;
        }
        clear_from_ns_ = begin_of(span_begin_) + 1;  // begin_of rounds down
        clear_to_ns_ = rate_.time_of(static_cast<double>(span_end_) - 8.0 * full_bytes_ * frames_per_bit_) - 1;
        return;
    }
    const double least = -std::expm1(std::log1p(-u) / (1 << kGroupLog2));
    least_ = (group << kGroupLog2) + static_cast<std::int64_t>(groups_.bits(draw + 1) >> (64 - kGroupLog2));
    threshold_ = least < 1 ? to_threshold((error_rate_ - least) / (1 - least)) : UINT64_MAX;
}

}  // namespace dstcc
