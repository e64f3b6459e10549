// What gives connections their layers; main.cpp calls it at every look.
#pragma once

#include <functional>

#include "endpoints.hpp"
#include "waiting.hpp"

namespace transfer {

// A controller's answer to a slot.
struct Answer {
    Time gap = -1;              // by which each layer counts as released later than the one below it; below 0: the sender's own order
    double repair = 0.5;        // share of the time to spare that is kept for a repair
    std::uint64_t dark = 0;     // links that rest
    std::vector<int> layers;    // where each layer may go: a link; -1: any; or one of the below
};
// As dstcc/engine/src/agent.hpp has them: first where it could still be repaired; kAvoid - i: any but i.
constexpr int kRepairable = -3, kAvoid = -16;

class Feeder {
public:
    virtual ~Feeder() = default;
    // Gives connections what they take, at `now`; `drained` brings the ledger up to date after each write.
    virtual void pump(Time now, const std::function<void()>& drained) = 0;
    virtual void steer(const Answer& answer) = 0;
    virtual const Waiting& waiting() const = 0;
};

}  // namespace transfer
