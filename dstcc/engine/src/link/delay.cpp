#include "link/delay.hpp"

#include <algorithm>
#include <cmath>

namespace dstcc {

DelayTable::DelayTable(std::vector<Time> t_ns, std::vector<Time> delay_ns, std::vector<double> slope)
    : t_ns_(std::move(t_ns)),
      delay_ns_(std::move(delay_ns)),
      slope_(std::move(slope)),
      soonest_(t_ns_.size()) {
    Time soonest = kNever;
    for (std::size_t i = t_ns_.size(); i-- > 0;) {
        soonest = std::min(soonest, t_ns_[i] + delay_ns_[i]);
        soonest_[i] = soonest;
    }
}

// A cubic stays within the hull of its Bezier points, which are its rows and a third of a step along each slope; the
// nanosecond is for rounding.
Time DelayTable::least() const {
    double least = static_cast<double>(*std::min_element(delay_ns_.begin(), delay_ns_.end()));
    for (std::size_t row = 0; !slope_.empty() && row + 1 < t_ns_.size(); ++row) {
        const double third = static_cast<double>(t_ns_[row + 1] - t_ns_[row]) / 3;
        least = std::min({least, static_cast<double>(delay_ns_[row]) + third * slope_[row] - 1,
                          static_cast<double>(delay_ns_[row + 1]) - third * slope_[row + 1] - 1});
    }
    return std::max<Time>(static_cast<Time>(least), 0);
}

Time DelayTable::at(Time at, std::size_t& row) const {
    row = row_before(t_ns_, at, row);
    if (at <= t_ns_[row] || row + 1 == t_ns_.size()) return delay_ns_[row];
    return between(row, at);
}

Time DelayTable::between(std::size_t row, Time at) const {
    const Time d0 = delay_ns_[row];
    const auto h = static_cast<double>(t_ns_[row + 1] - t_ns_[row]),
               rise = static_cast<double>(delay_ns_[row + 1] - d0);
    const double x = static_cast<double>(at - t_ns_[row]) / h;
    if (slope_.empty()) return d0 + static_cast<Time>(std::llround(x * rise));
    const double m0 = h * slope_[row], m1 = h * slope_[row + 1];
    const double curved = x * (m0 + x * (3 * rise - 2 * m0 - m1 + x * (m0 + m1 - 2 * rise)));
    return std::max<Time>(d0 + static_cast<Time>(std::llround(curved)), 0);  // steep slopes may dip below
}

Time DelayTable::latest_in_table(Time deadline) const {
    // The last row whose packet is in time; between it and the next one arrivals pass the deadline.
    const auto next = std::upper_bound(soonest_.begin(), soonest_.end(), deadline);
    if (next == soonest_.begin()) return deadline - delay_ns_.front();
    if (next == soonest_.end()) return deadline - delay_ns_.back();
    const auto row = static_cast<std::size_t>(next - soonest_.begin()) - 1;
    Time in_time = t_ns_[row], late = t_ns_[row + 1];
    while (late - in_time > 1) {
        const Time middle = in_time + (late - in_time) / 2;
        (middle + between(row, middle) <= deadline ? in_time : late) = middle;
    }
    return in_time;
}

}  // namespace dstcc
