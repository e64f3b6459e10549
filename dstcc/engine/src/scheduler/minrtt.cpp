// minrtt: the ready subflow with the least smoothed RTT (the default of the MPTCP v0.9x kernels; Raiciu et al., NSDI 2012).
#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

class MinRtt final : public Scheduler {
public:
    bool may_wait() const override { return false; }
    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next&) override { return fastest(paths, ready); }
};

const Registered<SchedulerEntry> kEntry{{"minrtt", make_scheduler<MinRtt>}};

}  // namespace

}  // namespace dstcc
