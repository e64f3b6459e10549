// MeasuredRate: what a path carries, by what was sent in each slot and what waits at the sender; dstcc/learn/paths/measure.py
// has the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "paths/pacing_limit.hpp"
#include "paths/probing.hpp"
#include "paths/report.hpp"

namespace dstcc {

// How much the rate is raised while only its use is known, as in slow start; also how far it may exceed the limit.
constexpr double kUnknownGain = 2.0;
constexpr std::size_t kMostPaths = 8;
// What all unknown paths may have together, as a multiple of the source's rate: as much more as a trial is faster.
constexpr double kSourceGain = 1 + kMaxStep;

// Of one path; rates are bytes on the wire per second.
struct MeasuredRate {
    double rate = 0;  // what the path seems to carry
    double limit = std::numeric_limits<double>::infinity();
    double used = 0;           // how much of the pacing rate was sent in the last slot
    double queue = 0;          // bytes at the end of the last slot
    double lost = 0;           // segments; older ones count less
    double judged = 0;         // segments whose fate is known, likewise
    double initial = 0;        // its rate when it began
    double deepest = 0;        // the deepest that its queue was seen, in bytes
    double proven = 0;         // what a queue with space, or a slot in which it drained, has shown not long ago
    bool known = false;        // whether a deep queue has shown the rate
    bool has_drained = false;  // whether the queue drained in the last slot

    // Take in a slot's sending; the rate that the queue shows. `share`: of the source's rate, for a path that begins.
    double show(const PathReport& report, Probe& probe, double slot_s, double packet, double share);
    void count_losses(const PathReport& report, double packet);
    // The share lost of the segments whose fate is known.
    double loss() const;
};

// Of an episode's paths, the number of the one that loses the largest share; -1 while none is known to lose more than another.
std::int64_t lossiest(const MeasuredRate* rates, std::size_t count);

// What an episode's source has captured and asks for, in bytes on the wire.
struct SourceNow {
    double rate = 0;      // per second; 0 while it is unknown
    double captured = 0;  // all so far
};

// Limit the rates of an episode's paths. `shown`: the rates that queues show. `limits`: by acknowledgements, losses and delay,
// infinite without one. `srtt_s`: the smoothed round trips. `paths`: how many the trial has, of `count` rows, kMostPaths at
// the most.
void limit_rates(MeasuredRate* rates, Probe* probes, const double* shown, const double* limits, const double* srtt_s,
                 std::size_t count, const SourceNow& source, double paths);

}  // namespace dstcc
