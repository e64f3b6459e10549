// minrtt: the ready subflow with the least smoothed RTT (the default of the MPTCP v0.9x kernels; Raiciu et al., NSDI 2012).
#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

class MinRtt final : public Scheduler {
public:
    bool heeds() const override { return false; }
    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next&) override { return fastest(paths, ready); }
};

}  // namespace

std::unique_ptr<Scheduler> make_minrtt(const SchedulerSetup&) { return std::make_unique<MinRtt>(); }

}  // namespace dstcc
