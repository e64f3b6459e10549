// A line whose rate changes: in steps, each a share of the most. Work is counted in time at the most rate:
//
//     work(a, b) = integral of share from a to b;   finish(a, w) = the least b with work(a, b) >= w
//
// A packet that is in service when the rate changes goes on at the new one. Without steps work is time.
#pragma once

#include <cmath>

#include "core/config.hpp"

namespace dstcc {

class RateSteps {
public:
    RateSteps() = default;
    explicit RateSteps(const Shares& shares) : t_(shares.t_ns), share_(shares.share) {
        for (std::size_t row = 0; row < t_.size(); ++row)
            done_.push_back(row == 0 ? 0 : done_.back() + static_cast<double>(t_[row] - t_[row - 1]) * share_[row - 1]);
    }
    // What the contact plan has of a direction, and what the line does.
    static RateSteps planned(const LinkConfig& link, bool up) { return RateSteps(up ? link.up_rate : link.rate); }
    static RateSteps actual(const LinkConfig& link, bool up) {
        return RateSteps(up ? link.up_rate : product(link.rate, link.hidden));
    }
    bool steady() const { return t_.empty(); }

    double share_at(Time at) const { return steady() ? 1 : share_[row_at(at)]; }

    // In whole nanoseconds, rounded up; no later than kFar.
    Time finish(Time at, Time work) const {
        if (steady()) return at + work;
        auto left = static_cast<double>(work);
        for (std::size_t row = row_at(at);; ++row) {
            const Time end = row + 1 < t_.size() ? t_[row + 1] : kNever;
            const double needs = left / share_[row];
            if (end == kNever || needs <= static_cast<double>(end - at))
                return needs > static_cast<double>(kFar - at) ? std::max(at, kFar)
                                                              : at + static_cast<Time>(std::ceil(needs - kRounding));
            left -= static_cast<double>(end - at) * share_[row];
            at = end;
        }
    }

    double work(Time from, Time to) const {
        if (steady()) return static_cast<double>(to - from);
        double done = 0;
        for (std::size_t row = row_at(from); from < to; ++row) {
            const Time end = row + 1 < t_.size() ? std::min(t_[row + 1], to) : to;
            done += static_cast<double>(end - from) * share_[row];
            from = end;
        }
        return done;
    }

    // work(0, at), and the time at which so much is done.
    double done(Time at) const {
        if (steady()) return static_cast<double>(at);
        const std::size_t row = row_at(at);
        return done_[row] + static_cast<double>(at - t_[row]) * share_[row];
    }
    double reach(double work) const {
        if (steady()) return work;
        const auto after = std::upper_bound(done_.begin() + 1, done_.end(), work);
        const auto row = static_cast<std::size_t>(after - done_.begin()) - 1;
        return static_cast<double>(t_[row]) + (work - done_[row]) / share_[row];
    }
    // The change that holds at `at`, and the next one.
    Time change_before(Time at) const { return steady() ? 0 : t_[row_at(at)]; }
    Time change_after(Time at) const {
        const std::size_t next = steady() ? 0 : row_at(at) + 1;
        return next < t_.size() ? t_[next] : kNever;
    }

private:
    static constexpr double kRounding = 1e-6;  // of a nanosecond: what divisions leave of whole ones
    static constexpr Time kFar = kNever / 4;   // 73 years, to which a delay can be added
    // Sought near where the last search ended, so that times that rise cost little.
    std::size_t row_at(Time at) const { return row_ = row_before(t_, at, row_); }
    static Shares product(const Shares& one, const Shares& other) {
        if (one.t_ns.empty() || other.t_ns.empty()) return one.t_ns.empty() ? other : one;
        Shares both;
        std::size_t i = 0, j = 0;
        for (Time at = 0; at < kNever;) {
            both.t_ns.push_back(at);
            both.share.push_back(one.share[i] * other.share[j]);
            const Time first = i + 1 < one.t_ns.size() ? one.t_ns[i + 1] : kNever;
            const Time second = j + 1 < other.t_ns.size() ? other.t_ns[j + 1] : kNever;
            at = std::min(first, second);
            i += first == at ? 1 : 0;
            j += second == at ? 1 : 0;
        }
        return both;
    }

    std::vector<Time> t_;
    std::vector<double> share_, done_;
    mutable std::size_t row_ = 0;
};

}  // namespace dstcc
