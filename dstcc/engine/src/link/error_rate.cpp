#include "link/error_rate.hpp"

#include <algorithm>
#include <cmath>

namespace dstcc {

namespace {

constexpr double kLn10 = 2.302585092994045684;
constexpr double kTwoPi = 6.283185307179586477;
constexpr double kDeepestDb = -200;  // a gain of 0 would have no logarithm; no curve reaches so far

}  // namespace

ErrorRate::ErrorRate(std::shared_ptr<const FrameSchedule> schedule, double unit_ns, const Stream& gains,
                     RateSteps steps, Clock clock)
    : schedule_(std::move(schedule)),
      gains_(gains),
      unit_ns_(unit_ns),
      units_per_ns_(1 / unit_ns),
      cell_units_(std::max(static_cast<std::int64_t>(kNsPerS / unit_ns), std::int64_t{1})),
      steps_(std::move(steps)),
      by_work_(clock == Clock::kWork && !steps_.steady()) {
    const auto& index = schedule_->scintillation_index;
    scintillates_ = std::any_of(index.begin(), index.end(), [](double m) { return m > 0; });
    steady_ = schedule_->t_ns.size() == 1 && !scintillates_;
}

double ErrorRate::enter(std::int64_t unit) {
    if (steady_) {
        cell_begin_ = INT64_MIN;
        cell_end_ = INT64_MAX;
        return on_curve(schedule_->ebn0_db[0]);
    }
    cell_begin_ = unit / cell_units_ * cell_units_;
    cell_end_ = cell_begin_ + cell_units_;
    const Time change = steps_.steady() ? kNever : cut_at_changes(unit);
    const Time middle = std::min((begin_of(cell_begin_) + begin_of(cell_end_)) / 2, change - 1);
    const std::vector<Time>& t = schedule_->t_ns;
    row_ = row_before(t, middle, row_);
    const std::size_t next = std::min(row_ + 1, t.size() - 1);
    double share = 0;
    if (next > row_ && middle > t[row_])
        share = static_cast<double>(middle - t[row_]) / static_cast<double>(t[next] - t[row_]);
    const auto between = [&](const std::vector<double>& values) {
        return values[row_] + share * (values[next] - values[row_]);
    };
    const double ebn0_db = between(schedule_->ebn0_db);
    if (!scintillates_) return on_curve(ebn0_db);
    // The gain is that of the coherence block in which the unit begins; the cell keeps to it.
    const Time coherence = schedule_->coherence_ns;
    const std::int64_t block = begin_of(unit) / coherence;
    while (cell_begin_ < unit && begin_of(cell_begin_) / coherence < block)
        cell_begin_ = std::max(cell_begin_ + 1, unit_at(block * coherence));
    cell_end_ = std::min(cell_end_, std::max(unit, unit_at((block + 1) * coherence)) + 1);
    while (cell_end_ > unit + 1 && begin_of(cell_end_ - 1) / coherence > block) --cell_end_;
    return on_curve(ebn0_db + gain_db(block, between(schedule_->scintillation_index)));
}

// A unit goes by the rate at which it begins. When that changes next.
Time ErrorRate::cut_at_changes(std::int64_t unit) {
    const Time begin = begin_of(unit), from = steps_.change_before(begin), to = steps_.change_after(begin);
    while (cell_begin_ < unit && begin_of(cell_begin_) < from)
        cell_begin_ = std::min(unit, std::max(cell_begin_ + 1, unit_at(from)));
    if (to == kNever) return to;
    cell_end_ = std::min(cell_end_, std::max(unit, unit_at(to)) + 1);
    while (cell_end_ > unit + 1 && begin_of(cell_end_ - 1) >= to) --cell_end_;
    return to;
}

double ErrorRate::gain_db(std::int64_t block, double index) const {
    const double s = std::sqrt(std::max(0.0, 1 - index * index));
    // Two normal numbers by Box and Muller.
    const auto draw = static_cast<std::uint64_t>(block) * 2;
    const double radius = std::sqrt((1 - s) * -std::log(gains_.uniform(draw)));  // sigma times sqrt(-2 ln u)
    const double angle = kTwoPi * gains_.uniform(draw + 1);
    const double re = std::sqrt(s) + radius * std::cos(angle), im = radius * std::sin(angle);
    const double gain = re * re + im * im;
    return gain > 0 ? std::max(kDeepestDb, 10 * std::log10(gain)) : kDeepestDb;
}

double ErrorRate::on_curve(double ebn0_db) const {
    const std::vector<double>& curve = schedule_->log10_fer;
    const double last = static_cast<double>(curve.size() - 1);
    const double place = std::clamp((ebn0_db - schedule_->curve_from_db) / schedule_->curve_step_db, 0.0, last);
    const auto i = std::min(static_cast<std::size_t>(place), curve.size() - 1);
    const std::size_t j = std::min(i + 1, curve.size() - 1);
    return std::exp(kLn10 * (curve[i] + (place - static_cast<double>(i)) * (curve[j] - curve[i])));
}

}  // namespace dstcc
