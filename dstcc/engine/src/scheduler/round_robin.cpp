// round-robin: ready subflows in turn, one segment (or, on lanes, one layer) each.
#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

class RoundRobin final : public Scheduler {
public:
    bool may_wait() const override { return false; }
    int pick(const std::vector<Path>&, SubflowSet ready, const Next&) override {
        const SubflowSet after = ready & ~((SubflowSet{2} << last_) - 1);
        last_ = lowest(after != 0 ? after : ready);
        return last_;
    }

private:
    int last_ = static_cast<int>(kMaxSubflows) - 1;
};

const Registered<SchedulerEntry> kEntry{{"round-robin", make_scheduler<RoundRobin>}};

}  // namespace

}  // namespace dstcc
