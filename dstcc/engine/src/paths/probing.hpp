// Probe: a path that is asked for more than its share at its start; dstcc/learn/paths/probing.py has the model.
#pragma once

#include "paths/pacing_limit.hpp"

namespace dstcc {

// How many times its share a path may have. That shows the queue of a path that carries twice its share.
constexpr double kShareGain = 2.5;
// In how many slots a path is probed at most. Only slots that use its pacing rate count.
constexpr double kProbedSlots = 3;
// Slots of the rate that a deep queue was seen to hold. An excess of that much for a slot would stand in it.
constexpr double kDeep = kMaxStep;
// How many times the rate that its queue shows a path has. At this rate the queue is deep after a slot.
constexpr double kStandingGain = 1 + 2 * kDeep;

struct Probe {
    bool deep = false;           // whether the queue was seen to be deep
    bool probed = false;         // whether the last slot probed the path
    double gain = 1;             // how many times its rate the path has in the next slot
    double left = kProbedSlots;  // 0 or less: the probing is over

    // How many times its share the path may have.
    double share_gain() const { return left > 0 ? kShareGain : 1.0; }
    // Acknowledgements tell what the path carries.
    void stop() { left = 0; }
    // Take in a slot: whether the pacing rate was used, whether the queue stands or drained, and how many slots of the rate
    // that it shows the queue holds.
    void update(bool used, bool standing, bool drained, double slots);
};

}  // namespace dstcc
