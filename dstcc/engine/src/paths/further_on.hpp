// FurtherOn: a queue that is not the sender's own, found out by the delay of acknowledgements and the rate at which they
// come; dstcc/learn/paths/further_on.py has the model.
#pragma once

#include <array>
#include <cstdint>

#include "paths/report.hpp"

namespace dstcc {

// Of the light time there and back: a longer wait is a queue; less may be rounding.
constexpr double kStands = 1.0 / 32;
// The wait that is kept.
constexpr double kTargetWait = 1.0 / 16;
// Of the line's rate, the least limit.
constexpr double kLeastShare = 0.25;
// Of the rate a round trip, where nothing stands.
constexpr double kGrowth = 0.25;

struct FurtherOn {
    // Slots that are remembered; of longer round trips the last so many.
    static constexpr std::int64_t kSlots = 128;

    double far_s = 0;    // the wait that the last acknowledgements showed
    double carried = 0;  // bytes on the wire per second of the line behind it; 0 while no such queue is known
    std::int64_t slot = 0;
    std::array<double, kSlots> sent{};  // bytes on the wire sent by the end of each slot, since the trial began
    std::array<double, kSlots> wait{};  // seconds in the sender's own queue

    // Take in a slot; the limit, infinite where no such queue is known. `shown`: the rate that the sender's own queue shows.
    // `packet`: bytes of a full one. `overhead`: bytes on the wire per byte of payload.
    double update(const PathReport& report, double slot_s, double shown, double packet, double overhead);
};

}  // namespace dstcc
