// The rate of its transmitter that a sender is configured with: a given one, or the link's by the contact plan over time.
#pragma once

#include "congestion/control.hpp"
#include "link/rate_steps.hpp"

namespace dstcc {

class ToldRate {
public:
    // `given_bps`: 0 for the link's.
    ToldRate(const ControlSetup& setup, double given_bps) : bps_(given_bps > 0 ? given_bps : setup.line_bps) {
        if (given_bps <= 0 && setup.plan != nullptr) plan_ = RateSteps(*setup.plan);
    }
    bool steady() const { return plan_.steady(); }
    // Bytes in a nanosecond. Where the rate changes, the next packet follows when the line has carried a full one.
    double at(Time now, double wire_bytes) const {
        const double most = bps_ / 8.0 / kNsPerS;
        if (plan_.steady()) return most;
        const Time service = std::max<Time>(static_cast<Time>(wire_bytes / most + 0.5), 1);
        return wire_bytes / static_cast<double>(plan_.finish(now, service) - now);
    }

private:
    double bps_;
    RateSteps plan_;
};

}  // namespace dstcc
