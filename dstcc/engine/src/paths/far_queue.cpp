#include "paths/far_queue.hpp"

#include <algorithm>
#include <limits>

namespace dstcc {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kMost = 1.25, kLeast = 0.25;  // of what is available
constexpr double kForgets = 1.0 / 32;          // of the line, in a round trip
constexpr double kLeastShown = 0.75;           // of what the line has brought
constexpr double kMostYields = 64;             // round trips
constexpr Time kGrown = 32;                    // in the longest wait, from report to report: more is growth

}  // namespace

void FarQueue::hear(Time sent, Time wait, double arrived) {
    arrived_ += arrived;
    if (sent <= sent_) return;
    sent_ = sent;
    wait_ = std::max<Time>(wait, 0);
    if (wait_ > longest_ + longest_ / kGrown) grew_ = sent + wait;
    longest_ = std::max(longest_, wait_);
    standing_ = wait_ - (sent <= paused_from_ ? paused_to_ - paused_from_ : 0);
    if (from_sent_ < 0) {
        from_sent_ = sent_;
        from_wait_ = wait_;
        arrived_ = lost_ = 0;
    }
}

double FarQueue::pace(Time now, double under_way, double shown, Time round_trip, Time spare, Gap gap) {
    const auto round = static_cast<double>(round_trip);
    if (from_sent_ >= 0 && sent_ > from_sent_) look(shown, round);
    ahead_ = static_cast<double>(standing_) > kStands * round ? standing_ : 0;
    if (available_ == 0) return kNone;
    const double since = static_cast<double>(now - sent_), line = std::max(line_, available_);
    const double ahead = static_cast<double>(wait_) + (under_way - available_ * since) / line;
    ahead_ = static_cast<Time>(std::max(ahead, 0.0));
    const auto longest = static_cast<double>(longest_), can_wait = static_cast<double>(std::max<Time>(spare, 0));
    const double part = available_ / line;
    double target = std::min({kTarget * round, kTargetOfLongest * longest, kTargetOfSpare * can_wait});
    target *= 1 - kRoom * part * part;
    double horizon = kHorizon * round, most = kMost * available_, corrects = available_ * part;
    if (gap.length > 0) {
        const double lasts = target + static_cast<double>(gap.length);
        target = std::max(target, std::min({lasts, kGapOfLongest * longest, kGapOfSpare * can_wait}));
        horizon = std::clamp(static_cast<double>(gap.until), kLeastHorizon * round, horizon);
        most = std::max(most, shown);
        corrects = line;
    }
    const double over = (target - std::max(ahead, 0.0)) / horizon;
    const double pace = std::clamp(available_ + corrects * over, kLeast * available_, most);
    const double keeps = kKeeps * greatest_;
    if (pace >= keeps || now < holds_from_) return pace;
    if (lost_share_ > kGivesUp) {
        const bool well = static_cast<double>(now - holds_from_) > kWell * yields_ * round;
        yields_ = well ? 1 : std::min(2 * yields_, kMostYields);
        holds_from_ = now + static_cast<Time>(yields_ * round);
        return pace;
    }
    const bool taken = available_ < kLeft * greatest_;
    const bool stays = static_cast<double>(now - grew_) > kHeld * round;
    return (full() && taken && stays) || ahead < target ? keeps : pace;
}

void FarQueue::pause(Time from, Time now) {
    if (from != paused_from_) paused_to_ = paused_from_ = from;
    const Time served = now - paused_to_;
    if (served <= 0) return;
    standing_ = std::max<Time>(standing_ - served, 0);
    ahead_ = std::max<Time>(ahead_ - served, 0);
    paused_to_ = now;
}

// What the time since the last look has shown.
void FarQueue::look(double shown, double round) {
    const auto sending = static_cast<double>(sent_ - from_sent_), grew = static_cast<double>(wait_ - from_wait_);
    const double coming = sending + grew, sent_rate = arrived_ / sending;
    const double lost = lost_ / std::max(lost_ + arrived_, 1.0);
    const bool drops = lost > kDrops;
    shallow_ = shallow_ || (drops && dropped_);
    dropped_ = drops;
    const double served = line_ > 0 ? kServed * packet_ / line_ : 0;
    const double stands = std::max((shallow_ ? kStandsShallow : kStands) * round, served);
    const bool stood = static_cast<double>(std::min(wait_, from_wait_)) > stands;
    lost_share_ += (lost - lost_share_) * std::min(sending / round, 1.0);
    line_ *= 1 - std::min(kForgets * sending / round, 1.0);
    if (stood && coming > 0) line_ = std::max(line_, arrived_ / coming);
    if (available_ == 0) {
        if (stood && grew > 0 && coming > 0) available_ = arrived_ / coming;
        found_ = found_ || available_ > 0;
    } else if (stood) {
        const double most = available_ + 2 * kRises * line_;
        const double least = coming > 0 ? kLeastShown * arrived_ / coming : 0;
        const double shows = std::clamp(sent_rate - line_ * grew / sending, std::min(least, most), most);
        available_ = (available_ + shows) / 2;
    } else {
        available_ = std::max(available_, sent_rate);
    }
    if (available_ > 0 && available_ <= shown) limits_ns_ = sent_;
    if (static_cast<double>(sent_ - limits_ns_) > (shared_ ? round : 0.0)) available_ = 0;
    greatest_ = std::max(greatest_, available_);
    from_sent_ = sent_;
    from_wait_ = wait_;
    arrived_ = lost_ = 0;
}

}  // namespace dstcc
