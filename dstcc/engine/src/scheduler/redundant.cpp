// redundant: every segment on every subflow, each at its own pace; what is known to have arrived is not copied again.
// The copies themselves are the connection's (see dispatch/redundant.cpp); pick() serves the first transmission.
#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

class Redundant final : public Scheduler {
public:
    int pick(const std::vector<Path>&, SubflowSet ready, const Next&) override { return lowest(ready); }
    Dispatch dispatch() const override { return Dispatch::kRedundant; }
};

const Registered<SchedulerEntry> kEntry{{"redundant", make_scheduler<Redundant>}};

}  // namespace

}  // namespace dstcc
