// A code's error rate over time: what becomes of Eb/N0 as the distance, the weather and the solar wind change it.
//
// The rate follows the code's curve at Eb/N0(t) + 10 log10 G. Under scintillation of index m (its rms over its mean;
// Morabito, IPN Progress Report 42-153, 2003) the power gain G is that of a Rician amplitude with mean 1 and variance m^2,
// hence K = s / (1 - s) with s = sqrt(1 - m^2), and holds for a coherence time:
//
//     G = (sqrt(s) + sigma x)^2 + (sigma y)^2,   sigma^2 = (1 - s) / 2,   x, y standard normal.
//
// Time is counted in units (frames, or service slots) and evaluated per *cell*: the units of about a second, in which Eb/N0
// moves by hundredths of a dB, or one that takes longer; at its middle, and cut where the gain or the line's rate changes.
// Which cell a unit is in depends on its number alone, so any unit can be asked for, in any order. Frames go by the line's
// work, so that a slower line has longer ones; slots by time.
#pragma once

#include "link/rate_steps.hpp"

namespace dstcc {

class ErrorRate {
public:
    ErrorRate() = default;
    enum class Clock { kWork, kTime };
    ErrorRate(std::shared_ptr<const FrameSchedule> schedule, double unit_ns, const Stream& gains, RateSteps steps,
              Clock clock);

    bool covers(std::int64_t unit) const { return unit >= cell_begin_ && unit < cell_end_; }
    std::int64_t cell_begin() const { return cell_begin_; }
    std::int64_t cell_end() const { return cell_end_; }
    double enter(std::int64_t unit);  // moves to the unit's cell and gives its rate
    // A time in units, and the other way round.
    double place(Time at) const { return (by_work_ ? steps_.done(at) : static_cast<double>(at)) * units_per_ns_; }
    Time time_of(double place) const {
        const double at = place * unit_ns_;
        return static_cast<Time>(by_work_ ? steps_.reach(at) : at);
    }
    std::int64_t unit_at(Time at) const { return static_cast<std::int64_t>(place(at)); }
    Time begin_of(std::int64_t unit) const { return time_of(static_cast<double>(unit)); }
    double unit_ns() const { return unit_ns_; }

private:
    Time cut_at_changes(std::int64_t unit);
    double gain_db(std::int64_t block, double index) const;
    double on_curve(double ebn0_db) const;

    std::shared_ptr<const FrameSchedule> schedule_;
    Stream gains_;
    double unit_ns_ = 1, units_per_ns_ = 1;
    std::int64_t cell_units_ = 1;
    RateSteps steps_;
    bool by_work_ = false;
    bool steady_ = true;  // one Eb/N0, no scintillation
    bool scintillates_ = false;
    std::size_t row_ = 0;
    std::int64_t cell_begin_ = 0, cell_end_ = 0;
};

}  // namespace dstcc
