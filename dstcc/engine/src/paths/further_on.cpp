#include "paths/further_on.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dstcc {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
// How long a receiver waits for a second packet at most (Linux, TCP_DELACK_MAX).
constexpr double kDelayedAckS = 0.2;
// Over so much of the light time what is too much is taken off.
constexpr double kHorizon = 1.0 / 2;
// Of the line's rate, the greatest limit.
constexpr double kMostShare = 1.25;
// So many times what is acknowledged was sent: the queue grew then.
constexpr double kGrew = 1.02;

}  // namespace

double FurtherOn::update(const PathReport& report, double slot_s, double shown, double packet, double overhead) {
    const auto at = [](std::int64_t number) { return static_cast<std::size_t>(number % kSlots); };
    const double light_s = std::max(2 * report.one_way_s, kLeast), divisor_s = std::max(slot_s, kLeast);
    const std::int64_t now = ++slot;
    sent[at(now)] = sent[at(now - 1)] + report.sent_segments * packet;
    wait[at(now)] = report.queue_bytes / std::max(shown, kLeast);
    const double beyond_s = report.srtt_s - light_s - 2 * packet / std::max(shown, kLeast) - kDelayedAckS;
    if (carried == 0 && !(beyond_s > kStands * light_s)) return kNone;  // as almost everywhere

    const double slots = std::clamp(std::nearbyint(report.srtt_s / divisor_s), 1.0, static_cast<double>(kSlots - 3));
    const std::int64_t lag = std::min(static_cast<std::int64_t>(slots), now - 1), then = now - lag;
    const double acked = report.delivered_bytes * overhead / divisor_s;
    const bool heard = report.up && report.srtt_s > 0 && acked > 0 && now > lag + 1;
    const double own_s = std::max(std::max(wait[at(then - 1)], wait[at(then)]), wait[at(then + 1)]);
    if (heard) far_s = std::max(beyond_s - own_s, 0.0);
    const bool stands = heard && far_s > kStands * light_s;
    const double sent_then = (sent[at(then)] - sent[at(then - 1)]) / divisor_s;
    if (carried == 0) {
        if (stands && sent_then > kGrew * acked) carried = acked;
    } else if (heard) {
        carried = stands ? 0.5 * (carried + acked) : carried * (1 + kGrowth * slot_s / light_s);
    }
    if (carried > shown) carried = 0;
    if (carried == 0) return kNone;
    const double under_way_s = (sent[at(now)] - sent[at(then)]) / std::max(carried, kLeast);
    const double ahead_s = std::max(far_s + under_way_s - static_cast<double>(lag) * slot_s, 0.0);
    return std::clamp(1 + (kTargetWait - ahead_s / light_s) / kHorizon, kLeastShare, kMostShare) * carried;
}

}  // namespace dstcc
