// A line whose rate changes: in steps, each a share of the most. Work is counted in time at the most rate:
//
//     work(a, b) = integral of share from a to b;   finish(a, w) = the least b with work(a, b) >= w
//
// A packet that is in service when the rate changes goes on at the new one.
#pragma once

#include <cmath>

#include "core/config.hpp"

namespace dstcc {

class RateSteps {
public:
    RateSteps() = default;
    RateSteps(std::vector<Time> t_ns, std::vector<double> share) : t_(std::move(t_ns)), share_(std::move(share)) {}
    bool steady() const { return t_.empty(); }

    double share_at(Time at) const { return share_[row_before(t_, at, 0)]; }

    // In whole nanoseconds, rounded up. Starts near where the last search ended, so that times that rise cost little.
    Time finish(Time at, Time work) {
        row_ = row_before(t_, at, row_);
        auto left = static_cast<double>(work);
        for (std::size_t row = row_;; ++row) {
            const Time end = row + 1 < t_.size() ? t_[row + 1] : kNever;
            const double needs = left / share_[row];
            if (end == kNever || needs <= static_cast<double>(end - at))
                return at + static_cast<Time>(std::ceil(needs - kRounding));
            left -= static_cast<double>(end - at) * share_[row];
            at = end;
        }
    }

    double work(Time from, Time to) const {
        double done = 0;
        for (std::size_t row = row_before(t_, from, 0); from < to; ++row) {
            const Time end = row + 1 < t_.size() ? std::min(t_[row + 1], to) : to;
            done += static_cast<double>(end - from) * share_[row];
            from = end;
        }
        return done;
    }

private:
    static constexpr double kRounding = 1e-6;  // of a nanosecond: what divisions leave of whole ones
    std::vector<Time> t_;
    std::vector<double> share_;
    std::size_t row_ = 0;
};

}  // namespace dstcc
