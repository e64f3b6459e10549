// A histogram of times on a logarithmic scale.
#pragma once

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/base.hpp"

namespace dstcc {

// Counts per 1/16 octave: a quantile within 5 % at a few instructions a packet.
class LogHistogram {
public:
    void add(Time value, std::int64_t times = 1) { counts_[bin(value)] += times; }
    double quantile(double q) const;

private:
    // The leading bits of the value as a double: its octave and a sixteenth of it. Bin 0 is for zero.
    static std::size_t bin(Time value) {
        const double v = static_cast<double>(value < 0 ? 0 : value);
        std::uint64_t bits;
        std::memcpy(&bits, &v, sizeof bits);
        return value <= 0 ? 0 : static_cast<std::size_t>((bits >> 48) - (std::uint64_t{1023} << 4) + 1);
    }
    std::array<std::int64_t, 64 * 16> counts_{};
};

inline double LogHistogram::quantile(double q) const {
    const std::int64_t total = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
    if (total == 0) return std::numeric_limits<double>::quiet_NaN();
    const auto wanted = static_cast<std::int64_t>(std::ceil(q * static_cast<double>(total)));
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        seen += counts_[i];
        if (seen < wanted) continue;
        if (i == 0) return 0;
        return std::ldexp(1.0 + (static_cast<double>((i - 1) % 16) + 0.5) / 16.0, static_cast<int>((i - 1) / 16));
    }
    return 0;
}

}  // namespace dstcc
