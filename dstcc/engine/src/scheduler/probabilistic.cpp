// probabilistic-0.25, -0.5, -0.75: three of the seven policies that Lee and Yoo's agent chooses from (Sensors 2022).
//
//   path 1 (the scenario's first link) with probability p, else path 2; if its window is full, wait for it
//
// A draw holds until something is sent on it, so p is the share of segments. Of three and more paths, `path 2` is the one
// with the least SRTT of the others. A path that is not there (not established, or stale) is not waited for.
#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

class Probabilistic final : public Scheduler {
public:
    Probabilistic(const SchedulerSetup& setup, double p) : p_(p), draws_(setup.seed, kStreamScheduler) {}
    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        const SubflowSet all = ready | next.busy, first = all & peers_of(paths, 0), others = all & ~first;
        if (first == 0 || others == 0) return fastest(paths, ready);
        const SubflowSet wanted = draws_.uniform(segment_) <= p_ ? first : peers_of(paths, fastest(paths, others));
        if ((wanted & ready) == 0) return -1;
        ++segment_;
        return fastest(paths, wanted & ready);
    }

private:
    double p_;
    Stream draws_;
    std::uint64_t segment_ = 0;
};

template <int kPercent>
std::unique_ptr<Scheduler> make_probabilistic(const SchedulerSetup& setup) {
    return std::make_unique<Probabilistic>(setup, kPercent / 100.0);
}

const Registered<SchedulerEntry> kQuarter{{"probabilistic-0.25", make_probabilistic<25>}};
const Registered<SchedulerEntry> kHalf{{"probabilistic-0.5", make_probabilistic<50>}};
const Registered<SchedulerEntry> kThreeQuarters{{"probabilistic-0.75", make_probabilistic<75>}};

}  // namespace

}  // namespace dstcc
