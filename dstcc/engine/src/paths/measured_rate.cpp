#include "paths/measured_rate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace dstcc {

namespace {

// A queue with so many packets or fewer counts as drained.
constexpr double kDrainedPackets = 2.0;
// How much the rate is raised once a queue has shown it, if the queue drains in two slots that use the pacing rate.
constexpr double kKnownGain = 1.5;
// A pacing rate counts as used if so much of it was sent.
constexpr double kUsed = 0.9;
// A queue below this share of the deepest that it was seen has space for more.
constexpr double kSpace = 0.8;
// Round trips that a stored source takes at least, while nothing of a path is known.
constexpr double kUntimedRounds = 2.0;
// How the counts of losses fade from slot to slot: over 50 slots, some three round trips of 16 slots each.
constexpr double kMemory = 0.98;

// In numpy's order, with which policies were trained: eight numbers in pairs, fewer one after the other.
double sum(const std::array<double, kMostPaths>& values, std::size_t count) {
    static_assert(kMostPaths == 8);
    if (count == kMostPaths)
        return ((values[0] + values[1]) + (values[2] + values[3])) +
               ((values[4] + values[5]) + (values[6] + values[7]));
    double all = 0;
    for (std::size_t n = 0; n < count; ++n) all += values[n];
    return all;
}

}  // namespace

double MeasuredRate::show(const PathReport& report, Probe& probe, double slot_s, double packet, double share) {
    const double sent = report.sent_segments * packet, before = queue, per_s = 1 / std::max(slot_s, kLeast);
    const double pacing_rate = report.pacing_bps / 8, sent_per_s = sent * per_s;
    queue = report.queue_bytes;
    const bool measured = rate > 0 && slot_s > 0, running = measured && report.up;
    used = measured ? sent_per_s / std::max(pacing_rate, kLeast) : 0.0;
    const bool in_use = used > kUsed;
    const double deep = kDrainedPackets * packet;
    const bool standing = running && queue > deep && (before > deep || in_use);
    const bool drained = running && queue <= deep && in_use;
    deepest = std::max(deepest, queue);
    const bool space = queue < kSpace * deepest;
    const double served = std::max(sent - (queue - before), packet) * per_s;
    double estimate = known ? 0.5 * (rate + served) : served;
    if (!space) estimate = std::min(estimate, known ? proven : rate);
    proven = std::max(kMemory * proven, standing && space ? estimate : drained ? sent_per_s : 0.0);
    known = known || (running && space && probe.deep);
    const double unknown_gain = std::max(kUnknownGain, probe.share_gain());
    const double gain = !known ? unknown_gain : has_drained ? kKnownGain : 1.0;
    probe.update(measured && in_use, standing, drained, queue * per_s / std::max(estimate, kLeast));
    has_drained = drained;
    if (rate == 0 && report.established && report.srtt_s > 0)
        return initial = std::max(share, report.cwnd_segments * packet / std::max(report.srtt_s, kLeast));
    return standing ? estimate : drained ? std::max(rate, sent_per_s) * gain : rate;
}

void MeasuredRate::count_losses(const PathReport& report, double packet) {
    lost = kMemory * lost + report.lost_segments;
    judged = kMemory * judged + (report.lost_segments + report.delivered_bytes / packet);
}

double MeasuredRate::loss() const { return lost / std::max(judged, 1.0); }

std::int64_t lossiest(const MeasuredRate* rates, std::size_t count) {
    std::size_t worst = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t n = 0; n < count; ++n) {
        if (rates[n].loss() > rates[worst].loss()) worst = n;
        if (rates[n].rate > 0) least = std::min(least, rates[n].loss());
    }
    return rates[worst].loss() > least ? static_cast<std::int64_t>(worst) : -1;
}

void limit_rates(MeasuredRate* rates, Probe* probes, const double* shown, const double* limits, const double* srtt_s,
                 std::size_t count, const SourceNow& source, double paths) {
    double measured = 0, unknown = 0;
    std::array<double, kMostPaths> carried{};
    for (std::size_t n = 0; n < count; ++n) {
        if (std::isfinite(limits[n])) probes[n].stop();
        if (!(shown[n] > 0)) continue;
        measured += 1;
        if (rates[n].known)
            carried[n] = std::min(std::min(rates[n].proven, shown[n]), limits[n]);
        else
            unknown += 1;
    }
    const double slowest_s = std::max(*std::max_element(srtt_s, srtt_s + count), kLeast);
    const double wanted = source.rate > 0 ? kSourceGain * source.rate : source.captured / (kUntimedRounds * slowest_s);
    const double to_come = source.rate * (1 - measured / paths);
    const double share = (wanted - sum(carried, count) - to_come) / std::max(unknown, 1.0);
    for (std::size_t n = 0; n < count; ++n) {
        MeasuredRate& path = rates[n];
        const bool shares = shown[n] > 0 && !path.known && std::isinf(limits[n]);
        path.limit = shares ? std::max(share, path.initial) * probes[n].share_gain() : limits[n];
        path.rate = std::min(shown[n], path.known ? limits[n] : kUnknownGain * path.limit);
    }
}

}  // namespace dstcc
