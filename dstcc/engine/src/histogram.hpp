// A histogram of times on a logarithmic scale.
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "base.hpp"

namespace dstcc {

// Counts per 1/16 octave: a quantile within 5 % at a few instructions a packet.
class LogHistogram {
public:
    void add(Time value) { ++counts_[bin(value)]; ++total_; }
    double quantile(double q) const;

private:
    static std::size_t bin(Time value) {
        if (value <= 0) return 0;
        const auto v = static_cast<std::uint64_t>(value) << 4;
        const int top = 63 - __builtin_clzll(v);
        return static_cast<std::size_t>((top - 3) * 16 + static_cast<int>((v >> (top - 4)) & 15));
    }
    std::array<std::int64_t, 64 * 16> counts_{};
    std::int64_t total_ = 0;
};

inline double LogHistogram::quantile(double q) const {
    if (total_ == 0) return std::numeric_limits<double>::quiet_NaN();
    const auto wanted = static_cast<std::int64_t>(std::ceil(q * static_cast<double>(total_)));
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        seen += counts_[i];
        if (seen < wanted) continue;
        if (i == 0) return 0;
        const auto octave = static_cast<int>(i / 16) - 1;  // value in [2^octave, 2^(octave+1)) scaled by 16 earlier
        return std::ldexp(1.0 + (static_cast<double>(i % 16) + 0.5) / 16.0, octave);
    }
    return 0;
}

}  // namespace dstcc
